"""What is known, at each step of an epoch, of a data set that has a state of its own.

A worker's state may be some batches old (`snapshot_every_n_steps`): how many it has handed out
since is counted, and a resumed worker makes those again and drops them.
"""

import copy
from collections.abc import Iterable
from typing import Protocol

import torch.utils.data
from torch.utils.data import IterDataPipe, MapDataPipe

from fastload.order.loaders import OrderedLoader
from fastload.state.loaders import FollowedLoader
from fastload.state.stateful import Record, State, has_state, same, taken
from fastload.state.workers import Reply

KEYS = (
    "_snapshot",
    "_steps_since_snapshot",
    "_iterator_finished",
    "ahead",
    "dataset_state",
    "fetcher_state",
)


def is_stream(loader: OrderedLoader) -> bool:
    return isinstance(loader.dataset, torch.utils.data.IterableDataset)


def follows(loader: FollowedLoader) -> bool:
    """Whether more must be known of a loader on PyTorch's own engine than how many batches were
    handed out.
    """
    if loader._source is not None or isinstance(loader.dataset, (IterDataPipe, MapDataPipe)):
        return False
    out_of_order = loader.num_workers > 0 and not getattr(loader, "in_order", True)
    return is_stream(loader) or has_state(loader.dataset) or out_of_order


def before(loader: FollowedLoader) -> State:
    """Of a loader that has begun nothing."""
    if loader.num_workers:
        return {
            "_snapshot": None,
            "_steps_since_snapshot": 0,
            "_iterator_finished": True,
            "ahead": [],
        }
    return {
        "dataset_state": taken(loader.dataset),
        "fetcher_state": None,
        "_iterator_finished": True,
    }


class _Fetcher(Protocol):
    """PyTorch's, of an iterable data set."""

    ended: bool


class Alone:
    """What is known of the data set with num_workers=0: it is asked."""

    def __init__(self, loader: FollowedLoader, state: State | None) -> None:
        self.state = state
        # Only an iterable one is asked for more than its state.
        self.dataset: Iterable[object] = loader.dataset  # type: ignore[assignment]
        self.source = is_stream(loader)
        self.finished = state is None or bool(state["_iterator_finished"])
        self.fetcher: _Fetcher | None = None
        self.hidden = False  # whether the data set shows what it was given only once it is read

    def record(self) -> Record | None:
        if self.state is None:
            return None
        fetcher = self.state["fetcher_state"] or {}
        ended = bool(fetcher.get("fetcher_ended")) and not self.finished
        return Record(self.state["dataset_state"], fetcher.get("dataset_iter_state"), ended)

    def restore(self) -> None:
        """Loads what can be before an iterator is opened: all but the position in an iterable data
        set's epoch.
        """
        record = self.record()
        if record is None or (self.source and not self.finished):
            return
        if record.dataset is not None and has_state(self.dataset):
            self.dataset.load_state_dict(copy.deepcopy(record.dataset))
            self.hidden = not self.source and not same(self.dataset.state_dict(), record.dataset)
        if record.iterator is None:
            return
        iterator: object = iter(self.dataset)
        if has_state(iterator):
            iterator.load_state_dict(copy.deepcopy(record.iterator))

    def needed(self, step: int) -> int:
        """From which batch on indices are needed to go on behind `step`."""
        return step

    def told(self, step: int, *, finished: bool) -> State:
        """The state after `step` batches; finished: when the loop has ended."""
        if self.hidden and self.state is not None:
            return self.state
        iterator = getattr(self.fetcher, "dataset_iter", None)
        own = iterator is self.dataset
        fetcher = None
        if self.fetcher is not None and iterator is not None:
            fetcher = {
                "dataset_iter_state": taken(iterator),
                "fetcher_ended": bool(self.fetcher.ended),
            }
        state = None if own else taken(self.dataset)
        return {"dataset_state": state, "fetcher_state": fetcher, "_iterator_finished": finished}


class Keeper:
    """What is known of an epoch's workers."""

    def __init__(self, loader: FollowedLoader, first: int, state: State | None) -> None:
        self.owner = loader.dataset
        self.workers = int(loader.num_workers)
        self.stream = is_stream(loader)
        self.in_order = bool(getattr(loader, "in_order", True))
        snapshot = (state or {}).get("_snapshot")
        self.finished = state is None or bool(state["_iterator_finished"])
        self.kept = has_state(self.owner)
        self.records = _records(snapshot, self.workers)
        if self.finished:
            # Workers that begin an epoch anew know nothing of the last one.
            self.records = [
                Record(each.dataset, each.iterator) if loader.persistent_workers else Record()
                for each in self.records
            ]
        self.base_seed: int | None = None  # of the workers, where it is known before they begin
        self.last = self.workers - 1
        if snapshot is not None and not self.finished:
            self.base_seed = snapshot["_main_snapshot"]["_base_seed"]
            self.last = snapshot["_last_yielded_worker_id"]
        # Batches that were handed out before earlier ones
        self.dropped = set((state or {}).get("ahead", ()))
        self.ahead: set[int] = set(self.dropped)
        self.first = self.front = first - len(self.dropped)  # before it all were handed out
        self.passed: list[list[object]] = [[] for _ in range(self.workers)]
        steps = loader._own.snapshot_every_n_steps or 0
        # A worker tells its state every so many of its batches.
        self.every = 1 if not (self.in_order or self.stream) else -(-steps // self.workers)
        self.waiting = self.workers  # that have not begun
        self.persistent = bool(loader.persistent_workers)

    @property
    def resumed(self) -> bool:
        return not self.finished

    def own(self, worker: int, step: int) -> int:
        """How many of the first `step` batches are this worker's, in order."""
        return len(range(worker, step, self.workers))

    def needed(self, step: int) -> int:
        """From which batch on indices are needed to go on behind `step`."""
        if not self.in_order:
            return self.front
        if not self.kept:
            return step
        behind = [self.records[n].batches * self.workers + n for n in range(self.workers)]
        return min([step, *(number for number in behind if number < step)])

    def due(self, number: int) -> bool:
        """Whether the worker's state goes with this batch."""
        return self.kept and self.every > 0 and (number // self.workers + 1) % self.every == 0

    def pass_over(self, number: int, index: object) -> None:
        """A batch that was handed out, whose indices are drawn again."""
        worker = number % self.workers
        if self.kept and self.in_order and number // self.workers >= self.records[worker].batches:
            self.passed[worker].append(index)

    def take(self, reply: Reply) -> bool:
        """What came from a worker; whether it is a batch."""
        worker, record, old = reply.worker, reply.record, self.records[reply.worker]
        if self.stream:
            handed_out = old.handed_out + reply.batch
        elif self.in_order:
            handed_out = self.own(worker, reply.number + reply.batch)
        else:
            handed_out = old.handed_out + reply.batch
            self._handed(reply)
        if record is not None:
            record.batches = handed_out if record.known else 0
            self.records[worker] = old = record
        old.handed_out = handed_out
        if reply.batch:
            self.last = worker
        elif self.waiting:
            self.waiting -= 1
        return reply.batch

    def _handed(self, reply: Reply) -> None:
        if reply.batch:
            self.ahead.add(reply.number)
        while self.front in self.ahead:
            self.ahead.remove(self.front)
            self.front += 1

    def told(self, step: int, *, finished: bool) -> State:
        """The state after `step` batches; finished: when the loop has ended."""
        last = (step - 1) % self.workers if self.in_order and not self.stream else self.last
        main = {"_num_workers": self.workers, "_base_seed": self.base_seed}
        told = {f"worker_{n}": self._told(n, self.records[n], step) for n in range(self.workers)}
        shot = {
            "_snapshot_step": step,
            "_last_yielded_worker_id": last,
            "_main_snapshot": main,
            "_worker_snapshots": told,
        }
        ahead = [] if finished else sorted(self.ahead)
        return {
            "_snapshot": shot,
            "_steps_since_snapshot": 0,
            "_iterator_finished": finished,
            "ahead": ahead,
        }

    def _told(self, worker: int, record: Record, step: int) -> State:
        handed_out = (
            self.own(worker, step) if self.in_order and not self.stream else record.handed_out
        )
        fetcher = (
            {"dataset_iter_state": record.iterator, "fetcher_ended": record.ended}
            if self.stream
            else None
        )
        states = {"worker_id": worker, "dataset_state": record.dataset, "fetcher_state": fetcher}
        return states | {"batches": record.batches, "given": handed_out}


def _records(snapshot: State | None, workers: int) -> list[Record]:
    if snapshot is None:
        return [Record() for _ in range(workers)]
    records = []
    for worker in range(workers):
        told = snapshot["_worker_snapshots"][f"worker_{worker}"]
        fetcher = told["fetcher_state"] or {}
        states = (
            told["dataset_state"],
            fetcher.get("dataset_iter_state"),
            bool(fetcher.get("fetcher_ended")),
        )
        records.append(Record(*states, told["batches"], told["given"]))
    return records
