"""Short real trainings on this machine's CPU, each forecast before it begins.

    python -m tests.forecast.trainings_release --data DIR --trainings 30 --seconds 40

DIR is a folder of classes with JPEGs. Each training has a small network, a size schedule, PyTorch's
or fastload's loader with 1 to 8 workers, and one or two processes. Some mix images (MixUp), some
mix two data sets. What is printed: the forecast with its interval, the time that the training then
took, and, over all of them, the median and the 90th percentile of the errors, and the share of the
times within their intervals. Run it on a machine that does nothing else: 30 trainings take about 40
minutes on 2 cores.

Two processes train side by side, each its own network, as two runs of a search do. They measure at
the same time, in the same turns, and the run is done when both are.
"""

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import ConcatDataset, default_collate
from torchvision import datasets
from torchvision import transforms as V
from torchvision.transforms import v2

import fastload
from fastload import transforms as T
from fastload.forecast import rates
from fastload.forecast.bands import Range, constant, exactly
from fastload.forecast.measuring import Measured, measure
from fastload.forecast.model import blend, edges
from fastload.forecast.run import Run
from fastload.measure import rate
from fastload.profiler.batches import Endless, images_in
from fastload.system.machine import usable_cores
from tests.forecast.errors import Seen, groups

BATCH = 32
SCHEDULES = ((64, 64, 96, 128, 128), (96, 112, 128), (128, 128, 128), (64, 80, 96, 112, 128, 144))
WIDTHS = (8, 24, 48)  # channels of the networks
WORKERS = (1, 2, 3, 4, 8)
KINDS = ("torch", "fastload")
MIXES = ("", "", "MixUp", "two data sets")
PROCESSES = (1, 1, 1, 2)
# Epochs of each of a schedule's: trainings that are over in 3 s are of their edges only
REPEATED = {"torch": 1, "fastload": 4}
ALPHA = 0.2  # of MixUp
LONG = 1_000_000  # images of an epoch without an end, where a sampler of our own cannot be given
MOST_S = 60.0  # of measuring
WAIT_S = 300.0  # for another process, which has failed if it takes longer
AIMS = "aims: median 4 %, 90th percentile 8 %, 85 to 95 % inside"


@dataclass(frozen=True)
class Training:
    """One of the trainings; name: whose loader."""

    name: str
    workers: int
    width: int
    sizes: tuple[int, ...]
    mix: str = ""  # of MIXES
    processes: int = 1

    def __str__(self) -> str:
        sizes = f"{self.sizes[0]} to {self.sizes[-1]} px, {len(self.sizes)} epochs"
        parts = [self.name, f"{self.workers} workers", f"{self.width} channels", sizes, self.mix]
        return ", ".join([*filter(None, parts), *["two processes"] * (self.processes - 1)])


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
    made = _of_torch if one.name == "torch" else _of_fastload
    kind, images, more = made(one, data, sizes, endless=endless)
    if endless and one.mix != MIXES[-1]:
        more["sampler"] = Endless(len(images))
    else:
        more["shuffle"] = True
    return kind(images, BATCH, num_workers=workers, drop_last=True, **more)


Loader = tuple[Callable[..., Any], Any, dict[str, Any]]


def _of_torch(one: Training, data: str, sizes: list[int], *, endless: bool) -> Loader:
    def images(*scale: float) -> Any:
        steps = [
            V.RandomResizedCrop(sizes[0], scale), V.RandomHorizontalFlip(), V.ToTensor()
        ]  # fmt: skip
        return datasets.ImageFolder(data, V.Compose(steps))

    found, more = images(0.08, 1.0), {}
    if one.mix == "MixUp":
        mix = v2.MixUp(alpha=ALPHA, num_classes=len(found.classes))
        more["collate_fn"] = lambda batch: mix(*default_collate(batch))
    if one.mix == MIXES[-1]:
        two = [found, images(0.5, 1.0)]
        found = ConcatDataset(two * (LONG // (2 * len(found)) if endless else 1))
    return torch.utils.data.DataLoader, found, more


def _of_fastload(one: Training, data: str, sizes: list[int], *, endless: bool) -> Loader:
    def images(*scale: float) -> Any:
        size = max(one.sizes)
        ops = [T.RandomResizedCrop(size, scale=scale), T.RandomHorizontalFlip(), T.ToTensor()]
        return fastload.open(data, ops)

    found, more = images(0.08, 1.0), {"size_schedule": sizes, "seek_index": "off"}
    if one.mix == "MixUp":
        more["mix"] = T.MixUp(ALPHA)
    if one.mix == MIXES[-1]:
        length = LONG if endless else 2 * len(found)
        found = fastload.mix([(found, 1), (images(0.5, 1.0), 1)], length=length)
    return fastload.DataLoader, found, more


def epochs(one: Training, data: str) -> Iterator[Iterable[object]]:
    """A run as a user has it: PyTorch's loader is made anew for each size."""
    if one.name == "torch":
        yield from (loader(one, data, [size], one.workers, endless=False) for size in one.sizes)
        return
    whole = loader(one, data, list(one.sizes), one.workers, endless=False)
    for epoch in range(len(one.sizes)):
        whole.set_epoch(epoch)
        yield whole


def forecast(one: Training, images: int, measured: Measured) -> Range:
    """Seconds of the whole run."""
    step, alone, both = (
        rates.per_image(each, one.sizes)
        for each in (measured.step, measured.loader, measured.together)
    )
    count = len(one.sizes)
    return Run(
        one.sizes, images, step, alone, constant(exactly(0.0), count), blend(measured),
        edges(measured, count, shared=True), both,
    ).total  # fmt: skip


def run(
    one: Training,
    data: str,
    seconds: float,
    wait: Callable[[], Any],
    agreed: Callable[[bool], bool],
) -> Seen:
    """Measure, forecast, and then train. wait: for the other processes; agreed: with these, whether
    the time is up.
    """
    found = datasets.ImageFolder(data)
    step = Step(one.width, len(found.classes))
    images = (1 + (one.mix == MIXES[-1])) * len(found) // BATCH * BATCH
    known, begin = sorted(set(one.sizes)), time.perf_counter()
    measured = measure(
        lambda size, workers: loader(
            one, data, [size], one.workers if workers is None else workers, endless=True
        ),
        known if len(known) < 4 else [known[0], known[len(known) // 2], known[-1]],
        step, one.workers, usable_cores(), seconds, wait,
        late=lambda: agreed(time.perf_counter() - begin > seconds),
    )  # fmt: skip
    ahead, measuring = forecast(one, images, measured), time.perf_counter() - begin
    wait()
    begin = time.perf_counter()
    for epoch in epochs(one, data):
        for batch in epoch:
            step(batch)
    return Seen(ahead, time.perf_counter() - begin, measuring)


def trained(one: Training, data: str, seconds: float, threads: int) -> Seen:
    """In processes of their own, if there are several."""
    if one.processes == 1:
        torch.set_num_threads(threads)
        return run(one, data, seconds, lambda: None, lambda late: late)
    context = multiprocessing.get_context("spawn")
    shared = context.Barrier(one.processes), context.Value("b", 0), context.SimpleQueue()
    children = [
        context.Process(target=_child, args=(one, data, seconds, threads, *shared))
        for _ in range(one.processes)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    if any(child.exitcode for child in children):
        raise SystemExit(f"{one}: a process failed")
    seen = [shared[-1].get() for _ in children]
    ends = (max(getattr(each.forecast, end) for each in seen) for end in ("value", "low", "high"))
    return Seen(Range(*ends), *(max(each[place] for each in seen) for place in (1, 2)))


def _child(
    one: Training, data: str, seconds: float, threads: int, barrier: Any, votes: Any, to: Any
) -> None:
    torch.set_num_threads(threads)
    multiprocessing.set_start_method("fork", force=True)  # of its workers, as in a run by itself
    warnings.simplefilter("ignore", UserWarning)

    def wait() -> None:
        barrier.wait(WAIT_S)

    def agreed(late: bool) -> bool:
        votes.value |= late
        wait()
        return bool(votes.value)

    try:
        to.put(run(one, data, seconds, wait, agreed))
    except BaseException:
        barrier.abort()  # the other one ends too
        raise


def chosen(count: int) -> list[Training]:
    """So many. Each value of each choice comes as often as it can."""
    numbers = np.random.default_rng(0)

    def spread(values: Sequence[Any]) -> list[Any]:
        return [values[place % len(values)] for place in numbers.permutation(count)]

    columns = map(spread, (KINDS, WORKERS, WIDTHS, SCHEDULES, MIXES, PROCESSES))
    rows = [Training(*row) for row in zip(*columns, strict=True)]
    return [
        replace(row, sizes=tuple(size for size in row.sizes for _ in range(REPEATED[row.name])))
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--trainings", type=int, default=30)
    parser.add_argument("--first", type=int, default=1, help="which of them to begin with")
    parser.add_argument("--seconds", type=float, default=40.0, help="of measuring, each")
    parser.add_argument("--threads", type=int, default=1, help="of torch, for the step")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # torch's, of more workers than cores
    every, seen = chosen(given.trainings)[given.first - 1 :], list[Seen]()
    for one in every:
        seen.append(trained(one, given.data, given.seconds, given.threads))
        last = seen[-1]
        row = {"training": str(one), **last.forecast.to_json(), "truth": last.truth,
               "error": last.error, "inside": last.inside,
               "measuring_s": last.measuring}  # fmt: skip
        print(json.dumps(row), flush=True)
    print("\n".join(groups(every, seen)))
    late = [each for each in seen if each.measuring > MOST_S]
    print(f"{AIMS}; {len(late)} were measured for more than {MOST_S:.0f} s")


if __name__ == "__main__":
    main()
