"""What `iter(loader)` gives where PyTorch's own engine runs the data set: PyTorch's iterators, with
a meter inside. With seed_samples=True they give the workers seeds beside the indices.
"""

import copy
import functools
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import numpy as np
from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from fastload.attach.looking import samples_in
from fastload.dataset import place_all
from fastload.loader import divided, handing, lazy_images
from fastload.loader.base import BaseLoader
from fastload.loader.lazy_images import LazyWorker
from fastload.loader.native import seed
from fastload.loader.reseeded import Reseeded
from fastload.loader.works import keyed_epoch
from fastload.order import epochs, loaders, samplers
from fastload.order.seeding import Fetcher, Restoring, Seeded, SeededIndices
from fastload.sources.seek_contents import Contents
from fastload.state.following import Followed, Inline
from fastload.state.keeping import Alone, Keeper, follows
from fastload.state.progress import Progress
from fastload.state.reading import Reading
from fastload.system.processes import Workers
from fastload.system.receiving import Receiver


class _Watched(_BaseDataLoaderIter):
    """What `Single` and `Multi` add to PyTorch's iterators."""

    _dataset_fetcher: Fetcher  # of those without workers

    def __init__(self, loader: BaseLoader[object]) -> None:
        self._follow(loader)
        self._lazy = not lazy_images.why_not(wanted=loader._own.lazy_images)
        self._indexes = lazy_images.contents(loader._own.seek_index) if self._lazy else None
        if self._lazy and divided.steps(loader.dataset):
            loader = _divided(loader)
        if self._keys:
            loader = _seeded(loader)
        if self._indexes is not None:
            weakref.finalize(self, self._indexes.close)
        self._receiver: Receiver | None = None  # as long as its workers
        if self._lazy and loader.num_workers:
            self._receiver = handing.receiver(loader)
            loader = _lazy(loader, self._indexes, self._receiver)
        self._meter = loader._meter
        super().__init__(loader)
        if self._keys and not loader.num_workers:
            self._dataset_fetcher = Restoring(self._dataset_fetcher)
        if type(self._collate_fn) is handing.Handed:  # what the workers have is not shown
            self._collate_fn = self._collate_fn.collate_fn
        torchs = next(kind for kind in type(self).__mro__ if kind.__module__.startswith("torch."))
        self._profile_name = f"enumerate(DataLoader)#{torchs.__name__}.__next__"

    def _follow(self, loader: BaseLoader[object]) -> None:
        """The epoch that the loader has opened."""
        self._last = time.perf_counter()
        self._progress: Progress = loader._progress
        self._ordered = epochs.sampler_of(loader)
        self._keys = _Keys(loader) if loader._own.seed_samples else None
        self._reading: Reading | None = None
        self._every = 0 if self._keys else loader._own.snapshot_every_n_steps or 0

    def _reset(self, loader: BaseLoader[object], first_iter: bool = False) -> None:
        if not first_iter:
            self._follow(loader)
        super()._reset(loader, first_iter)

    def _next_index(self) -> object:
        if self._receiver is not None:
            self._receiver.look()
        if self._reading is not None:
            return self._keyed(next(self._reading))
        self._reading = Reading(
            self._index_sampler, self._sampler_iter, self._progress, self._every
        )
        before = epochs.begun(self._ordered)
        with self._progress.replaying():
            for number, index in self._reading.passing(self._first()):
                self._pass_over(number, self._keyed(index))
            index = next(self._reading)  # samplers draw when they are first asked
        if (now := epochs.begun(self._ordered)) != before:
            # Another iterator may have begun an epoch since this one was opened.
            self._progress.order_epoch = now
        return self._keyed(index)

    def _first(self) -> int:
        """How many batches of indices are passed over."""
        return self._progress.first

    def _pass_over(self, number: int, index: object) -> None:
        """A batch that was handed out, whose indices are drawn again."""

    def _keyed(self, index: object) -> object:
        return (
            self._keys.order(index, int(self._base_seed), batch=self._auto_collation)
            if self._keys
            else index
        )

    def _next_data(self) -> object:  # type: ignore[override]  # likewise
        asked, ready = time.perf_counter(), self._ready()
        # The base class's never returns; those of the classes between do.
        fetch: Callable[[], object] = super()._next_data
        try:
            with self._making():
                data = fetch()
        except StopIteration:
            self._progress.done = True
            raise
        except Exception:
            self._progress.step += 1  # torch's iterators go on behind it
            raise
        self._progress.step += 1
        now = time.perf_counter()
        self._meter.count(
            samples_in(data) if self._auto_collation else 1, ready, asked, self._last, now
        )
        self._last = now
        return data

    def _making(self) -> AbstractContextManager[None]:
        """While a batch is made in this process, or waited for."""
        in_workers = self._num_workers > 0
        if not self._lazy or in_workers:
            return nullcontext()
        return lazy_images.opened_lazily(self._indexes)

    def _ready(self) -> int:
        return 0


class Single(_Watched, _SingleProcessDataLoaderIter):
    """num_workers=0."""


class _Counting(_Watched, Workers):
    """What waits in the workers' queue."""

    def _ready(self) -> int:
        try:
            return self._data_queue.qsize() + sum(
                len(info) == 2 for info in self._task_info.values()
            )
        # macOS counts no queue, and a context of the program's may have any other
        except Exception:  # noqa: BLE001
            return 0


class Multi(_Counting, Reseeded):
    """Worker processes."""


class FollowedSingle(_Watched, Inline):
    """num_workers=0, and a data set with a state of its own."""

    def _follow(self, loader: BaseLoader[object]) -> None:
        super()._follow(loader)
        if self._progress.keeper is None:  # `loader` may be a copy that reads orders
            self._progress.keeper = Alone(loader, self._progress.told)

    def _first(self) -> int:
        return 0 if self._dataset_kind else self._progress.first


class FollowedMulti(_Counting, Followed, Reseeded):
    """Worker processes, and a data set with a state of its own."""

    def _follow(self, loader: BaseLoader[object]) -> None:
        super()._follow(loader)
        self._keeper = Keeper(loader, self._progress.first, self._progress.told)
        self._progress.keeper = self._keeper

    def _first(self) -> int:
        keeper = self._keeper
        return 0 if keeper.stream else keeper.first

    def _pass_over(self, number: int, index: object) -> None:
        self._keeper.pass_over(number, index)

    def _next_index(self) -> object:
        return self.ask(super()._next_index)


def opened(loader: BaseLoader[object]) -> _BaseDataLoaderIter:
    """PyTorch's own engine on the epoch that the loader has opened."""
    if follows(loader):
        return FollowedMulti(loader) if loader.num_workers else FollowedSingle(loader)
    return Multi(loader) if loader.num_workers else Single(loader)


class _Keys:
    """The seeds' keys in one epoch: which samples came how often."""

    def __init__(self, loader: BaseLoader[object]) -> None:
        self.seed = functools.partial(seed, loader)
        self.epoch = keyed_epoch(loader, loader._progress)
        self.length = loaders.length(loader.dataset)
        plain = loader.batch_sampler is None or type(loader.batch_sampler) is BatchSampler
        once = plain and samplers.unique(loader.sampler, self.length)
        seen = None if once else np.zeros(self.length, np.int64)
        self.occurrences = epochs.counting(loader, seen, self.length)

    def order(self, index: object, base_seed: int, *, batch: bool) -> object:
        """The indices with their keys; what is no index of the data set is left to it, which raises
        what it always does.
        """
        try:
            indices = list(cast("Iterable[object]", index)) if batch else [index]
            numbers = place_all(indices, self.length)
        except (IndexError, TypeError):
            return index
        seed, occurrences = self.seed(base_seed), self.occurrences(numbers)
        return SeededIndices(indices if batch else index, numbers, occurrences, seed, self.epoch)


def _seeded(loader: BaseLoader[object]) -> BaseLoader[object]:
    """A copy of the loader for PyTorch's iterator to read: the same but for a data set that takes
    orders.
    """
    twin = copy.copy(loader)
    # Past the class's __setattr__, which forbids it in a loader of the user's.
    vars(twin).update({"dataset": Seeded(loader.dataset), "_meter": loader._meter})
    return twin


def _divided(loader: BaseLoader[object]) -> BaseLoader[object]:
    """Likewise: a data set whose transform is divided, and samples that lie in their batch."""
    twin, dataset = copy.copy(loader), divided.Divided(loader.dataset)
    vars(twin).update({"dataset": dataset, "_meter": loader._meter})
    if loader._auto_collation:
        vars(twin)["collate_fn"] = divided.collating(dataset, loader.collate_fn)
    return twin


def _lazy(
    loader: BaseLoader[object], indexes: Contents | None, receiver: Receiver | None
) -> BaseLoader[object]:
    """A copy of the loader for PyTorch's iterator to read: the same but for workers that open
    images lazily, and hand batches over in memory that is used again.
    """
    twin = copy.copy(loader)
    sender = None if receiver is None else handing.sender(loader, receiver)
    worker = LazyWorker(loader.worker_init_fn, indexes, sender)
    vars(twin).update({"worker_init_fn": worker, "_meter": loader._meter})
    if sender is not None:
        vars(twin)["collate_fn"] = handing.Handed(loader.collate_fn)
    return twin
