"""The loader cut off after each stage: reading alone, reading and decoding, and so on.

The measured rates show what each stage costs.
"""

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import torch
import torch.utils.data

from fastload.measure import Sample, interleaved
from fastload.plan.pipeline import Pipeline
from fastload.profiler import cold
from fastload.profiler.batches import Endless, Feed, alone, images_in
from fastload.profiler.ladder import Budget
from fastload.sources import Source, raw_pixels, read
from fastload.spec import Stage

REPLICATES = 3
SHORTER = 0.5  # of a rung's replicate
MOST = 4096  # images that are dropped from the page cache before each cold replicate

Makers = dict[str, Callable[[], Iterable[object]]]  # new loaders by the last stage that they run


@dataclass(frozen=True)
class Cut:
    """Images/s of all stages up to this one, itself included."""

    name: str
    loader: Sample
    cold: Sample | None = None  # the same with a cold page cache; None: not measured


def of_pipeline(
    pipeline: Pipeline,
    batch_size: int,
    workers: int,
    make: Callable[[Pipeline], Iterable[object]],
    whole: Callable[[], Iterable[object]],
) -> Makers:
    """Of a pipeline that fastload runs. make: a loader of fewer ops; whole: the loader as it is."""
    out: Makers = {}
    if len(pipeline.source) and raw_pixels(pipeline.source, 0) is None:
        out["read"] = partial(Lengths, pipeline.source, batch_size, workers)
    crop, augment = (
        tuple(op for op in pipeline.ops if op.stage <= last) for last in (Stage.CROP, Stage.AUGMENT)
    )
    out["+ decode and crop" if out else "crop"] = partial(make, pipeline.with_ops(crop))
    if augment != crop:
        out["+ augment"] = partial(make, pipeline.with_ops(augment))
    return {**out, "+ store": whole}


def of_torch(loader: Any) -> Makers:
    """Of PyTorch's loader: its data set's list of transforms is cut. Empty where there is none."""
    dataset: Any = getattr(loader, "dataset", None)
    chain: Any = getattr(dataset, "transform", None)
    members = getattr(chain, "transforms", None)
    if (
        type(loader) is not torch.utils.data.DataLoader
        or not isinstance(members, list)
        or loader.batch_sampler is None
    ):
        return {}
    out: Makers = {}
    if callable(getattr(dataset, "loader", None)) and hasattr(dataset, "samples"):
        # One of torchvision's folders
        out["read"] = partial(_cut, loader, _as_it_is, _bytes)
    out["+ decode" if out else "data set"] = partial(_cut, loader, _as_it_is)
    for number, member in enumerate(members, start=1):
        shorter = copy.copy(chain)
        shorter.transforms = members[:number]
        name = f"+ {type(member).__name__}"
        out[f"{name} ({number})" if name in out else name] = partial(_cut, loader, shorter)
    return {**out, "+ collate": lambda: loader}


def _cut(
    loader: Any, transform: Callable[[Any], Any], opened: Callable[[str], Any] | None = None
) -> Any:
    """The loader with another transform, and nothing to collate.

    The user's own data set stays as it is.
    """
    dataset = copy.copy(loader.dataset)
    # torchvision's pair of transform and target_transform:
    both = getattr(dataset, "transforms", None)
    if hasattr(both, "transform"):
        dataset.transforms = copy.copy(both)
        dataset.transforms.transform = transform
    dataset.transform = transform
    if opened:
        dataset.loader = opened
    return torch.utils.data.DataLoader(
        dataset, batch_sampler=loader.batch_sampler, num_workers=loader.num_workers,
        collate_fn=_count,
        prefetch_factor=loader.prefetch_factor, worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
    )  # fmt: skip


def _count(samples: list[object]) -> torch.Tensor:
    return torch.zeros(len(samples), 1)


def _as_it_is(image: object) -> object:
    return image


def _bytes(path: str) -> int:
    with open(path, "rb") as file:
        return len(file.read())


class Lengths:
    """Endless batches of images' lengths in bytes. As many threads as the loader has workers read
    the images and drop them.
    """

    def __init__(self, source: Source, batch_size: int, workers: int) -> None:
        self.source, self.batch_size, self.num_workers = source, batch_size, workers

    def __iter__(self) -> Iterator[torch.Tensor]:
        order, ahead = iter(Endless(len(self.source))), deque[Future[torch.Tensor]]()
        with ThreadPoolExecutor(max(1, self.num_workers)) as pool:
            while True:
                while len(ahead) <= 2 * self.num_workers:
                    ahead.append(pool.submit(self._read, list(islice(order, self.batch_size))))
                yield ahead.popleft().result()

    def _read(self, samples: list[int]) -> torch.Tensor:
        return torch.tensor([len(read(self.source, sample)) for sample in samples])


def measure(
    makers: Makers, budget: Budget, on_done: Callable[[], None], source: Source | None = None
) -> tuple[Cut, ...]:
    """Each loader is stopped before the next one runs.

    source: its images are dropped from the page cache, and all loaders run again. They have to go
        through it in the order of Endless.

    Raises OSError where pages cannot be dropped.
    """
    seconds = SHORTER * budget.run

    def warm(name: str) -> float:
        return alone(Feed(makers[name]()), seconds)

    rates = interleaved({name: partial(warm, name) for name in makers}, REPLICATES, on_done)
    if source is None or raw_pixels(source, 0) is not None:
        return tuple(Cut(name, sample) for name, sample in rates.items())
    dropped = list(islice(Endless(len(source)), min(MOST, len(source))))
    chilled = interleaved(
        {name: partial(_chilled, make, source, dropped, seconds) for name, make in makers.items()},
        REPLICATES,
        on_done,
    )
    return tuple(Cut(name, sample, chilled[name]) for name, sample in rates.items())


def _chilled(
    make: Callable[[], Iterable[object]], source: Source, dropped: list[int], seconds: float
) -> float:
    for sample in dropped:
        cold.drop(source, sample)
    return _once(Feed(make()), seconds, len(dropped))


def _once(feed: Feed, seconds: float, images: int) -> float:
    """Images/s until so many images have been read, those ahead of the consumer counted; one batch
    at least.
    """
    feed.drain()
    start, done, number = time.perf_counter(), 0, 0
    while not done or (
        time.perf_counter() - start < seconds and (feed.taken + 1 + feed.depth) * number <= images
    ):
        number = images_in(feed.take())
        done += number
    return done / (time.perf_counter() - start)
