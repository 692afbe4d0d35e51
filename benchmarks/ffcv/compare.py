"""FFCV's loader against fastload on the same .beton files, on the same cores: JPEGs, and raw
pixels.

As in the loader benchmark, each variant has a process of its own and they take turns; the first
epoch, which compiles, is dropped. An epoch has each image PASSES times: FFCV takes new memory for
its batches at every epoch, which a training's long epochs hardly notice.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks.loaders.loader import child
from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.errors import BackendError, UsageError
from fastload.measure import Sample, interleaved, ratio

# By loader and whether RandAugment runs.
VARIANTS = {
    ("ffcv", False): "FFCV", ("ops", True): "FFCV with fastload's RandAugment", ("backend",
    False): "fastload, backend ffcv",
    ("backend", True): "fastload, backend ffcv, with RandAugment", ("native",
    False): "fastload, native",
    ("native", True): "fastload, native, with RandAugment",
}  # fmt: skip
REFERENCE = ("ffcv", False)
PLAIN = {
    "ffcv": "ffcv",
    "ops": "ffcv",
    "backend": "backend",
    "native": "native",
}  # the loader without RandAugment
PASSES = 3
FILES = ("jpg", "raw")  # JPEGs as they are, with a seek index beside the file; pixels


@dataclass(frozen=True)
class Settings:
    """What is measured. Images per batch; output side in px."""

    workers: tuple[int, ...] = (1,)
    files: tuple[str, ...] = FILES
    batch_size: int = 64
    size: int = 224
    repetitions: int = 5

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(self.workers) * len(self.files) * len(VARIANTS) * (self.repetitions + 1)


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on the images of the folder `data`; on_done is called after each
    epoch.
    """
    cores = sorted(os.sched_getaffinity(0))
    if why := ffcv_installed.problem():
        raise BackendError(f"ffcv: {why}")
    if wrong := [workers for workers in settings.workers if not 1 <= workers <= len(cores)]:
        raise UsageError(
            f"workers: {wrong[0]} (want 1 to {len(cores)}, the cores that this process may use); "
            "each worker has its core"
        )
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch, ExitStack() as stack:
        files = {
            kind: convert(data, os.path.join(scratch, f"{kind}.beton"), kind)
            for kind in settings.files
        }
        runs: dict[str, Callable[[], float]] = {}
        for spec in specs(settings, files, cores):
            cache = os.path.join(scratch, f"cache of {key(spec)}")
            runs[key(spec)] = stack.enter_context(
                child(spec | {"output": "uint8"}, cache, "benchmarks.ffcv.child")
            )
        for epoch in runs.values():
            epoch()  # dropped
            on_done()
        results = interleaved(runs, settings.repetitions, on_done)
    return rows(settings, results, common)


def convert(data: str, path: str, kind: str) -> str:
    """The folder as one .beton file, with a seek index where there are JPEGs."""
    mode = ["--mode", "raw"] if kind == "raw" else []
    for command in [["convert", data, path, *mode], *[["index", path]] * (kind == "jpg")]:
        done = subprocess.run(
            [sys.executable, "-m", "fastload", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BackendError(f"fastload {' '.join(command)}: {done.stderr.strip()}")
    return path


def specs(
    settings: Settings, files: dict[str, str], cores: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """What benchmarks.ffcv.child is told; variants of one comparison stand side by side."""
    for kind in settings.files:
        for workers in settings.workers:
            for loader, augment in VARIANTS:
                yield {
                    "loader": loader, "augment": augment, "file": kind, "data": files.get(kind, ""),
                    "workers": workers,
                    "cores": list(cores[:workers]), "batch_size": settings.batch_size,
                    "size": settings.size, "passes": PASSES,
                }  # fmt: skip


def key(spec: dict[str, Any]) -> str:
    return f"{spec['loader']} {spec['augment']} {spec['file']} {spec['workers']}"


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant, compared with FFCV's own loader on the same file and cores."""
    out = []
    for spec in specs(settings, {}, ()):
        variant = (spec["loader"], spec["augment"])
        plain = spec | {"loader": REFERENCE[0], "augment": REFERENCE[1]}
        shown = {name: spec[name] for name in ("file", "batch_size", "size", "passes")}
        shown |= {
            "cores": spec["workers"],
            "workers": "one per core",
            "output": "uint8",
            "policy": "RandAugment(2, 9)",
            "order": "random",
        }
        against = None if variant == REFERENCE else results[key(plain)]
        without = results[key(spec | {"loader": PLAIN[spec["loader"]], "augment": False})]
        cost = (
            figure("times_the_time_without_policy", ratio(without, results[key(spec)]))
            if spec["augment"]
            else {}
        )
        out.append(Row(
            benchmark="ffcv", variant=VARIANTS[variant], settings=shown,
            reference=None if against is None else VARIANTS[REFERENCE],
            page_cache="warm", also=cost, **measured(results[key(spec)], against), **common,
        ))  # fmt: skip
    return out
