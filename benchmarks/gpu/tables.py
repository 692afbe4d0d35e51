"""The tables that need whole loaders on a GPU: `python -m benchmarks on_gpu --table NAME`. Every
variant is a process of its own.

Rows are kept as they come, so that a run that is cut short leaves what it has; a variant that
crashes or takes too long is a row that says so.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu.peers import PEERS
from benchmarks.report import facts, row
from benchmarks.report.row import Row, measured
from fastload.conversion import indexing
from fastload.errors import UsageError
from fastload.measure import Sample

PLACES = {
    "fastload, decode and augment on the CPU": ("cpu", "cpu"),
    "fastload, augment on the GPU": ("cpu", "gpu"),
    "fastload, decode and augment on the GPU": ("gpu", "gpu"),
    "fastload, auto": ("auto", "auto"),
}
SYNTHETIC = "synthetic, on the GPU"
LEFT_OUT = "without ColOut and MixUp"  # of the recipe Hot
TABLES = (
    "scaling",
    "rates",
    "peers",
    "step",
    *(f"train_{model}_{path}" for model in ("resnet50", "resnet18") for path in ("mild", "hot")),
)
BATCH, SIDE, STEP_SIDE = 256, 176, 224  # images; px: of the recipes Mild and Hot; of rates.toml
LONGEST = 100.0  # s that one variant may take


@dataclass(frozen=True)
class Settings:
    """Times in s, of each variant.

    trial: how much longer "auto" gets, to find its place. limit: no further variant is begun after
    it.
    """

    warm: float = 4.0
    trial: float = 12.0
    seconds: float = 2.5
    windows: int = 3
    limit: float = 420.0


def specs(
    table: str, data: str, settings: Settings, cores: Sequence[int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The variants' names, and what `gpu_child` is told."""
    common = {
        "data": data, "batch": BATCH, "size": SIDE, "path": "hot", "model": None, "device": "cuda",
        "cores": list(cores),
        "workers": len(cores), "warm": settings.warm, "seconds": settings.seconds,
        "windows": settings.windows, "loader": "fastload",
    }  # fmt: skip
    if table == "scaling":
        for count in sorted({*(2**n for n in range(10) if 2**n <= len(cores)), len(cores)}):
            yield (
                f"fastload, {count} threads",
                common
                | {"device": "cpu", "path": "mild", "cores": list(cores[:count]), "workers": count},
            )
        return
    if table == "step":
        yield (
            SYNTHETIC,
            common | {"loader": "synthetic", "model": "resnet50", "size": STEP_SIDE, "windows": 5},
        )
        return
    if table.startswith("train_"):
        _, model, path = table.split("_")
        common |= {"model": model, "path": path}
        yield SYNTHETIC, common | {"loader": "synthetic"}
    if table != "peers":
        for name, (decode, augment) in PLACES.items():
            warm = settings.warm + settings.trial * (decode == "auto")
            yield name, common | {"decode": decode, "augment": augment, "warm": warm}
    if table != "rates":
        yield from ((name, common | {"loader": name}) for name in PEERS)


def run(
    table: str,
    data: str,
    name: str,
    settings: Settings,
    results: Path | None,
    on_done: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Measure the variants of a table one after another, on data that this indexes first; rows are
    kept below `results`, on_done is told each outcome. Raises UsageError."""
    check(table)
    indexing.run(indexing.prepare(data))  # what the GPU decodes by
    common = {"data": facts.data_set(data, name), **facts.common()}
    rows: list[Row] = []
    reference: Sample | None = None
    deadline = time.monotonic() + settings.limit
    for variant, spec in specs(table, data, settings, sorted(os.sched_getaffinity(0))):
        if time.monotonic() > deadline:
            on_done(f"{variant}: left out, {settings.limit:g} s are over")
            continue
        measured = child(spec)
        made = as_row(table, variant, spec, measured, reference, common)
        if variant == SYNTHETIC and "rates" in measured:
            reference = Sample(tuple(measured["rates"]))
        rows.append(made)
        if results is not None:
            row.save(results / "gpu.jsonl", [made])
        on_done(f"{variant}: {measured.get('failed') or f'{made.median:,.0f} images/s'}")
    return rows


def check(table: str) -> None:
    if table not in TABLES:
        raise UsageError(f"on_gpu: table is {table!r}, want one of {', '.join(TABLES)}; choose one")


def child(spec: dict[str, Any], longest: float = LONGEST) -> dict[str, Any]:
    """What a process of its own measured; or how it "failed"."""
    command = [sys.executable, "-m", "benchmarks.gpu.child", json.dumps(spec)]
    path = os.pathsep.join(
        os.path.abspath(folder) for folder in sys.path
    )  # the same fastload as here
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=longest,
            check=False,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {longest:g} s"}
    if done.returncode < 0:
        return {"failed": f"crashed with {signal.Signals(-done.returncode).name}"}
    if done.returncode:
        return {
            "failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][
                :200
            ]
        }
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


def as_row(
    table: str,
    variant: str,
    spec: dict[str, Any],
    results: dict[str, Any],
    reference: Sample | None,
    common: dict[str, Any],
) -> Row:
    """A failed variant has no rate, and its reason beside its name."""
    shown = {
        "table": table,
        "batch_size": spec["batch"],
        "size": spec["size"],
        "path": spec["path"],
        "model": spec["model"] or "none",
    }
    if failed := results.get("failed"):
        variant, sample = f"{variant}: {failed}", Sample((0.0,))
    else:
        sample = Sample(tuple(results["rates"]))
        variant += f", {LEFT_OUT}" * (spec["loader"] in PEERS and spec["path"] == "hot")
    figures = ("cores_used", "bytes_per_image", "gpu_time_beside_training")
    also = {name: float(results[name]) for name in figures if name in results}
    compared = reference if reference and not failed else None
    return Row(
        benchmark="gpu", variant=variant, settings=shown, reference=SYNTHETIC if compared else None,
        page_cache="warm", also=also,
        **measured(sample, compared), **common,
    )  # fmt: skip


def rates_toml(row: Row) -> str:
    """A measured step's rate as `fastload/recipes/rates.toml` has it."""
    gpu = str(row.machine["gpu"]).removeprefix("NVIDIA ").split()[0]
    return "\n".join([
        f"[{gpu.lower()}]", f'gpu = "{gpu}"', f"images_per_s = {row.median:.0f}",
        f"low = {row.low:.0f}", f"high = {row.high:.0f}",
        f'measured = "by fastload on {row.date}, on synthetic data"',
        (f'source = "python -m benchmarks on_gpu --table step, commit {row.commit[:12]}, torch '
        f'{row.software["torch"]}"'), "",
    ])  # fmt: skip
