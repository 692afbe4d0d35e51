"""What the drop-in costs where it has nothing to speed up, and how soon an epoch begins.

The main table: data sets that fastload does not know run on PyTorch's own engine, with lazy images;
the ratio is to its speed.
"start": an index of 1,281,167 entries (the given images over and over), from iter() to the first
batch and in a later epoch.
"look": what iter() spends on whether such a data set is what it was, in ms.
"stats": what counting costs per batch, of the time that a batch takes natively. All variants take
turns in this process.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torchvision import transforms
from torchvision.datasets import ImageFolder

import fastload
from benchmarks.loaders import loader
from benchmarks.report import facts
from benchmarks.report.row import Row, measured
from fastload.loader.native import Native
from fastload.measure import Sample, interleaved, rate
from fastload.system.meter import Meter

TORCH, OURS = "PyTorch DataLoader", "fastload"
CLASSES: dict[str, Any] = {TORCH: torch.utils.data.DataLoader, OURS: fastload.DataLoader}
ENTRIES = 1_281_167  # ImageNet's training images
SECONDS = 1.0  # of one repetition, at least
CALLS = 10_000  # of what is counted per batch


@dataclass(frozen=True)
class Settings:
    workers: int = 2
    batch_size: int = 64
    size: int = 224  # px
    repetitions: int = 5


class Mine(ImageFolder):
    """A user's class, which is never lowered."""


def run(
    data: str, name: str, settings: Settings, on_done: Callable[[], None] = lambda: None
) -> list[Row]:
    """Rows of all tables; on_done is called after each repetition of each variant."""
    loader.check(loader.Settings(repetitions=settings.repetitions), [0, 1])
    common = {"data": facts.data_set(data, name), **facts.common()}
    return [
        *overheads(data, settings, common, on_done),
        *starts(data, settings, common, on_done),
        *looks(data, settings, common),
        stats(data, settings, common),
    ]


def turns(settings: Settings) -> int:
    """How often on_done is called."""
    return (len(cases("", settings)) + 2) * len(CLASSES) * settings.repetitions


def transform(size: int) -> Any:
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(size),
            transforms.RandomHorizontalFlip(),
            transforms.PILToTensor(),
        ]
    )


def cases(data: str, settings: Settings) -> list[tuple[str, Callable[[], Any], int]]:
    """Data sets that are not lowered: name, maker, worker processes.

    Tensors cost next to nothing, so nothing hides the loader. Images are opened by Pillow, so they
    are lazy.
    """
    size = settings.size
    tensor = transforms.PILToTensor()
    jitter = transforms.ColorJitter(0.4, 0.4, 0.4)
    chains = {
        "images": transform(size),
        "images, colour jitter": transforms.Compose(
            [transform(size).transforms[0], jitter, tensor]
        ),
        "images, resized": transforms.Compose([transforms.Resize((size, size)), tensor]),
        "images, evaluation": transforms.Compose(
            [transforms.Resize(size * 8 // 7), transforms.CenterCrop(size), tensor]
        ),
    }
    makers = {"tensors": partial(make_tensors, settings.batch_size)} | {
        name: partial(Mine, data, chain) for name, chain in chains.items()
    }
    return [
        (name, make, workers) for name, make in makers.items() for workers in (0, settings.workers)
    ]


def make_tensors(batch_size: int) -> Any:
    return torch.utils.data.TensorDataset(
        torch.zeros(100 * batch_size, 3, 32, 32), torch.arange(100 * batch_size)
    )


def overheads(
    data: str, settings: Settings, common: dict[str, Any], on_done: Callable[[], None]
) -> Iterator[Row]:
    for name, make, workers in cases(data, settings):
        given = {
            "batch_size": settings.batch_size,
            "num_workers": workers,
            "persistent_workers": workers > 0,
        }
        loaders = {
            variant: kind(make(), shuffle=True, **given) for variant, kind in CLASSES.items()
        }
        for one in loaders.values():
            epoch(one)  # starts the workers
        runs = {
            variant: partial(rate, partial(epoch, one), SECONDS) for variant, one in loaders.items()
        }
        results = interleaved(runs, settings.repetitions, on_done)
        shown = {
            "data set": name,
            "workers": workers,
            "batch_size": settings.batch_size,
        }
        for variant, sample in results.items():
            yield _row(shown, variant, sample, results[TORCH] if variant == OURS else None, common)


def epoch(one: Any) -> int:
    return sum(len(batch[0]) for batch in one)


def starts(
    data: str, settings: Settings, common: dict[str, Any], on_done: Callable[[], None]
) -> Iterator[Row]:
    for shuffle in (False, True):
        clocks: dict[str, list[tuple[float, float]]] = {variant: [] for variant in CLASSES}
        runs = {
            variant: partial(start, variant, data, settings, shuffle, clocks[variant])
            for variant in CLASSES
        }
        results = interleaved(runs, settings.repetitions, on_done)
        for variant, sample in results.items():
            first, later = np.median(clocks[variant], axis=0).tolist()
            also = {"first_batch_ms": first * 1e3, "later_epoch_ms": later * 1e3}
            shown = {
                "table": "start",
                "entries": ENTRIES,
                "shuffle": shuffle,
                "workers": settings.workers,
                "batch_size": settings.batch_size,
            }
            yield _row(
                shown, variant, sample, results[TORCH] if variant == OURS else None, common, also
            )


def start(
    variant: str, data: str, settings: Settings, shuffle: bool, clock: list[tuple[float, float]]
) -> float:
    """Images per second of a new loader's first batch. clock gets s: to the first batch, and of
    iter() in the second epoch.
    """
    dataset = ImageFolder(data, transform(settings.size))
    dataset.samples = (dataset.samples * -(-ENTRIES // len(dataset.samples)))[:ENTRIES]
    given = {"seek_index": "use", "backend": "native"} if variant == OURS else {}
    one = CLASSES[variant](
        dataset, settings.batch_size, shuffle=shuffle, num_workers=settings.workers, **given
    )
    begin = time.perf_counter()
    iterator = iter(one)
    next(iterator)
    first = time.perf_counter() - begin
    del iterator  # ends what is under way
    begin = time.perf_counter()
    iterator = iter(one)
    clock.append((first, time.perf_counter() - begin))
    del iterator
    return settings.batch_size / first


class _Ready:
    """Batches that cost nothing: what is left is the counting."""

    def __init__(self, batches: Any) -> None:
        self.batches, self.batch = batches, [torch.zeros(1), torch.zeros(1)]

    @property
    def ready(self) -> int:
        return int(self.batches.ready)

    def __next__(self) -> Any:
        return self.batch


def entries(data: str, settings: Settings) -> dict[str, Any]:
    """Data sets of ENTRIES samples, by what is compared of them."""
    pairs = ImageFolder(data, transform(settings.size))
    pairs.samples = [
        (path, label)
        for path, label in (pairs.samples * -(-ENTRIES // len(pairs.samples)))[:ENTRIES]
    ]
    rows = ImageFolder(data, transform(settings.size))
    # As some programs make them.
    rows.samples = [list(pair) for pair in pairs.samples]  # type: ignore[misc]
    some = np.random.default_rng(0).permutation(ENTRIES)
    subset = torch.utils.data.Subset
    return {
        "list of pairs": pairs,
        "list of lists": rows,
        "and an array": subset(pairs, some),
        "and a list": subset(pairs, some.tolist()),
    }


def looks(data: str, settings: Settings, common: dict[str, Any]) -> Iterator[Row]:
    for name, dataset in entries(data, settings).items():
        one = fastload.DataLoader(dataset, settings.batch_size, backend="native", seek_index="off")
        results = tuple(milliseconds(one._look_again) for _ in range(3 * settings.repetitions))
        shown = {"table": "look", "entries": ENTRIES, "data set": name}
        yield replace(_row(shown, OURS, Sample(results), None, common), unit="ms")


def milliseconds(step: Callable[[], object]) -> float:
    begin = time.perf_counter()
    step()
    return (time.perf_counter() - begin) * 1e3


def stats(data: str, settings: Settings, common: dict[str, Any]) -> Row:
    dataset = ImageFolder(data, transform(settings.size))
    one = fastload.DataLoader(
        dataset,
        settings.batch_size,
        num_workers=settings.workers,
        backend="native",
        seek_index="use",
    )
    sample = Sample(tuple(rate(partial(epoch, one), SECONDS) for _ in range(settings.repetitions)))
    live = iter(one)
    next(live)
    counted = Native.__new__(Native)
    counted._batches, counted._meter, counted._last = _Ready(live._batches), Meter(), 0.0
    counted._progress, counted._plan = live._progress, live._plan
    microseconds = 1e6 * (
        seconds_per(counted._next_data) - seconds_per(partial(next, counted._batches))
    )
    share = 100 * microseconds * sample.median / settings.batch_size / 1e6
    also = {"microseconds_per_batch": microseconds, "percent": share}
    shown = {"table": "stats", "workers": settings.workers, "batch_size": settings.batch_size}
    return _row(shown, OURS, sample, None, common, also)


def seconds_per(step: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS):
        step()
    return (time.perf_counter() - begin) / CALLS


def _row(
    settings: dict[str, Any],
    variant: str,
    sample: Sample,
    reference: Sample | None,
    common: dict[str, Any],
    also: dict[str, float] | None = None,
) -> Row:
    return Row(
        benchmark="dropin", variant=variant, settings=settings,
        reference=None if reference is None else TORCH, also=also or {},
        page_cache="warm", **measured(sample, reference), **common,
    )  # fmt: skip
