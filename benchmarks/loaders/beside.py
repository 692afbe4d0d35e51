"""How long a training's step takes beside a loader: OPERATORS small operators, launched by Python,
in turns alone and beside.

Alone is the same process with the same loader, which stands still: its queue is full, and nobody
takes a batch. Beside, a batch is taken before each step, so the loader works. A turn is steps
alone, as many beside, and steps alone again; its figures are the median and the upper quartile of
the steps beside, by the median of both parts alone. PyTorch's worker processes are the measure for
fastload's threads: both have the same cores, which they share with the step.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.loaders.overhead import step
from benchmarks.report import facts
from benchmarks.report.row import Row, figure, measured
from fastload.errors import UsageError
from fastload.measure import Sample, interleaved, ratio

OPERATORS = 2000
IMAGES = 768  # of a part of a turn, at least: small batches are asked for several at once
LOADERS: dict[str, Any] = {
    "PyTorch DataLoader": torch.utils.data.DataLoader,
    "fastload": fastload.DataLoader,
}
REFERENCE = "PyTorch DataLoader"
QUIET = 0.3  # s until a loader of which nobody takes stands still


@dataclass(frozen=True)
class Settings:
    workers: tuple[int, ...] = (1, 2)
    batch_sizes: tuple[int, ...] = (16, 256)
    augment: tuple[bool, ...] = (True, False)
    steps: int = 12  # of each part of a turn, at least
    size: int = 176  # px
    repetitions: int = 5

    def check(self) -> None:
        """Raises UsageError."""
        if min(*self.workers, *self.batch_sizes, self.steps, self.repetitions) < 1:
            raise UsageError(
                "beside: --workers, --batch-sizes, --steps, --repetitions want 1 or more"
            )

    @property
    def cases(self) -> list[tuple[bool, int, int]]:
        """RandAugment or not, batch size, workers."""
        return [
            (augment, size, workers)
            for augment in self.augment
            for size in self.batch_sizes
            for workers in self.workers
        ]

    @property
    def turns(self) -> int:
        """How often on_done is called."""
        return len(self.cases) * len(LOADERS) * self.repetitions


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    settings.check()
    torch.set_num_threads(1)
    common = {"data": facts.data_set(data, name), **facts.common()}
    return [
        row for case in settings.cases for row in compared(data, settings, case, common, on_done)
    ]


def compared(
    data: str,
    settings: Settings,
    case: tuple[bool, int, int],
    common: dict[str, Any],
    on_done: Callable[[], None],
) -> list[Row]:
    """The rows of one case; the loaders take turns, and each stands still in the other's."""
    feeds = {name: Feed(make(data, settings, case)) for name, make in makers().items()}
    quartiles: dict[str, list[float]] = {name: [] for name in feeds}

    augment, size, workers = case
    steps = max(settings.steps, IMAGES // size)

    def turn(name: str) -> float:
        median, quartile = beside(feeds[name], steps)
        quartiles[name].append(quartile)
        return median

    runs = {name: lambda name=name: turn(name) for name in feeds}
    found = interleaved(runs, settings.repetitions, on_done)
    for feed in feeds.values():
        feed.close()
    shown = {"RandAugment": augment, "batch_size": size, "workers": workers}
    return [
        Row(
            "beside", name, shown, page_cache="warm", unit="times as long as alone",
            reference=None if name == REFERENCE else REFERENCE,
            also=figure("upper_quartile", ratio(
                Sample(tuple(quartiles[name])), Sample((1.0,) * settings.repetitions)
            )),
            **measured(sample, None if name == REFERENCE else found[REFERENCE]), **common,
        )
        for name, sample in found.items()
    ]  # fmt: skip


def makers() -> dict[str, Callable[..., Any]]:
    def make(kind: Any) -> Callable[..., Any]:
        def loader(data: str, settings: Settings, case: tuple[bool, int, int]) -> Any:
            augment, size, workers = case
            policy = [transforms.RandAugment(num_ops=1)] if augment else []
            chain = transforms.Compose(
                [
                    transforms.RandomResizedCrop(settings.size),
                    transforms.RandomHorizontalFlip(),
                    *policy,
                    transforms.PILToTensor(),
                ]
            )
            return kind(
                ImageFolder(data, chain), size, shuffle=True, num_workers=workers, drop_last=True
            )

        return loader

    return {name: make(kind) for name, kind in LOADERS.items()}


class Feed:
    """A loader's batches, epoch after epoch."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.batches = loader, iter(loader)

    def take(self) -> None:
        if next(self.batches, None) is None:
            self.batches = iter(self.loader)
            next(self.batches)

    def close(self) -> None:
        del self.batches, self.loader


def beside(feed: Feed, steps: int) -> tuple[float, float]:
    """Median and upper quartile of steps beside the loader, by the median of those alone."""
    feed.take()
    time.sleep(QUIET)
    before = timed(lambda: None, steps)
    between = timed(feed.take, steps)
    time.sleep(QUIET)
    alone = float(np.median(before + timed(lambda: None, steps)))
    return float(np.median(between)) / alone, float(np.quantile(between, 0.75)) / alone


def timed(take: Callable[[], None], steps: int) -> list[float]:
    """Seconds of each step, after what comes before it."""
    some, out = torch.ones(16, 16), []
    for _ in range(steps):
        take()
        start = time.perf_counter()
        step(some, OPERATORS)
        out.append(time.perf_counter() - start)
    return out
