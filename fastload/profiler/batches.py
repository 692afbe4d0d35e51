"""Batches of any loader as an endless stream, and how many images are in one."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch
import torch.utils.data

from fastload.attach.looking import samples_in
from fastload.errors import UsageError
from fastload.loader.native import Native
from fastload.measure import rate
from fastload.spec import Longs

HANDED = 1000  # batches whose handing over is remembered
HANDING = 0.1  # of the time of a loader's turn, for looking at how it hands over
FEW = 256  # images that get a seek index, where it is only tried


class Feed:
    """The loader's batches without end: one epoch after the other."""

    def __init__(self, loader: Iterable[object]) -> None:
        self.loader = loader
        # Batches that workers in step give at once
        self.round = max(1, int(getattr(loader, "num_workers", 0) or 0))
        self.taken = 0
        self._handed: deque[float] = deque(maxlen=HANDED)
        self._batches: Iterator[object] = iter(loader)
        own = self._batches.depth if isinstance(self._batches, Native) else None
        self.depth: int = depth(loader) if own is None else own

    def take(self) -> object:
        """The next batch. Raises UsageError if an epoch has none."""
        for _ in range(2):  # the second time in the next epoch
            for batch in self._batches:
                self.taken += 1
                return batch
            self._batches = iter(self.loader)
        if self.taken:
            raise UsageError(
                f"profile: the {type(self.loader).__name__} ended after {self.taken} batches and "
                "starts no further epoch "
                "(want one that iter() starts again); give the loader itself, not its iterator"
            )
        raise UsageError(
            "profile: the loader gives no batches (want at least 1 per epoch); check its length "
            "and drop_last"
        )

    def take_round(self, use: Callable[[object], object] = id) -> int:
        """Images of a round of batches, each given to `use`.

        Rates are of whole rounds: a part of a round that comes at once would tilt them.
        """
        images = 0
        for _ in range(self.round):
            batch = self.take()
            images += images_in(batch)
            use(batch)
        return images

    def drain(self) -> None:
        """Drop what was made while nobody took it, so that the next batch has its true cost."""
        for _ in range(self.depth + 1):
            self.take()

    def hand_over(self, each: float, seconds: float) -> None:
        """Take batches that lie ready as a training does that waits for none.

        each: s that one is made in; seconds: how long all of it may take.
        """
        for _ in range(min(self.depth, int(seconds / each)) if each else 0):
            start = time.perf_counter()
            images = images_in(self.take())
            self._handed.append((time.perf_counter() - start) / images)
            time.sleep(each)

    @property
    def handover(self) -> float:
        """Seconds per image that a batch takes from where it lies ready to the training; 0 where
        none was seen, or where it is made there.
        """
        return float(np.median(self._handed)) if self._handed else 0.0


def alone(feed: Feed, seconds: float) -> float:
    """Images/s of a loader that takes turns with others, over `seconds`."""
    feed.drain()
    images = 0

    def take() -> int:
        nonlocal images
        images = feed.take_round()
        return images

    images_per_s = rate(take, seconds)
    each = images / feed.round / images_per_s
    # While it fills up again, the next in turn would lack the cores.
    time.sleep(feed.depth * each)
    feed.hand_over(each, HANDING * seconds)
    return images_per_s


def depth(loader: object) -> int:
    """Batches that the loader may hold ready."""
    return int(getattr(loader, "num_workers", 0) or 0) * int(
        getattr(loader, "prefetch_factor", None) or 2
    )


def images_in(batch: object) -> int:
    """Images in a batch: the length of its first tensor, or of a list of such as are one picture.

    Raises UsageError if there is none.
    """
    tensor = _first_tensor(batch)
    if tensor is None or not tensor.ndim:
        raise UsageError(
            f"profile: a batch is {type(batch).__name__} without a tensor (want tensors, or lists "
            "or dicts of them)"
        )
    return samples_in(batch) or len(tensor)


def _first_tensor(batch: object) -> torch.Tensor | None:
    if isinstance(batch, torch.Tensor):
        return batch
    parts = (
        batch.values()
        if isinstance(batch, Mapping)
        else batch
        if isinstance(batch, (list, tuple))
        else ()
    )
    return next((tensor for part in parts if (tensor := _first_tensor(part)) is not None), None)


class Endless(torch.utils.data.Sampler[int]):
    """Shuffled epochs without an edge, so that a small data set is measured like a large one."""

    def __init__(self, length: int, seed: int = 0) -> None:
        self.length, self.seed = length, seed

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            yield from torch.randperm(self.length, generator=generator).tolist()


def few(length: int) -> Longs:
    """Some of the samples of a data set."""
    picked: Longs = np.random.default_rng(0).permutation(length)[:FEW]
    return picked


class Twice(torch.utils.data.Sampler[int]):
    """Few images: each once in the first epoch, which collects their seek indexes, and then in one
    without an end.
    """

    def __init__(self, few: Longs) -> None:
        self.few, self.epochs = few, 0

    def __iter__(self) -> Iterator[int]:
        self.epochs += 1
        yield from self.few.tolist()
        while self.epochs > 1:
            yield from self.few.tolist()


def begun(loader: "torch.utils.data.DataLoader[object]") -> Feed:
    """The loader's batches; those of a `Twice` after the epoch that collects."""
    if isinstance(loader.sampler, Twice):
        for _ in loader:
            pass
    return Feed(loader)
