"""Short real trainings on this machine's CPU, each forecast before it begins.

    python -m tests.forecast.trainings_release --data DIR --trainings 30 --seconds 20

DIR is a folder of classes with JPEGs. Each training has a small network, a size schedule, and
PyTorch's or fastload's loader with 1 to 4 workers. What is printed: the forecast with its interval,
the time that the training then took, and, over all of them, the median and the 90th percentile of
the errors, and the share of the times within their intervals. Run it on a machine that does
nothing else: 30 trainings take about half an hour on 2 cores.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torchvision import datasets
from torchvision import transforms as V

import fastload
from fastload import transforms as T
from fastload.forecast import rates
from fastload.forecast.bands import Band, Range, constant, exactly
from fastload.forecast.measuring import Measured, measure
from fastload.forecast.model import blend
from fastload.forecast.run import Run
from fastload.measure import rate
from fastload.profiler.batches import Endless, images_in
from fastload.system.machine import usable_cores

BATCH = 32
SCHEDULES = ((64, 64, 96, 128, 128), (96, 112, 128), (128, 128, 128), (64, 80, 96, 112, 128, 144))
WIDTHS = (8, 24, 48)  # channels of the networks
WORKERS = (1, 2, 4)


@dataclass(frozen=True)
class Training:
    """One of the trainings; name: whose loader."""

    name: str
    workers: int
    width: int
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        sizes = f"{self.sizes[0]} to {self.sizes[-1]} px, {len(self.sizes)} epochs"
        return f"{self.name}, {self.workers} workers, {self.width} channels, {sizes}"


class Step:
    """A small network, trained on this CPU."""

    resident = 4

    def __init__(self, width: int, classes: int) -> None:
        torch.manual_seed(0)
        self.network = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1),
            nn.ReLU(), nn.Conv2d(2 * width, 2 * width, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, classes),
        )  # fmt: skip
        self.optimizer = torch.optim.SGD(self.network.parameters(), 0.01, momentum=0.9)

    def __call__(self, batch: Any) -> None:
        images, labels = batch
        nn.functional.cross_entropy(self.network(images), labels).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def rate_at(self, scale: float, batch: object, seconds: float) -> float:
        """Images/s of the step alone on one batch."""

        def once() -> int:
            self(batch)
            return images_in(batch)

        once()
        return rate(once, seconds)


def loader(one: Training, data: str, sizes: list[int], workers: int, *, endless: bool) -> Any:
    """A loader of those sizes by epoch; PyTorch's has one size."""
    more: dict[str, Any] = {"num_workers": workers, "drop_last": True}
    if one.name == "torch":
        steps = [V.RandomResizedCrop(sizes[0]), V.RandomHorizontalFlip(), V.ToTensor()]
        images: Any = datasets.ImageFolder(data, V.Compose(steps))
        kind: Any = torch.utils.data.DataLoader
    else:
        ops = [T.RandomResizedCrop(max(one.sizes)), T.RandomHorizontalFlip(), T.ToTensor()]
        images, kind = fastload.open(data, ops), fastload.DataLoader
        more |= {"size_schedule": sizes, "seek_index": "off"}
    order = {"sampler": Endless(len(images))} if endless else {"shuffle": True}
    return kind(images, BATCH, **order, **more)


def epochs(one: Training, data: str) -> Iterator[Iterable[object]]:
    """A run as a user has it: PyTorch's loader is made anew for each size."""
    if one.name == "torch":
        yield from (loader(one, data, [size], one.workers, endless=False) for size in one.sizes)
        return
    whole = loader(one, data, list(one.sizes), one.workers, endless=False)
    for epoch in range(len(one.sizes)):
        whole.set_epoch(epoch)
        yield whole


class Seen(NamedTuple):
    forecast: Range  # s
    truth: float

    @property
    def error(self) -> float:
        return abs(self.forecast.value / self.truth - 1)

    @property
    def inside(self) -> bool:
        return self.forecast.low <= self.truth <= self.forecast.high


def forecast(one: Training, images: int, measured: Measured) -> Range:
    """Seconds of the whole run."""
    step, alone, both = (
        rates.per_image(each, one.sizes)
        for each in (measured.step, measured.loader, measured.together)
    )
    nothing: Band = constant(exactly(0.0), len(one.sizes))
    start = Range(measured.start.median, measured.start.low, measured.start.high)
    return Run(one.sizes, images, step, alone, nothing, blend(measured), start, both).total


def run(one: Training, data: str, seconds: float) -> Seen:
    """Measure, forecast, and then train."""
    found = datasets.ImageFolder(data)
    step, images = Step(one.width, len(found.classes)), len(found) // BATCH * BATCH
    known = sorted(set(one.sizes))
    measured = measure(
        lambda size, workers: loader(
            one, data, [size], one.workers if workers is None else workers, endless=True
        ),
        known if len(known) < 4 else [known[0], known[len(known) // 2], known[-1]],
        step, one.workers, usable_cores(), seconds,
    )  # fmt: skip
    ahead = forecast(one, images, measured)
    begin = time.perf_counter()
    for epoch in epochs(one, data):
        for batch in epoch:
            step(batch)
    return Seen(ahead, time.perf_counter() - begin)


def chosen(count: int) -> list[Training]:
    """So many of all, spread over them."""
    every = [
        Training(*each)
        for each in itertools.product(("torch", "fastload"), WORKERS, WIDTHS, SCHEDULES)
    ]
    order = np.random.default_rng(0).permutation(len(every))
    return [every[number] for number in order[:count]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--trainings", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0, help="of measuring, each")
    parser.add_argument("--threads", type=int, default=1, help="of torch, for the step")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    seen = []
    for one in chosen(given.trainings):
        seen.append(run(one, given.data, given.seconds))
        last = seen[-1]
        row = {"training": str(one), **last.forecast.to_json(), "truth": last.truth,
               "error": last.error, "inside": last.inside}  # fmt: skip
        print(json.dumps(row), flush=True)
    errors = [each.error for each in seen]
    inside = np.mean([each.inside for each in seen])
    print(
        f"{len(seen)} trainings: median error {100 * np.median(errors):.1f} %, 90th percentile "
        f"{100 * np.percentile(errors, 90):.1f} %, {100 * inside:.0f} % inside the interval"
    )


if __name__ == "__main__":
    main()
