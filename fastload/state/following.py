"""PyTorch's iterators over data sets that have a state of their own: they keep what is known of it
up, and go on where it says.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch.utils.data
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from fastload.state.keeping import Alone, Keeper
from fastload.state.progress import Progress
from fastload.state.stateful import has_state, opened
from fastload.state.workers import Items, Reply, Request, Shown, Stream
from fastload.system.processes import Workers


class _Source(torch.utils.data.IterableDataset[object]):
    """An iterable data set that is opened where its state says."""

    def __init__(self, dataset: Iterable[object], keeper: Alone, progress: Progress) -> None:
        self.dataset, self.keeper, self.progress = dataset, keeper, progress

    def __iter__(self) -> Iterator[object]:
        with self.progress.outside():
            iterator, self.keeper.hidden = opened(
                self.dataset, self.keeper.record(), finished=False
            )
        self.progress.settle()
        return iterator


class Inline(_SingleProcessDataLoaderIter):
    """PyTorch's iterator without workers, over a data set that is followed."""

    def __init__(self, loader: Any) -> None:
        progress = loader._progress
        keeper: Alone = progress.keeper
        self._keeper, self._drop, twin = keeper, 0, loader
        if keeper.source and not keeper.finished:
            twin = copy.copy(loader)
            twin.__dict__["dataset"] = _Source(keeper.dataset, keeper, progress)
        super().__init__(twin)
        if twin is not loader:
            self._dataset = keeper.dataset  # type: ignore[assignment]  # may be any data set
            record = keeper.record()
            self._dataset_fetcher.ended = record is not None and record.ended
            if not has_state(keeper.dataset) and not has_state(self._dataset_fetcher.dataset_iter):
                self._drop = progress.first
        keeper.fetcher = self._dataset_fetcher

    def _next_data(self) -> Any:
        while self._drop:
            self._drop -= 1
            try:
                super()._next_data()  # type: ignore[no-untyped-call]
            except StopIteration:
                raise
            except Exception:  # noqa: BLE001, S112  it was raised the first time
                continue
        data = super()._next_data()  # type: ignore[no-untyped-call]
        self._keeper.hidden = False
        return data


class Followed(Workers):
    """PyTorch's iterator with workers, over a data set that is followed."""

    def __init__(self, loader: Any) -> None:
        keeper: Keeper = loader._progress.keeper
        super().__init__(_told_of(loader, keeper))
        self._dataset = keeper.owner  # type: ignore[assignment]  # likewise

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._keeper: Keeper = loader._progress.keeper
        self._keeper.base_seed = int(self._base_seed)
        self._asked, self._finals, self._number = 0, 0, self._keeper.first
        self._drawn: Request | None = None
        self._early: deque[Reply] = deque()
        super()._reset(loader, first_iter)
        while self._keeper.kept and self._keeper.waiting:  # their first states
            reply: Reply = super()._next_data()  # type: ignore[no-untyped-call]
            if reply.batch:
                self._early.append(reply)
            else:
                self._keeper.take(reply)

    def _next_data(self) -> Any:
        while True:
            reply = self._next_reply()
            if self._keeper.take(reply):
                return reply.data

    def _next_reply(self) -> Reply:
        if self._early:
            return self._early.popleft()
        reply: Reply = super()._next_data()  # type: ignore[no-untyped-call]
        return reply

    def ask(self, draw: Callable[[], object]) -> object:
        """What the next worker is asked for; draw: gives a batch's indices."""
        keeper, asked = self._keeper, self._asked
        self._asked += 1
        if asked == 0 and not keeper.stream:
            # Samplers pass over what was handed out, and a worker makes some of it again.
            self._drawn = self._draw(draw)
        if asked == keeper.workers:
            snapshot = keeper.told(keeper.first, finished=False)["_snapshot"]
            for _ in range(snapshot["_last_yielded_worker_id"] + 1):
                next(self._worker_queue_idx_cycle)
        if keeper.stream:
            return draw()
        if asked < keeper.workers:
            state = keeper.kept and not (
                keeper.resumed and keeper.records[asked].dataset is not None
            )
            return Request(None, keeper.first, state, tuple(keeper.passed[asked]))
        request = self._drawn if asked == keeper.workers else self._draw(draw)
        if request is not None:
            return request
        self._finals += 1
        if self._finals > keeper.workers or not (
            keeper.kept and keeper.persistent and keeper.every != 1
        ):
            raise StopIteration
        return Request(None, self._number, state=True)

    def _draw(self, draw: Callable[[], object]) -> Request | None:
        try:
            while True:
                index, number = draw(), self._number
                self._number += 1
                if number not in self._keeper.dropped:
                    return Request(index, number, self._keeper.due(number))
        except StopIteration:
            return None


def _told_of(loader: Any, keeper: Keeper) -> Any:
    """A copy of the loader for PyTorch's iterator to read: the same but for a data set and a
    collate_fn that put states beside batches.
    """
    twin = copy.copy(loader)
    told: Items | Stream
    if keeper.stream:
        size = loader.batch_size if loader._auto_collation else None
        told = Stream(
            loader.dataset,
            keeper.records,
            loader.collate_fn,
            size,
            drop_last=loader.drop_last,
            every=keeper.every,
            finished=keeper.finished,
        )
    else:
        told = Items(loader.dataset, keeper.owner, keeper.records, loader.collate_fn)
    changed = {
        "dataset": told,
        "collate_fn": told.finish,
        "worker_init_fn": Shown(keeper.owner, loader.worker_init_fn),
    }
    twin.__dict__.update(changed)  # past the class's __setattr__
    if "_meter" in loader.__dict__:
        twin.__dict__["_meter"] = loader._meter
    return twin
