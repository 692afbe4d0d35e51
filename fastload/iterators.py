"""What `iter(loader)` gives: PyTorch's iterator classes, so that programs find the attributes they know, with a meter inside.

`Native` hands out fastload's batches. `Single` and `Multi` are PyTorch's own iterators: they only count, and with seed_samples=True
give the workers orders in place of indices.
"""

import copy
import functools
import time
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter, _SingleProcessDataLoaderIter

from fastload import distributed, orders, room, samplers
from fastload.attach.looking import samples_in
from fastload.dataset import place_all
from fastload.errors import BadSamplesError, FastloadError
from fastload.following import Followed, Inline
from fastload.keeping import Alone, Keeper, follows
from fastload.processes import Workers
from fastload.progress import Progress
from fastload.reading import Reading
from fastload.seeding import Order, Seeded


class Reseeded(_BaseDataLoaderIter):
    """Stands before PyTorch's base class, which draws a seed, in the order of classes: a resumed epoch's may be known."""

    def __init__(self, loader: Any) -> None:
        known = loader._progress.base_seed
        source = torch.default_generator if loader.generator is None else loader.generator
        before = None if known is None else source.get_state()
        super().__init__(loader)
        if before is not None:  # workers had it from an earlier epoch: this one's draws begin behind it
            source.set_state(before)
        if known is None:
            known = getattr(loader._progress.keeper, "base_seed", None)
        if known is not None:
            self._base_seed = known


class Native(Reseeded):
    """One epoch (with persistent_workers one after the other) that fastload's engines run.

    Opened with the sampler's iterator and the seed that PyTorch's class has drawn, in its order.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._in_order, self._prefetch_factor = True, loader.prefetch_factor
        self._workers: list[Any] = []  # processes; there are none
        self._shutdown = False
        self._open(loader)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._batches.close()
        super()._reset(loader, first_iter)
        self._open(loader)

    def _open(self, loader: Any) -> None:
        self._meter, self._progress, self._last = loader._meter, loader._progress, time.perf_counter()
        self._split = distributed.split(loader)[0] > 1
        room.check("an epoch")
        with room.Told():
            self._batches = loader._batches(self._sampler_iter, self._base_seed)
        self._bad = loader._bad

    def _next_data(self) -> Any:
        asked, ready = time.perf_counter(), self._batches.ready
        while not len((batch := self._batch())[1]):  # nothing is left of it
            if self._split:
                raise BadSamplesError("on_error='skip': nothing is left of a batch, and other ranks have theirs; use 'substitute'")
        now = time.perf_counter()
        self._meter.count(len(batch[1]), ready, asked, self._last, now)
        self._last = now
        return batch

    def _batch(self) -> Any:
        try:
            with room.Told():
                batch = next(self._batches)
        except StopIteration:
            self._progress.done = True
            raise
        except (FastloadError, IndexError, TypeError) as error:  # the last two: indices that are none
            self._progress.step += 1
            found = self._bad.failed(self._meter, self._progress, error)
            if found is error:
                raise
            raise found from error.__cause__
        self._progress.step += 1
        return batch

    def _shutdown_workers(self) -> None:
        """Ends what is under way, as frameworks ask PyTorch's iterators to."""
        self._shutdown = True
        self._batches.close()


class _Watched(_BaseDataLoaderIter):
    """What `Single` and `Multi` add to PyTorch's iterators."""

    def __init__(self, loader: Any) -> None:
        self._follow(loader)
        if self._keys:
            loader = _seeded(loader)
        self._meter = loader._meter
        super().__init__(loader)
        torchs = next(kind for kind in type(self).__mro__ if kind.__module__.startswith("torch."))
        self._profile_name = f"enumerate(DataLoader)#{torchs.__name__}.__next__"

    def _follow(self, loader: Any) -> None:
        """The epoch that the loader has opened."""
        self._last = time.perf_counter()
        self._progress: Progress = loader._progress
        self._keys = _Keys(loader) if loader.seed_samples else None
        self._reading: Reading | None = None
        self._every = 0 if self._keys else loader.snapshot_every_n_steps or 0

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if not first_iter:
            self._follow(loader)
        super()._reset(loader, first_iter)

    def _next_index(self) -> Any:
        if self._reading is not None:
            return self._keyed(next(self._reading))
        self._reading = Reading(self._index_sampler, self._sampler_iter, self._progress, self._every)
        with self._progress.replaying():
            for number, index in self._reading.passing(self._first()):
                self._pass_over(number, self._keyed(index))
            return self._keyed(next(self._reading))  # samplers draw when they are first asked

    def _first(self) -> int:
        """How many batches of indices are passed over."""
        return self._progress.first

    def _pass_over(self, number: int, index: Any) -> None:
        """A batch that was handed out, whose indices are drawn again."""

    def _keyed(self, index: Any) -> Any:
        return self._keys.order(index, int(self._base_seed), batch=self._auto_collation) if self._keys else index

    def _next_data(self) -> Any:
        asked, ready = time.perf_counter(), self._ready()
        fetch: Any = super()._next_data  # the base class's never returns, those between do
        try:
            data = fetch()
        except StopIteration:
            self._progress.done = True
            raise
        except Exception:
            self._progress.step += 1  # torch's iterators go on behind it
            raise
        self._progress.step += 1
        now = time.perf_counter()
        self._meter.count(samples_in(data) if self._auto_collation else 1, ready, asked, self._last, now)
        self._last = now
        return data

    def _ready(self) -> int:
        return 0


class Single(_Watched, _SingleProcessDataLoaderIter):
    """num_workers=0."""


class _Counting(_Watched, Workers):
    """What waits in the workers' queue."""

    def _ready(self) -> int:
        try:
            return self._data_queue.qsize() + sum(len(info) == 2 for info in self._task_info.values())
        except Exception:  # noqa: BLE001  macOS counts no queue, and a context of the program's may have any other
            return 0


class Multi(_Counting, Reseeded):
    """Worker processes."""


class FollowedSingle(_Watched, Inline):
    """num_workers=0, and a data set with a state of its own."""

    def _follow(self, loader: Any) -> None:
        super()._follow(loader)
        if self._progress.keeper is None:  # `loader` may be a copy that reads orders
            self._progress.keeper = Alone(loader, self._progress.told)

    def _first(self) -> int:
        return 0 if self._dataset_kind else self._progress.first


class FollowedMulti(_Counting, Followed, Reseeded):
    """Worker processes, and a data set with a state of its own."""

    def _follow(self, loader: Any) -> None:
        super()._follow(loader)
        self._progress.keeper = Keeper(loader, self._progress.first, self._progress.told)

    def _first(self) -> int:
        keeper: Keeper = self._progress.keeper
        return 0 if keeper.stream else keeper.first

    def _pass_over(self, number: int, index: Any) -> None:
        self._progress.keeper.pass_over(number, index)

    def _next_index(self) -> Any:
        return self.ask(super()._next_index)


def opened(loader: Any) -> Any:
    """PyTorch's own engine on the epoch that the loader has opened."""
    if follows(loader):
        return FollowedMulti(loader) if loader.num_workers else FollowedSingle(loader)
    return Multi(loader) if loader.num_workers else Single(loader)


class _Keys:
    """The seeds' keys in one epoch: which samples came how often."""

    def __init__(self, loader: Any) -> None:
        self.seed = functools.partial(orders.seed, loader)
        self.epoch, self.length = loader._progress.epoch, len(loader.dataset)
        plain = loader.batch_sampler is None or type(loader.batch_sampler) is BatchSampler
        once = plain and samplers.unique(loader.sampler, self.length)
        self.seen = None if once else np.zeros(self.length, np.int64)

    def order(self, index: Any, base_seed: int, *, batch: bool) -> Any:
        """The indices with their keys; what is no index of the data set is left to it, which raises what it always does."""
        try:
            indices = list(index) if batch else [index]
            numbers = place_all(indices, self.length)
        except (IndexError, TypeError):
            return index
        occurrences = samplers.occurrences(numbers, self.seen)
        return Order(indices if batch else index, numbers, occurrences, self.seed(base_seed), self.epoch)


def _seeded(loader: Any) -> Any:
    """A copy of the loader for PyTorch's iterator to read: the same but for a data set that takes orders."""
    twin = copy.copy(loader)
    twin.__dict__["dataset"] = Seeded(loader.dataset)  # past the class's __setattr__, which forbids it in a loader of the user's
    twin.__dict__["_meter"] = loader._meter
    return twin
