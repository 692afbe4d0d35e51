"""Loaders on storage that is cold or slow: the same epochs as in `loader`, and what becomes of them
where reading takes time.

"cold": before each epoch the images are dropped from the page cache (posix_fadvise), so they come
from the disk. "slow": the page cache is warm, and every file takes 4 to 12 ms to its first byte, as
over a network; samples inside of shards take as long each (slow_reads.c).
Each variant has a process of its own, pinned to as many cores as workers; they take turns. The
first epoch of each is dropped.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.conversion import job
from fastload.errors import BackendError
from fastload.measure import Sample, interleaved

STORAGES = ("warm", "cold", "slow")
LOADERS = ("torch", "fastload", "shards")
SLOW_US = "4000 8000"  # to the first byte, and what may come on top, uniformly
SHIM = Path(__file__).parent / "slow_reads.c"


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1, 2)
    batch_size: int = 64
    size: int = 224  # px
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(STORAGES) * len(self.workers) * len(LOADERS) * (self.repetitions + 1)


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on the folder of classes `data`.

    Raises BackendError without a C compiler.
    """
    cores = sorted(os.sched_getaffinity(0))
    loader.check(loader.Settings(settings.workers, repetitions=settings.repetitions), cores)
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, ExitStack() as stack:
        shards = os.path.join(scratch, "shards")
        job.run(job.prepare(data, shards, job.Options()))
        shim = compiled(scratch)
        runs: dict[str, Callable[[], float]] = {}
        for spec in specs(settings, data, shards, cores):
            slow = (
                {"LD_PRELOAD": shim, "SLOW_MATCH": spec["data"], "SLOW_US": SLOW_US}
                if spec["storage"] == "slow"
                else {}
            )
            epoch = stack.enter_context(
                loader.child(spec, os.path.join(scratch, f"cache of {key(spec)}"), environment=slow)
            )
            runs[key(spec)] = cold(epoch, spec["data"]) if spec["storage"] == "cold" else epoch
        for epoch in runs.values():
            epoch()  # dropped
            on_done()
        results = interleaved(runs, settings.repetitions, on_done)
    return rows(settings, results, common)


def compiled(scratch: str) -> str:
    """The path of the shim."""
    out = os.path.join(scratch, "slow_reads.so")
    try:
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", out, str(SHIM), "-ldl"],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise BackendError(
            f"{SHIM}: cannot be compiled ({error}); install a C compiler that is called cc"
        ) from error
    return out


def cold(epoch: Callable[[], float], where: str) -> Callable[[], float]:
    """The epoch, of files that are dropped from the page cache first."""

    def run_cold() -> float:
        for folder, _, names in os.walk(where):
            for name in names:
                drop(os.path.join(folder, name))
        return epoch()

    return run_cold


def drop(path: str) -> None:
    """Take a file out of the page cache."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(file)  # what is not written yet cannot be dropped
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def specs(settings: Settings, data: str, shards: str, cores: Any) -> Iterator[dict[str, Any]]:
    """What benchmarks.loaders.child is told; variants of one comparison stand side by side."""
    for storage in STORAGES:
        for workers in settings.workers:
            for name in LOADERS:
                yield {
                    "loader": name, "data": shards if name == "shards" else data, "output": "uint8",
                    "workers": workers,
                    "cores": list(cores[:workers]), "batch_size": settings.batch_size,
                    "size": settings.size, "storage": storage,
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['storage']} {spec['workers']}"


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with PyTorch's on the same storage and cores."""
    out = []
    for spec in specs(settings, "", "", ()):
        sample, reference = results[key(spec)], results[key(spec | {"loader": loader.REFERENCE})]
        against = None if spec["loader"] == loader.REFERENCE else reference
        shown = {name: spec[name] for name in ("storage", "batch_size", "size")} | {
            "cores": spec["workers"],
            "workers": "one per core",
        }
        out.append(Row(
            benchmark="storage", variant=loader.LOADERS[spec["loader"]], settings=shown,
            reference=None if against is None else loader.LOADERS[loader.REFERENCE],
            page_cache="not used",  # each row's storage says it
            **measured(sample, against), **common,
        ))  # fmt: skip
    return out
