"""Memory of batches that worker processes use again: the program's side (`segments` is theirs).

A segment comes back when the last tensor over it is freed. It never does where somebody else may
look at it still: a process that was forked meanwhile, or one that the tensor was sent to.
"""

import itertools
import os
import threading
import weakref
from typing import Any

import numpy as np
import torch
from torch.multiprocessing import reductions
from torch.multiprocessing.reductions import StorageWeakRef

from fastload.system.ledger import RETIRED, Ledger

_tokens = itertools.count()
_receivers: "weakref.WeakValueDictionary[int, Receiver]" = weakref.WeakValueDictionary()


class _Known:
    """A segment."""

    def __init__(self, file: int, size: int) -> None:
        self.file, self.size = file, size
        self.key = reductions.fd_id(file)  # type: ignore[no-untyped-call]
        self.count = 0  # how often it was received
        self.storage: StorageWeakRef | None = None  # over it; None: it has come back
        self.retired = False

    @property
    def expired(self) -> bool:
        """Whether a storage was over it, and is no more."""
        storage: Any = self.storage  # torch declares no types of it
        return storage is not None and bool(storage.expired())


class Receiver:
    """The segments of one iterator's workers.

    Raises OSError, and AttributeError where the system has no files of memory without a name.
    """

    def __init__(self, workers: int) -> None:
        self.token, self.ledger = next(_tokens), Ledger(workers)
        self._known: list[dict[int, _Known]] = [{} for _ in range(workers)]
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._known)
        _receivers[self.token] = self

    def storage(
        self, worker: int, number: int, size: int, count: int, file: int | None, gone: list[int]
    ) -> torch.UntypedStorage:
        """What a worker has put into a segment.

        count: how often it was sent; file: of a segment that is new; gone: numbers of those that
        the worker has given up.
        """
        with self._lock:
            known = self._known[worker]
            for each in gone:
                _forget(known, each)
            if file is not None:
                _forget(known, number)
                known[number] = _Known(file, size)
            segment = known[number]
            segment.count = count
            return _over(segment)

    def retire(self) -> None:
        """What is held now does not come back."""
        with self._lock:
            for segment in itertools.chain(*(known.values() for known in self._known)):
                if segment.storage is not None and not segment.expired:
                    segment.retired = True

    def look(self) -> None:
        """Tell the workers what has come back: before they are asked for another batch."""
        with self._lock:
            for back, known in zip(self.ledger.back, self._known, strict=True):
                for number, segment in known.items():
                    if segment.expired:
                        back[number] = np.uint32(_come_back(segment))


def _come_back(segment: _Known) -> int:
    """What the ledger says of it."""
    # torch makes such an entry of what is sent to other processes, too
    if dict.get(reductions.shared_cache, segment.key) is not segment.storage:
        segment.retired = True
    segment.storage = None
    return segment.count | RETIRED * segment.retired


def _over(segment: _Known) -> torch.UntypedStorage:
    """As PyTorch makes it of a file that it gets from a worker."""
    made: Any = torch.UntypedStorage
    if segment.storage is not None:  # it was sent once more
        storage: torch.UntypedStorage | None = made._new_with_weak_ptr(segment.storage.cdata)
        if storage is not None:
            return storage
    storage = made._new_shared_fd_cpu(segment.file, segment.size)
    assert storage is not None
    segment.storage = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
    reductions.shared_cache[segment.key] = segment.storage
    return storage


def received(
    token: int, worker: int, number: int, size: int, count: int, handle: Any, gone: list[int]
) -> torch.UntypedStorage:
    """In place of torch's function that makes a storage of what came from a worker."""
    file = None if handle is None else handle.detach()
    receiver = _receivers.get(token)
    if receiver is None:
        if file is not None:
            os.close(file)
        raise RuntimeError("the iterator of this batch is gone")
    return receiver.storage(worker, number, size, count, file, gone)


def _forget(known: dict[int, _Known], number: int) -> None:
    if number in known:
        os.close(known.pop(number).file)


def _close(known: list[dict[int, _Known]]) -> None:
    for segments in known:
        for number in list(segments):
            _forget(segments, number)


def _before_fork() -> None:
    for receiver in list(_receivers.values()):
        receiver.retire()


def _in_child() -> None:
    """It receives nothing, and keeps no memory alive that the program gives up."""
    for receiver in list(_receivers.values()):
        _close(receiver._known)
    _receivers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
