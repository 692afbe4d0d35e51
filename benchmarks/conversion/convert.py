"""Converting a folder of classes: fastload against FFCV's writer, and against `cp -r` and `sync`;
and what a large index takes.

Every variant writes to a new folder beside the others, fastload's with all its checks of order:
fsync of each file, then of the folders.
The source is made larger by hard links: every name is opened and read as a file of its own, its
bytes come from the page cache for all variants alike. What a variant has written is removed, and
the disk is idle, before the next one begins.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.conversion import beton_writer, job
from fastload.conversion.readers import open_reader
from fastload.errors import BackendError
from fastload.measure import Sample, interleaved

COPY, FFCV = "cp -r, sync", "FFCV's writer, JPEG mode"
SHARDS, PLAIN, BETON = (
    "fastload, shards with seek index",
    "fastload, shards without",
    "fastload, .beton",
)
CHECKS = {PLAIN: "decode", f"{PLAIN}, --check markers": "markers", f"{PLAIN}, --check none": "none"}
REFERENCE = {SHARDS: FFCV, BETON: FFCV, **dict.fromkeys(CHECKS, COPY)}
TIMEOUT = 1800.0  # s; FFCV's writer waits for ever when one of its workers fails
INDEX_ROWS = 1_000_000


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    workers: int = 1  # threads; FFCV: processes
    repetitions: int = 5
    files: int = 20_000  # names; more than there are images: hard links

    @property
    def variants(self) -> tuple[str, ...]:
        there = (COPY, *CHECKS, SHARDS, BETON)
        return there if ffcv_installed.problem() else (*there, FFCV)

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(self.variants) * self.repetitions


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Convert the folder `data` by every variant, in turns; on_done is called after each."""
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        source = os.path.join(scratch, "source")
        count = lay_out(data, source, settings.files)
        common["data"] |= {"files": count}
        runs = {
            variant: _timed(variant, source, os.path.join(scratch, "out"), settings, count)
            for variant in settings.variants
        }
        index = child("index", os.path.join(scratch, "index"), INDEX_ROWS)
        results = interleaved(runs, settings.repetitions, on_done)
    return [*rows(settings, results, common), *index_rows(index, common)]


def lay_out(data: str, source: str, least: int) -> int:
    """At least so many files in the classes of `data`: its images, each read once and under several
    names; how many there are.
    """
    os.mkdir(source)
    images = [
        (entry.name, image)
        for entry in os.scandir(data)
        if entry.is_dir()
        for image in os.scandir(entry.path)
        if image.is_file()
    ]
    copies = -(-least // max(len(images), 1))
    for label in {label for label, _ in images}:
        os.mkdir(os.path.join(source, label))
    for label, image in images:
        stem, extension = os.path.splitext(image.name)
        first = os.path.join(source, label, f"{stem}_0{extension}")
        shutil.copyfile(image.path, first)
        for number in range(1, copies):
            os.link(first, os.path.join(source, label, f"{stem}_{number}{extension}"))
    return len(images) * copies


def rows(settings: Settings, results: dict[str, Sample], common: dict[str, Any]) -> list[Row]:
    """One row per variant."""
    out = []
    for variant, sample in results.items():
        reference = REFERENCE.get(variant)
        against = results.get(reference or "")
        out.append(Row(
            benchmark="convert", variant=variant, settings={"workers": settings.workers},
            reference=reference if against else None,
            page_cache="warm", **measured(sample, against), **common,
        ))  # fmt: skip
    return out


def index_rows(said: dict[str, float], common: dict[str, Any]) -> list[Row]:
    """Memory, MiB, and time, s, that an index takes."""
    sample = Sample((said["memory of opening, MiB"],))
    return [Row(
        benchmark="convert", variant="index, opened", settings={"rows": INDEX_ROWS}, reference=None,
        page_cache="warm",
        **measured(sample, None), **common, also=said, unit="MiB",
    )]  # fmt: skip


def _timed(
    variant: str, data: str, out: str, settings: Settings, count: int
) -> Callable[[], float]:
    """Convert once, images per second."""

    def once() -> float:
        os.sync()
        begin = time.perf_counter()
        seconds = convert(variant, data, out, settings)
        seconds = time.perf_counter() - begin if seconds is None else seconds
        remove(out)
        return count / seconds

    return once


def convert(variant: str, data: str, out: str, settings: Settings) -> float | None:
    """Write `out`; the seconds if they are not those of the call."""
    if variant == COPY:
        subprocess.run(["cp", "-r", data, out], check=True)
        subprocess.run(["sync", "-f", out], check=True)
    elif variant == FFCV:
        return child("ffcv", data, out, settings.workers)["seconds"]
    elif variant == BETON:
        beton_writer.run(open_reader(data), out, beton_writer.Options(workers=settings.workers))
    else:
        how: dict[str, Any] = (
            {"seek_step": None, "check": CHECKS[variant]} if variant != SHARDS else {}
        )
        options = job.Options(workers=settings.workers, **how)
        job.run(job.prepare(data, out, options))
    return None


def child(*arguments: object) -> dict[str, float]:
    """What benchmarks.conversion.child says."""
    command = [sys.executable, "-m", "benchmarks.conversion.child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise BackendError(f"{arguments[0]}: {done.stderr.strip()[-500:]}")
    said: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return said


def remove(out: str) -> None:
    if os.path.isdir(out):
        shutil.rmtree(out)
    else:
        os.unlink(out)
