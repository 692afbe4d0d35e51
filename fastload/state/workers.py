"""How worker processes tell their states.

PyTorch's worker hands over batches only, so a data set and a collate_fn around the user's put the
state beside the batch. The first reply of a worker in an epoch, and the last one of an iterable
data set, are states without a batch.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

import torch.utils.data
from torch.utils.data._utils.pin_memory import pin_memory

from fastload.order.seeding import Indexed
from fastload.state.stateful import Record, has_state, opened, taken

Collate: TypeAlias = Callable[[Any], object]


class Request(NamedTuple):
    """What goes to a worker in place of a batch's indices."""

    indices: object  # None: only the state is asked for
    number: int  # of the batch in its epoch
    state: bool  # whether to send the state
    passed: tuple[object, ...] = ()  # the indices of batches to make and drop first


class Reply:
    """What a worker hands over."""

    def __init__(
        self, worker: int, number: int, data: object, record: Record | None, *, batch: bool
    ) -> None:
        self.worker = worker
        self.number = number
        self.data = data
        self.record = record
        self.batch = batch

    def pin_memory(self) -> "Reply":
        self.data = pin_memory(self.data)  # type: ignore[no-untyped-call]
        return self


class _Fetched(NamedTuple):
    """On its way from the data set to the collate_fn."""

    data: object
    request: Request


class Items(torch.utils.data.Dataset[object]):
    """A map-style data set whose state goes with its batches.

    inside: what gives the samples; owner: what has the state.
    """

    def __init__(
        self, inside: Indexed, owner: object, records: list[Record], collate: Collate
    ) -> None:
        self.inside, self.owner, self.records, self.collate = inside, owner, records, collate
        self.loaded = False

    def __getitems__(self, request: Request) -> _Fetched:
        return _Fetched(self._ask(request, self._several), request)

    def __getitem__(self, request: Request) -> _Fetched:
        return _Fetched(self._ask(request, lambda index: self.inside[index]), request)

    def _ask(self, request: Request, fetch: Callable[[object], object]) -> object:
        if not self.loaded:
            self.loaded = True
            record = self.records[_worker()]
            if record.dataset is not None and has_state(self.owner):
                self.owner.load_state_dict(record.dataset)
        for index in request.passed:
            with suppress(Exception):  # it was raised the first time
                self.collate(fetch(index))
        return None if request.indices is None else fetch(request.indices)

    def _several(self, index: Any) -> object:
        """As PyTorch's fetcher."""
        if several := getattr(self.inside, "__getitems__", None):
            samples: object = several(index)
            return samples
        return [self.inside[each] for each in index]

    def finish(self, fetched: _Fetched) -> Reply:
        """In place of the collate_fn."""
        request = fetched.request
        batch = request.indices is not None
        data = self.collate(fetched.data) if batch else None
        record = Record(taken(self.owner)) if request.state else None
        return Reply(_worker(), request.number, data, record, batch=batch)


_START, _END = object(), object()  # in a sample's place


class Stream(torch.utils.data.IterableDataset[object]):
    """An iterable data set whose state goes with its batches.

    size: samples of a batch; None: samples are handed out as they are.
    every: batches of a worker from one state to the next; 0: only its first and its last state.
    finished: the records are those of an epoch's end, and the next one begins.
    """

    def __init__(
        self,
        inside: Iterable[object],
        records: list[Record],
        collate: Collate,
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
        reader.count, reader.told_end = record.handed_out, record.ended
        reader.resumed = record.known or record.handed_out > 0
        for _ in range(record.handed_out - record.batches):
            with suppress(Exception):  # it was raised the first time
                samples = list(_some(reader.inside, self.size or 1))
                if not samples:  # it has less than it had
                    reader.over = True
                    return
                self.collate(samples if self.size else samples[0])

    def finish(self, data: list[object]) -> Reply:
        """In place of the collate_fn."""
        reader, samples = self.reader, data if self.size else [data]
        assert reader is not None
        if samples[0] is _START:
            reader.told_start = True
            return Reply(
                _worker(), -1, None, None if reader.resumed else self._record(reader), batch=False
            )
        real = [sample for sample in samples if sample is not _END]
        reader.told_end = len(real) < len(samples)
        if not real or (reader.told_end and self.drop_last):
            return Reply(_worker(), -1, None, self._record(reader), batch=False)
        batch = self.collate(real if self.size else real[0])
        reader.count += 1
        due = reader.told_end or (self.every > 0 and reader.count % self.every == 0)
        return Reply(
            _worker(), reader.count, batch, self._record(reader) if due else None, batch=True
        )

    def _record(self, reader: "Reader") -> Record:
        own = reader.inside is self.inside
        return Record(
            None if own else taken(self.inside), taken(reader.inside), reader.over, reader.count
        )

    def __repr__(self) -> str:
        return repr(self.inside)


class Reader:
    """A worker's iterator over the data set, from START to END, which fill batches of their own."""

    def __init__(self, inside: Iterator[object]) -> None:
        self.inside, self.count = inside, 0
        self.over = self.told_start = self.told_end = self.resumed = False

    def __iter__(self) -> "Reader":
        return self

    def __next__(self) -> object:
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


def _some(iterator: Iterator[object], most: int) -> Iterator[object]:
    """Up to `most` of what it gives; asks for no more."""
    for _ in range(most):
        try:
            yield next(iterator)
        except StopIteration:
            return


class Shown:
    """A worker_init_fn:

    `get_worker_info().dataset` is the user's data set, and then what `init` does.
    """

    def __init__(self, dataset: object, init: Callable[[int], object] | None) -> None:
        self.dataset, self.init = dataset, init

    def __call__(self, worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        if info is not None:
            # Past its own __setattr__; since torch 2.13 it has slots, and no __dict__.
            object.__setattr__(info, "dataset", self.dataset)
        if self.init is not None:
            self.init(worker)


def _worker() -> int:
    info = torch.utils.data.get_worker_info()
    assert info is not None  # only workers read these
    return int(info.id)
