"""Whole loaders against each other: decode, RandomResizedCrop and flip, on exactly as many cores as
workers.

Each variant has a process of its own, pinned to N cores, workers and main thread alike; only one of
them works at a time, and they take turns. The first epoch of each is dropped: it fills the page
cache and starts workers.
"hot" is the data path of that recipe, in torchvision's words: RandAugment with one op, ColOut, 176
px. DALI runs where it is installed, without ColOut.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from fastload.conversion import job
from fastload.errors import BackendError, UsageError
from fastload.measure import Sample, interleaved, ratio

LOADERS = {
    "torch": "PyTorch DataLoader", "dali": "DALI, CPU",  # table.footnote knows DALI by its name
    "fastload": "fastload, folder", "later": "fastload, folder, 2nd epoch on",
    "shards": "fastload, shards",
}  # fmt: skip
REFERENCE = "torch"
OUTPUTS = (
    "uint8",
    "float32",
    "hot",
)  # PILToTensor; ToTensor and Normalize; those with RandAugment and ColOut


@dataclass(frozen=True)
class Settings:
    """What is measured. Images per batch; output side in px."""

    workers: tuple[int, ...] = (1, 2)
    outputs: tuple[str, ...] = OUTPUTS
    batch_size: int = 64
    size: int = 224
    hot_size: int = 176
    repetitions: int = 5


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on the folder of classes `data`; on_done is called after each epoch."""
    cores = sorted(os.sched_getaffinity(0))
    check(settings, cores)
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        shards = os.path.join(scratch, "shards")
        job.run(job.prepare(data, shards, job.Options()))
        results = in_turns(
            specs(settings, data, shards, cores), key, scratch, settings.repetitions, on_done
        )
    return rows(settings, results, common)


def check(settings: Settings, cores: Sequence[int]) -> None:
    """Raise UsageError for what cannot be measured here."""
    for workers in settings.workers:
        if not 1 <= workers <= len(cores):
            raise UsageError(
                f"workers: {workers} (want 1 to {len(cores)}, the cores that this process may "
                "use); each worker has its core"
            )
    if unknown := set(settings.outputs) - set(OUTPUTS):
        raise UsageError(
            f"outputs: {', '.join(sorted(unknown))} (want {', '.join(OUTPUTS)}); choose of these"
        )
    if settings.repetitions < 1:
        raise UsageError(
            f"repetitions: {settings.repetitions} (want 1 or more); 5 or more give a useful "
            "interval"
        )


def epochs(settings: Settings) -> int:
    """How often on_done is called."""
    return (
        len(settings.workers) * len(settings.outputs) * len(present()) * (settings.repetitions + 1)
    )


def present() -> tuple[str, ...]:
    """The loaders that can be measured here."""
    return tuple(name for name in LOADERS if name != "dali" or facts.dali_version())


def specs(
    settings: Settings, data: str, shards: str, cores: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.child is told; variants of one comparison stand side by side."""
    for output in settings.outputs:
        for workers in settings.workers:
            for loader in present():
                if (loader, output) == ("dali", "mixed"):  # DALI mixes nothing
                    continue
                yield {
                    "loader": loader, "data": shards if loader == "shards" else data,
                    "output": output, "workers": workers,
                    "cores": list(cores[:workers]), "batch_size": settings.batch_size,
                    "size": settings.hot_size if output == "hot" else settings.size,
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['output']} {spec['workers']}"


def in_turns(
    specs: Iterable[dict[str, Any]],
    key: Callable[[dict[str, Any]], str],
    scratch: str,
    repetitions: int,
    on_done: Callable[[], None],
    module: str = "benchmarks.loaders.child",
) -> dict[str, Sample]:
    """Rates by key. Each spec is told to a process that runs `module`; its first epoch is dropped.

    on_done is called after each epoch.
    """
    with ExitStack() as stack:
        runs: dict[str, Callable[[], float]] = {}
        for spec in specs:
            cache = os.path.join(scratch, f"cache of {key(spec)}")
            runs[key(spec)] = stack.enter_context(child(spec, cache, module))
        for epoch in runs.values():
            epoch()
            on_done()
        return interleaved(runs, repetitions, on_done)


@contextmanager
def child(
    spec: dict[str, Any],
    cache: str,
    module: str = "benchmarks.loaders.child",
    environment: dict[str, str] | None = None,
    folder: str | None = None,
    flags: Sequence[str] = (),
) -> Iterator[Callable[[], float]]:
    """A process that runs one epoch per call, and sleeps between; see `answers`."""
    with answers(spec, cache, module, environment, folder, flags) as ask:
        yield lambda: ask()[0]


@contextmanager
def answers(
    spec: dict[str, Any],
    cache: str,
    module: str,
    environment: dict[str, str] | None = None,
    folder: str | None = None,
    flags: Sequence[str] = (),
) -> Iterator[Callable[[], list[float]]]:
    """A process that says some numbers per call, and sleeps between; cache: where it keeps the seek
    indexes that it makes; folder: where it works, and looks for packages first; flags: of Python.
    """
    command = [sys.executable, *flags, "-m", module, json.dumps(spec)]
    path = os.pathsep.join(
        os.path.abspath(entry) for entry in sys.path
    )  # the same fastload as here, wherever that is
    variables = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": cache, **(environment or {})}
    process = subprocess.Popen(
        command, env=variables, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    into, out = process.stdin, process.stdout
    if into is None or out is None:  # cannot be: both are pipes
        raise BackendError(f"{spec['loader']}: no pipes; report this")

    def ask() -> list[float]:
        try:
            into.write("\n")
            into.flush()
            first, *others = out.readline().split()  # ValueError where it has ended
            return [float(text) for text in (first, *others)]
        except (BrokenPipeError, ValueError) as error:
            raise BackendError(
                f"{spec['loader']}: its process ended ({process.wait()}); see its message above"
            ) from error

    with process:  # leaving closes the pipes, which ends the child
        yield ask


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with PyTorch's at the same output and cores."""
    out = []
    for spec in specs(settings, "", "", ()):
        sample, reference = results[key(spec)], results[key(spec | {"loader": REFERENCE})]
        shown = {name: spec[name] for name in ("output", "batch_size", "size")} | {
            "cores": spec["workers"],
            "workers": "one per core",
        }
        against = None if spec["loader"] == REFERENCE else reference
        peer = (
            results.get(key(spec | {"loader": "dali"}))
            if spec["loader"] not in (REFERENCE, "dali")
            else None
        )
        out.append(Row(
            benchmark="loader", variant=LOADERS[spec["loader"]], settings=shown,
            reference=None if against is None else LOADERS[REFERENCE], page_cache="warm",
            **measured(sample, against), **common,
            also={} if peer is None else figure("times_DALI", ratio(sample, peer)),
        ))  # fmt: skip
    return out
