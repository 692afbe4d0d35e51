"""Data sets, samplers and iterators that have a state of their own, and how worker processes tell theirs.

A state of one's own is torchdata's protocol: `state_dict()` and `load_state_dict()`. PyTorch's worker hands over batches only, so a
data set and a collate_fn around the user's put the state beside the batch. The first thing that a worker is asked for in an epoch, and
the last thing of an iterable data set, are states without a batch.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch.utils.data
from torch.utils.data._utils.pin_memory import pin_memory

METHODS = ("state_dict", "load_state_dict")


def has_state(thing: Any) -> bool:
    """Whether its class has both methods; an object that answers every name is not asked."""
    return all(callable(getattr(type(thing), name, None)) for name in METHODS)


def taken(thing: Any) -> Any:
    """Its state as it is now, which what it does next leaves alone; None if it has none."""
    return copy.deepcopy(thing.state_dict()) if has_state(thing) else None


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal, tensors and arrays in them too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "shape"):
        return bool(one.shape == other.shape and (one == other).all())
    return bool(one == other)


@dataclass
class Record:
    """What is known of one worker."""

    dataset: Any = None  # the data set's state
    iterator: Any = None  # of an iterable data set's iterator, or of a data set that is its own
    ended: bool = False  # whether an iterable data set has given all
    batches: int = 0  # of this worker's batches in its epoch, how many are in the states
    given: int = 0  # how many were handed out: it makes the others again, and drops them

    @property
    def known(self) -> bool:
        return self.dataset is not None or self.iterator is not None


class Asked(NamedTuple):
    """What goes to a worker in place of a batch's indices."""

    index: Any  # None: only the state is asked for
    number: int  # of the batch in its epoch
    state: bool  # whether to send the state
    passed: tuple[Any, ...] = ()  # the indices of batches to make and drop first


class Sent:
    """What a worker hands over."""

    def __init__(self, worker: int, number: int, data: Any, record: Record | None, *, batch: bool) -> None:
        self.worker, self.number, self.data, self.record, self.batch = worker, number, data, record, batch

    def pin_memory(self) -> "Sent":
        self.data = pin_memory(self.data)  # type: ignore[no-untyped-call]
        return self


class _Fetched(NamedTuple):
    """On its way from the data set to the collate_fn."""

    data: Any
    asked: Asked


class Items(torch.utils.data.Dataset[Any]):
    """A map-style data set whose state goes with its batches. inside: what gives the samples; owner: what has the state."""

    def __init__(self, inside: Any, owner: Any, records: list[Record], collate: Callable[[Any], Any]) -> None:
        self.inside, self.owner, self.records, self.collate = inside, owner, records, collate
        self.loaded = False

    def __getitems__(self, asked: Asked) -> _Fetched:
        return _Fetched(self._ask(asked, self._several), asked)

    def __getitem__(self, asked: Asked) -> _Fetched:
        return _Fetched(self._ask(asked, lambda index: self.inside[index]), asked)

    def _ask(self, asked: Asked, fetch: Callable[[Any], Any]) -> Any:
        if not self.loaded:
            self.loaded = True
            record = self.records[_worker()]
            if record.dataset is not None:
                self.owner.load_state_dict(record.dataset)
        for index in asked.passed:
            with suppress(Exception):  # it was raised the first time
                self.collate(fetch(index))
        return None if asked.index is None else fetch(asked.index)

    def _several(self, index: Any) -> Any:
        """As PyTorch's fetcher."""
        if getattr(self.inside, "__getitems__", None):
            return self.inside.__getitems__(index)
        return [self.inside[each] for each in index]

    def finish(self, fetched: _Fetched) -> Sent:
        """In place of the collate_fn."""
        asked = fetched.asked
        batch = asked.index is not None
        data = self.collate(fetched.data) if batch else None
        record = Record(taken(self.owner)) if asked.state else None
        return Sent(_worker(), asked.number, data, record, batch=batch)


_START, _END = object(), object()  # in a sample's place


class Stream(torch.utils.data.IterableDataset[Any]):
    """An iterable data set whose state goes with its batches.

    size: samples of a batch; None: samples are handed out as they are. every: batches of a worker from state to state; 0: its first and
    its last state. finished: the records are those of an epoch's end, and the next one begins.
    """

    def __init__(
        self,
        inside: Any,
        records: list[Record],
        collate: Callable[[Any], Any],
        size: int | None,
        *,
        drop_last: bool,
        every: int,
        finished: bool,
    ) -> None:
        self.inside, self.records, self.collate, self.size = inside, records, collate, size
        self.drop_last, self.every, self.finished = drop_last, every, finished
        self.reader: Reader | None = None

    def __iter__(self) -> "Reader":
        record = self.records[_worker()] if self.reader is None else None
        iterator, _ = opened(self.inside, record, finished=self.finished)
        self.reader = Reader(iterator)
        if record and not self.finished:
            self._pass(self.reader, record)
        return self.reader

    def _pass(self, reader: "Reader", record: Record) -> None:
        """Goes on behind the batches that were handed out after the state."""
        reader.count, reader.told_end = record.given, record.ended
        reader.resumed = record.known or record.given > 0
        for _ in range(record.given - record.batches):
            with suppress(Exception):  # it was raised the first time
                samples = list(_some(reader.inside, self.size or 1))
                if not samples:  # it has less than it had
                    reader.over = True
                    return
                self.collate(samples if self.size else samples[0])

    def finish(self, data: Any) -> Sent:
        """In place of the collate_fn."""
        reader, samples = self.reader, data if self.size else [data]
        assert reader is not None
        if samples[0] is _START:
            reader.told_start = True
            return Sent(_worker(), -1, None, None if reader.resumed else self._record(reader), batch=False)
        real = [sample for sample in samples if sample is not _END]
        reader.told_end = len(real) < len(samples)
        if not real or (reader.told_end and self.drop_last):
            return Sent(_worker(), -1, None, self._record(reader), batch=False)
        made = self.collate(real if self.size else real[0])
        reader.count += 1
        due = reader.told_end or (self.every > 0 and reader.count % self.every == 0)
        return Sent(_worker(), reader.count, made, self._record(reader) if due else None, batch=True)

    def _record(self, reader: "Reader") -> Record:
        own = reader.inside is self.inside
        return Record(None if own else taken(self.inside), taken(reader.inside), reader.over, reader.count)

    def __repr__(self) -> str:
        return repr(self.inside)


class Reader:
    """A worker's iterator over the data set, from START to END, which fill batches of their own."""

    def __init__(self, inside: Iterator[Any]) -> None:
        self.inside, self.count = inside, 0
        self.over = self.told_start = self.told_end = self.resumed = False

    def __iter__(self) -> "Reader":
        return self

    def __next__(self) -> Any:
        if not self.told_start:
            return _START
        if self.told_end:
            raise StopIteration
        if self.over:
            return _END
        try:
            return next(self.inside)
        except StopIteration:
            self.over = True
            return _END


def opened(dataset: Any, record: Record | None, *, finished: bool) -> tuple[Any, bool]:
    """An iterator over an iterable data set that goes on where `record` says, and whether the data set hides that until it is read.

    finished: the record is of an epoch's end, so that the next one begins.
    """
    if record is None:
        return iter(dataset), False
    hidden = False
    if record.dataset is not None and has_state(dataset):
        dataset.load_state_dict(copy.deepcopy(record.dataset))
        hidden = not same(dataset.state_dict(), record.dataset)
    iterator = iter(dataset)
    if record.iterator is None or not has_state(iterator):
        return iterator, hidden
    iterator.load_state_dict(copy.deepcopy(record.iterator))
    return iter(dataset) if finished else iterator, hidden


def _some(iterator: Iterator[Any], most: int) -> Iterator[Any]:
    """Up to `most` of what it gives; asks for no more."""
    for _ in range(most):
        try:
            yield next(iterator)
        except StopIteration:
            return


class Shown:
    """A worker_init_fn: `get_worker_info().dataset` is the user's data set, and then what `init` does."""

    def __init__(self, dataset: Any, init: Callable[[int], Any] | None) -> None:
        self.dataset, self.init = dataset, init

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None:
            info.__dict__["dataset"] = self.dataset  # past its __setattr__
        if self.init is not None:
            self.init(worker)


def _worker() -> int:
    info = torch.utils.data.get_worker_info()
    assert info is not None  # only workers read these
    return int(info.id)
