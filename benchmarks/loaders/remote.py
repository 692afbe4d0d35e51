"""Loaders over a web server with a slow link: 50 ms to each answer, and so many bytes per second.

"local": the same shards on the local disk. "link": obstore's plain reads of all shards, as images/s
of their size: what the link carries. "first": an epoch with an empty cache; "cached": with a cache
that has all; "tenth": with a cache of a tenth of the data, from its second epoch on. "webdataset":
PyTorch's DataLoader over WebDataset's tars, read by curl. The server is a process of its own on the
same machine, so its work is part of every row but the local one.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import fastload
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import transforms as T
from fastload.conversion import job
from fastload.measure import Sample, interleaved
from fastload.remote.access import Access
from fastload.remote.stores import Store
from fastload.remote.urls import parse

TREE = Path(__file__).parents[2]
REFERENCE = "local"
AT_ONCE, PIECE = 16, 8 << 20  # plain reads: at once, bytes


@dataclass(frozen=True)
class Settings:
    workers: int = 2
    batch_size: int = 64
    size: int = 224  # px
    latency: float = 0.05  # s
    rate: float = 125e6  # bytes per second: 1 Gbit/s
    repetitions: int = 3

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return (len(VARIANTS) + 1) * self.repetitions


@contextmanager
def server(folder: str, settings: Settings) -> Iterator[str]:
    """The URL of a server that has a folder."""
    command = [
        sys.executable, "-m", "tests.remote.web", folder,
        f"latency={settings.latency}", f"rate={settings.rate}",
    ]  # fmt: skip
    with subprocess.Popen(
        command, cwd=TREE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.kill()


class Runs:
    """The variants: each runs an epoch and returns its rate, images/s."""

    def __init__(self, shards: str, url: str, scratch: str, settings: Settings) -> None:
        self.shards, self.url, self.scratch, self.settings = shards, url, scratch, settings
        self.first_batch: dict[str, list[float]] = {}  # s, from `open` on
        self.bytes: dict[str, list[float]] = {}  # that the store sent in an epoch
        self.total = sum(file.stat().st_size for file in Path(shards).glob("*.tar"))
        self.kept: dict[str, Any] = {}

    def local(self) -> float:
        return self._epoch("local", lambda: self._open(self.shards))

    def link(self) -> float:
        store = Store(parse(f"{self.url}/shards"))
        names = [(file.name, file.stat().st_size) for file in Path(self.shards).glob("*.tar")]
        spans = [
            (name, (at, min(at + PIECE, size)))
            for name, size in names
            for at in range(0, size, PIECE)
        ]
        begin = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(lambda one: store.get(*one), spans))
        return len(fastload.open(self.shards)) / (time.perf_counter() - begin)

    def first(self) -> float:
        shutil.rmtree(Path(self.scratch, "first"), ignore_errors=True)
        return self._epoch("first", lambda: self._remote("first", 1 << 40))

    def cached(self) -> float:
        return self._epoch("cached", lambda: self._kept("cached", 1 << 40))

    def tenth(self) -> float:
        return self._epoch("tenth", lambda: self._kept("tenth", self.total // 10))

    def webdataset(self) -> float:
        """PyTorch, torchvision and WebDataset over the same link."""
        import webdataset
        from torchvision import transforms

        size = self.settings.size
        ops = transforms.Compose(
            [
                transforms.RandomResizedCrop(size),
                transforms.RandomHorizontalFlip(),
                transforms.PILToTensor(),
            ]
        )
        names = sorted(file.name for file in Path(self.shards).glob("*.tar"))
        urls = [f"pipe:curl -s {self.url}/shards/{name}" for name in names]
        data = (
            webdataset.WebDataset(urls, shardshuffle=len(urls), empty_check=False)
            .shuffle(1000)
            .decode("pil")
            .to_tuple("jpg;jpeg;png", "cls")
            .map_tuple(ops, int)
        )
        loader = torch.utils.data.DataLoader(
            data, self.settings.batch_size, num_workers=self.settings.workers
        )
        begin, count = time.perf_counter(), 0
        for images, _ in loader:
            if not count:
                self._note(self.first_batch, "webdataset", time.perf_counter() - begin)
            count += len(images)
        return count / (time.perf_counter() - begin)

    def _epoch(self, name: str, opened: Callable[[], Any]) -> float:
        begin, count = time.perf_counter(), 0
        data = opened()
        far: Access | None = getattr(getattr(data.pipeline.source, "remote", None), "access", None)
        before = far.store.traffic.bytes if far else 0
        loader = fastload.DataLoader(
            data, self.settings.batch_size, shuffle=True, seed=0, num_workers=self.settings.workers
        )
        loader.set_epoch(len(self.first_batch.get(name, [])))
        start = time.perf_counter()
        for images, _ in loader:
            if not count:
                self._note(self.first_batch, name, time.perf_counter() - begin)
            count += len(images)
        if far:
            self._note(self.bytes, name, far.store.traffic.bytes - before)
        return count / (time.perf_counter() - start)

    def _note(self, where: dict[str, list[float]], name: str, value: float) -> None:
        where.setdefault(name, []).append(value)

    def _kept(self, name: str, limit: int) -> Any:
        if name not in self.kept:
            self.kept[name] = self._remote(name, limit)
        return self.kept[name]

    def _remote(self, name: str, limit: int) -> Any:
        cache = str(Path(self.scratch, name))
        return self._open(f"{self.url}/shards", cache=cache, cache_bytes=limit)

    def _open(self, where: str, **options: Any) -> Any:
        size = self.settings.size
        return fastload.open(
            where, [T.RandomResizedCrop(size), T.RandomHorizontalFlip(), T.ToImage()], **options
        )


VARIANTS = ("local", "link", "first", "cached", "tenth", "webdataset")
DROPPED = ("local", "cached", "tenth")  # whose first epochs are dropped


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Measure every variant on the folder of classes `data`."""
    common = {"data": facts.data_set(data, name), **facts.common()}
    with tempfile.TemporaryDirectory(prefix="fastload-benchmark-") as scratch:
        shards = str(Path(scratch, "served", "shards"))
        Path(scratch, "served").mkdir()
        job.run(job.prepare(data, shards, job.Options(shard_bytes=64 << 20)))
        with server(str(Path(scratch, "served")), settings) as url:
            runs = Runs(shards, url, scratch, settings)
            for each in DROPPED:
                getattr(runs, each)()
                on_done()
            variants = {each: getattr(runs, each) for each in VARIANTS}
            results = interleaved(variants, settings.repetitions, on_done)
        return rows(settings, results, common, runs)


def rows(
    settings: Settings, results: dict[str, Sample], common: dict[str, Any], runs: Runs
) -> list[Row]:
    """One row per variant, compared with the local disk."""
    shown = {
        "cores": settings.workers, "batch_size": settings.batch_size, "size": settings.size,
        "latency_ms": settings.latency * 1e3, "link_mbit": settings.rate * 8e-6,
    }  # fmt: skip
    out = []
    for name, sample in results.items():
        also = {}
        for unit, values in (("first_batch_s", runs.first_batch), ("epoch_bytes", runs.bytes)):
            if later := values.get(name, [])[-settings.repetitions :]:
                also[unit] = float(sorted(later)[len(later) // 2])
        out.append(Row(
            benchmark="remote", variant=name, settings=shown,
            reference=None if name == REFERENCE else REFERENCE,
            page_cache="warm", also=also,
            **measured(sample, None if name == REFERENCE else results[REFERENCE]), **common,
        ))  # fmt: skip
    return out
