"""The DALI backends against a pipeline written by hand in DALI's own idiom: files, fused decoding
and random crop, flip, policy.

Interleaved, each loader in its own process on as many cores as it has threads; see loaders.loader.
One measurement is child.PASSES passes over the data without an end between them, since DALI's own
iterator has begun the next epoch when one ends, and others begin when asked.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved

LOADERS = {
    "peer": "DALI, by hand", "dali-own": "fastload, backend dali-own",
    "dali": "fastload, backend dali", "native": "fastload, native",
}  # fmt: skip
REFERENCE = "peer"
OUTPUTS = ("uint8", "float32", "policy")  # the last: RandAugment, then as float32


@dataclass(frozen=True)
class Settings:
    """What is measured. Images per batch; output side in px."""

    workers: tuple[int, ...] = (1, 2)
    outputs: tuple[str, ...] = OUTPUTS
    batch_size: int = 64
    size: int = 224
    repetitions: int = 5


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on the folder of classes `data`; on_done is called after each epoch."""
    cores = sorted(os.sched_getaffinity(0))
    if settings.repetitions < 1 or not all(
        1 <= workers <= len(cores) for workers in settings.workers
    ):
        raise UsageError(
            f"dali: {settings.repetitions} repetitions, {settings.workers} workers (want 1 or "
            f"more, and up to {len(cores)})"
        )
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, ExitStack() as stack:
        runs = {
            loader.key(spec): stack.enter_context(
                loader.child(spec, scratch, "benchmarks.dali.child")
            )
            for spec in specs(settings, data, cores)
        }
        for epoch in runs.values():
            epoch()  # dropped
            on_done()
        results = interleaved(runs, settings.repetitions, on_done)
    return rows(settings, results, common)


def epochs(settings: Settings) -> int:
    """How often on_done is called."""
    return len(settings.workers) * len(settings.outputs) * len(LOADERS) * (settings.repetitions + 1)


def specs(settings: Settings, data: str, cores: Sequence[int]) -> Iterator[dict[str, Any]]:
    """What benchmarks.dali.child is told; variants of one comparison stand side by side."""
    for output in settings.outputs:
        for workers in settings.workers:
            for name in LOADERS:
                yield {
                    "loader": name, "data": data, "output": output,
                    "workers": workers, "cores": list(cores[:workers]),
                    "batch_size": settings.batch_size, "size": settings.size,
                }  # fmt: skip


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with the hand-written one at the same output and cores."""
    out = []
    for spec in specs(settings, "", ()):
        shown = {name: spec[name] for name in ("output", "batch_size", "size")} | {
            "cores": spec["workers"],
            "workers": "one per core",
        }
        against = (
            None
            if spec["loader"] == REFERENCE
            else results[loader.key(spec | {"loader": REFERENCE})]
        )
        out.append(Row(
            benchmark="dali", variant=LOADERS[spec["loader"]], settings=shown,
            reference=None if against is None else LOADERS[REFERENCE],
            page_cache="warm", **measured(results[loader.key(spec)], against), **common,
        ))  # fmt: skip
    return out
