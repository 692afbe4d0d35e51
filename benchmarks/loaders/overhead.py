"""What the loader takes from the training process: CPU time of its Python threads for each batch,
and of `next()`.

The feeder's thread is asked for its clock; the consumer's counts inside `next()` only, which is
called when a batch lies ready, after a step of small operators. The pool's threads hold no GIL and
are left out. So images are small
(decoding costs little, and does not count) and ops are the recipes' at SIDE px: what Python does
for a batch does not depend on the side. "sources" has Hot at one batch size from elsewhere: shards,
with a mix, one of two ranks, and an epoch that was resumed.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import fastload
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload import recipes, transforms
from fastload.conversion import job
from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.plan.resizing import at_size

RECIPES = ("hot", "mild", "timm-a1", "crop and flip")
SOURCES = ("shards", "mixed", "distributed", "resumed")
SIDE = 32  # px of the batches
IMAGES, CLASSES = 64, 4  # files of their own; all others are links to them
STEADY = 4  # batches of an epoch before the clock is looked at
READY = 20.0  # s that a batch may take


@dataclass(frozen=True)
class Settings:
    batch_sizes: tuple[int, ...] = (32, 256, 1024, 4096)
    batch_size: int = 256  # of "sources"
    batches: int = 24  # of one repetition; fewer where they are large
    repetitions: int = 5

    def check(self) -> None:
        """Raises UsageError."""
        if min(*self.batch_sizes, self.batch_size, self.batches, self.repetitions) < 1:
            raise UsageError("overhead: --batch-sizes, --batches and --repetitions want 1 or more")

    def counted(self, batch_size: int) -> int:
        """Batches of one repetition."""
        return max(4, min(self.batches, self.batches * 1024 // batch_size))

    @property
    def files(self) -> int:
        """So many that an epoch of the largest batches is long enough; twice, for two ranks."""
        most = max(size * (self.counted(size) + 4 * STEADY) for size in self.batch_sizes)
        return max(most, 2 * self.batch_size * (self.batches + 4 * STEADY))

    @property
    def cases(self) -> list[tuple[str, str, int]]:
        """Recipe, source, batch size."""
        plain = [(recipe, "folder", size) for recipe in RECIPES for size in self.batch_sizes]
        return plain + [("hot", source, self.batch_size) for source in SOURCES]


@dataclass(frozen=True)
class Cost:
    """Of one batch, in ms of CPU time; `wall` in ms of time."""

    feeder: float
    consumer: float
    next: float  # the median of what is the consumer's
    wall: float  # the same in time


def run(scratch: Path, settings: Settings, on_done: Callable[[], None] = lambda: None) -> list[Row]:
    """Rows of both tables; on_done is called after each repetition of each case."""
    settings.check()
    folder = make_folder(scratch / "images", settings.files)
    shards = scratch / "shards"
    job.run(job.prepare(str(folder), str(shards), job.Options()))
    common = {
        "data": facts.data_set(str(folder), f"{IMAGES} images of noise, linked"),
        **facts.common(),
    }
    loaders = {case: make_loader(folder, shards, *case) for case in settings.cases}
    found: dict[Any, list[Cost]] = {case: [] for case in loaders}
    for case, loader in loaders.items():
        measure(loader, settings.counted(case[2]))  # dropped
    for _ in range(settings.repetitions):
        for case, loader in loaders.items():
            found[case].append(measure(loader, settings.counted(case[2])))
            on_done()
    return [row_of(case, costs, common) for case, costs in found.items()]


def make_folder(folder: Path, count: int) -> Path:
    """A folder of classes of `count` images, most of them links."""
    rng = np.random.Generator(np.random.Philox(0))
    for number in range(count):
        path = folder / f"class_{number % CLASSES}" / f"{number:06d}.JPEG"
        if number < CLASSES:
            path.parent.mkdir(parents=True)
        if number < IMAGES:
            noise = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
            noise.resize((40 + number % 9, 48 - number % 7)).save(path, quality=80)
        else:
            twin = number % IMAGES
            os.link(folder / f"class_{twin % CLASSES}" / f"{twin:06d}.JPEG", path)
    return folder


def ops_of(recipe: str) -> list[transforms.Op]:
    """The ops of a recipe's training, at SIDE px."""
    if recipe not in recipes.names():
        crop = transforms.RandomResizedCrop(SIDE)
        return [crop, transforms.RandomHorizontalFlip(), transforms.PILToTensor()]
    ops = recipes.load(recipe).ops()
    return list(at_size(tuple(ops), "decode", SIDE, ops[0].size[0]))


def make_loader(folder: Path, shards: Path, recipe: str, source: str, size: int) -> Any:
    data = fastload.open(str(shards if source == "shards" else folder), ops_of(recipe))
    given: dict[str, Any] = {"shuffle": True}
    if source == "mixed":
        given["mix"] = transforms.MixUp.composer(0.25)
    if source == "distributed":
        given = {"sampler": fastload.DistributedSampler(len(data), num_replicas=2, rank=1)}
    loader = fastload.DataLoader(
        data, size, num_workers=1, seed=1, drop_last=True, backend="native", seek_index="use",
        **given,
    )  # fmt: skip
    if source == "resumed":
        next(iter(loader))
        loader.load_state_dict(json.loads(json.dumps(loader.state_dict())))
    return loader


def measure(loader: Any, batches: int) -> Cost:
    """The cost of a batch in the middle of an epoch, over so many."""
    before = set(threading.enumerate())
    epoch = iter(loader)
    feeders = [thread for thread in threading.enumerate() if thread not in before]
    for _ in range(STEADY):
        next(epoch)
    start, spent, walls = clocks(feeders), [], []
    for _ in range(batches):
        wait(epoch)
        cpu, wall = time.thread_time(), time.perf_counter()
        next(epoch)
        walls.append(time.perf_counter() - wall)
        spent.append(time.thread_time() - cpu)
    feeder = (clocks(feeders) - start) / batches
    figures = (feeder, float(np.mean(spent)), float(np.median(spent)), float(np.median(walls)))
    return Cost(*(1e3 * figure for figure in figures))


def wait(epoch: Any) -> None:
    """Train till a batch lies ready. Raises UsageError where none comes."""
    end = time.monotonic() + READY
    some = torch.ones(16, 16)
    step(some)
    while not epoch._batches.ready:
        if time.monotonic() > end:
            raise UsageError(f"overhead: no batch within {READY:g} s")
        step(some)


def step(some: torch.Tensor, operators: int = 200) -> None:
    """What a training does between two batches, in small: operators that Python launches."""
    for _ in range(operators // 2):
        some = torch.mul(torch.add(some, 1.0), 0.5)


def clocks(threads: list[threading.Thread]) -> float:
    """CPU time of these threads so far, s."""
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0)) for thread in threads
    )


def row_of(case: tuple[str, str, int], costs: list[Cost], common: dict[str, Any]) -> Row:
    recipe, source, size = case
    table = {} if source == "folder" else {"table": "sources"}
    settings = {**table, "recipe": recipe, "source": source, "batch_size": size}
    figures = {
        f"{name}_{unit}": scale * float(np.median([getattr(cost, name) for cost in costs]))
        for name, unit, scale in (
            ("feeder", "ms", 1.0), ("consumer", "ms", 1.0), ("next", "us", 1e3), ("wall", "us", 1e3)
        )
    }  # fmt: skip
    sample = Sample(tuple(cost.feeder + cost.consumer for cost in costs))
    return Row(
        "overhead", "fastload", settings, page_cache="warm", also=figures,
        unit="ms of Python's CPU time per batch", reference=None, **measured(sample, None),
        **common,
    )  # fmt: skip


def turns(settings: Settings) -> int:
    """How often on_done is called."""
    return settings.repetitions * len(settings.cases)
