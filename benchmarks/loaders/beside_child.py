"""One loader of `python -m benchmarks beside` in a process of its own.

Its argument is JSON. For every line on stdin it runs one turn and answers with what `beside` gives.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.loaders.overhead import step
from benchmarks.report import cpu

OPERATORS = 2000
LOOK, IDLE = 0.3, 0.02  # s between two looks, and of CPU time in between where nothing works
LOOKS = 100
LOADERS: dict[str, Any] = {
    "PyTorch DataLoader": torch.utils.data.DataLoader,
    "fastload": fastload.DataLoader,
}


def make_loader(spec: dict[str, Any]) -> Any:
    """spec: what `beside.compared` says."""
    policy = [transforms.RandAugment(num_ops=1)] if spec["RandAugment"] else []
    chain = transforms.Compose(
        [
            transforms.RandomResizedCrop(spec["size"]),
            transforms.RandomHorizontalFlip(),
            *policy,
            transforms.PILToTensor(),
        ]
    )
    return LOADERS[spec["loader"]](
        ImageFolder(spec["data"], chain), spec["batch_size"], shuffle=True,
        num_workers=spec["workers"], drop_last=True,
    )  # fmt: skip


class Feed:
    """A loader's batches, epoch after epoch."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.batches = loader, iter(loader)

    def take(self) -> None:
        if next(self.batches, None) is None:
            self.batches = iter(self.loader)
            next(self.batches)


def beside(feed: Feed, steps: int) -> tuple[float, float, float]:
    """By the median of steps alone: median and upper quartile of those beside the loader, and
    median of those that come after a sleep as long as the wait for a batch.
    """
    feed.take()
    stand_still()
    before, _ = timed(lambda: None, steps)
    between, waits = timed(feed.take, steps)
    stand_still()
    wait = float(np.median(waits))
    slept, _ = timed(lambda: time.sleep(wait), steps)
    after, _ = timed(lambda: None, steps)
    alone = np.median(before + after)
    figures = np.median(between), np.quantile(between, 0.75), np.median(slept)
    median, quartile, rested = (float(figure / alone) for figure in figures)
    return median, quartile, rested


def stand_still() -> None:
    """Until loaders of which nobody takes have filled their queues. Raises TimeoutError."""
    before = cpu.ours()
    for _ in range(LOOKS):
        time.sleep(LOOK)
        if (now := cpu.ours()) - before <= IDLE:
            return
        before = now
    raise TimeoutError(f"beside: the loaders still work after {LOOK * LOOKS:.0f} s")


def timed(take: Callable[[], None], steps: int) -> tuple[list[float], list[float]]:
    """Seconds of each step, and of what comes before it."""
    some, times = torch.ones(16, 16), []
    for _ in range(steps):
        times += [time.perf_counter()]
        take()
        times += [time.perf_counter()]
        step(some, OPERATORS)
        times += [time.perf_counter()]
    spent = np.diff(times)
    return spent[1::3].tolist(), spent[::3].tolist()


def answer(spec: dict[str, Any]) -> None:
    """The whole of the process."""
    torch.set_num_threads(1)
    feed = Feed(make_loader(spec))
    for _ in sys.stdin:
        print(*beside(feed, spec["steps"]), flush=True)


if __name__ == "__main__":
    answer(json.loads(sys.argv[1]))
