"""Memory of batches that a worker process uses again: its side (`receiving` is the program's).

PyTorch's worker makes a new file of shared memory for each tensor of a batch: the kernel has to
find and clear its pages, both processes map and unmap it, and a thread hands it over. Here a batch
lies in a segment that stays mapped, and whose number goes to the program. When the program's ledger
says that nobody holds the batch any more, the segment is used again.

What is unusual goes PyTorch's own way: sizes that come once, more than there is room for, other
sharing strategies, workers that fork.
"""

import mmap
import os
import threading
import weakref
from collections import OrderedDict, deque
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.multiprocessing import get_sharing_strategy, reductions

from fastload.system.ledger import RETIRED, SLOTS, Ledger, memory_file
from fastload.system.receiving import received

MORE = 3  # batches of a worker beyond those asked for ahead: two that are held, one that is made
MOST = 1 << 30  # bytes of one worker
SIZES = 64  # that are remembered
FLAGS = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)


def by_descriptors() -> bool:
    """Whether memory is shared as PyTorch does it on Linux."""
    return bool(get_sharing_strategy() == "file_descriptor")  # type: ignore[no-untyped-call]


class Sender(NamedTuple):
    """What worker processes need to know."""

    token: int  # of the program's receiver
    ledger: Ledger
    batches: int  # that a worker keeps memory of, at most


class Segment:
    """A piece of shared memory. Raises OSError, ValueError and MemoryError."""

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size, self.used = number, size, 0
        self.file = memory_file(size)
        self._closed = weakref.finalize(self, os.close, self.file)
        self._memory = np.frombuffer(mmap.mmap(self.file, size, FLAGS), np.uint8)
        self.address: int = self._memory.ctypes.data
        self.told = False  # the program has its file
        self._view: weakref.ref[Any] | None = None

    def storage(self) -> torch.UntypedStorage:
        view = self._memory[:]
        self._view = weakref.ref(view)
        return torch.from_numpy(view).untyped_storage()

    @property
    def held(self) -> bool:
        """Whether there is a tensor over it in this process."""
        return self._view is not None and self._view() is not None


class Segments:
    """Those of this worker."""

    def __init__(self, sender: Sender, worker: int) -> None:
        self.token, self.worker, self.batches = sender.token, worker, sender.batches
        self.back = sender.ledger.back[worker]
        self.thread = 0  # that hands batches over
        self.off = False
        self._sent = [0] * SLOTS  # how often
        self._all: dict[int, Segment] = {}
        self._at: dict[int, Segment] = {}
        self._gone: deque[int] = deque()
        self._sizes: OrderedDict[int, None] = OrderedDict()
        self._clock = self._wanted = self._most = 0  # bytes of this batch, and of the largest one

    def over(self) -> None:
        """A batch is made."""
        self._most, self._wanted = max(self._most, self._wanted), 0

    def storage(self, size: int) -> torch.UntypedStorage | None:
        """Memory of so many bytes; None: take PyTorch's."""
        if self.off or not 0 < size <= MOST or not by_descriptors():
            return None
        self._wanted += size
        self._clock += 1
        segment = self._idle(size) or self._new(size)
        if segment is None:
            return None
        segment.used = self._clock
        return segment.storage()

    def moved(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor that nobody else has, in shared memory, where PyTorch would move it later."""
        size = tensor.numel() * tensor.element_size()
        plain = tensor.layout == torch.strided and tensor.is_contiguous()
        if not plain or tensor.device.type != "cpu" or tensor.requires_grad:
            return tensor
        if tensor.is_shared():  # type: ignore[no-untyped-call]
            return tensor
        if tensor.untyped_storage().nbytes() != size or tensor.data_ptr() in self._at:
            return tensor
        storage = self.storage(size)
        if storage is None:
            return tensor
        out = torch.empty(0, dtype=tensor.dtype, device="cpu")
        return out.set_(storage, 0, tensor.size(), tensor.stride()).copy_(tensor)

    def sent(self, storage: torch.UntypedStorage) -> tuple[Any, ...] | None:
        """How a storage goes to the program, for pickle; None: as PyTorch sends it."""
        if threading.get_ident() != self.thread or storage.device.type != "cpu":
            return None
        segment = self._at.get(storage.data_ptr())
        if segment is None or segment.size != storage.nbytes():
            return None
        number = segment.number
        self._sent[number] = (self._sent[number] + 1) % RETIRED
        handle = None if segment.told else DupFd(segment.file)
        segment.told, gone = True, []
        while self._gone:
            gone.append(self._gone.popleft())
        known = self.token, self.worker, number, segment.size
        return received, (*known, self._sent[number], handle, gone)

    def _idle(self, size: int | None, other: int = 0) -> Segment | None:
        """The one that was used longest ago, of a size, or of any but another one."""
        found = None
        for segment in list(self._all.values()):
            wanted = segment.size == size if size else segment.size != other
            if not wanted or segment.held:
                continue
            back, sent = int(self.back[segment.number]), self._sent[segment.number]
            if back == sent | RETIRED:
                self._drop(segment)
            elif back == sent and (found is None or segment.used < found.used):
                found = segment
        return found

    def _new(self, size: int) -> Segment | None:
        known = size in self._sizes
        self._sizes[size] = None
        self._sizes.move_to_end(size)
        if len(self._sizes) > SIZES:
            self._sizes.popitem(last=False)
        if not known or not self._has_room(size):
            return None
        number = next(number for number in range(SLOTS) if number not in self._all)
        try:
            segment = Segment(number, size)
        except (OSError, ValueError, MemoryError, AttributeError):
            self.off = True
            return None
        self._all[number] = self._at[segment.address] = segment
        return segment

    def _has_room(self, size: int) -> bool:
        """Gives up segments of other sizes for it."""
        room = min(MOST, self.batches * self._most)
        while len(self._all) >= SLOTS or sum(s.size for s in self._all.values()) + size > room:
            least = self._idle(None, other=size)
            if least is None:
                return False
            self._drop(least)
        return True

    def _drop(self, segment: Segment) -> None:
        del self._all[segment.number], self._at[segment.address]
        self._gone.append(segment.number)


class Sent:
    """A batch on its way to the program, which gets what is inside."""

    def __init__(self, data: object) -> None:
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        for segments in _now:
            segments.thread = threading.get_ident()
        return _itself, (self.data,)


def _itself(data: object) -> object:
    return data


_now: list[Segments] = []  # of this process, if it is a worker


def current() -> Segments | None:
    return _now[-1] if _now else None


def begin(segments: Segments) -> None:
    """In a worker process: PyTorch's shared memory is the segments', for good."""
    kind: Any = torch.UntypedStorage
    stock = kind._new_shared
    stock_reduced: Any = reductions.reduce_storage

    def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> torch.UntypedStorage:
        storage = segments.storage(size) if torch.device(device).type == "cpu" else None
        out: torch.UntypedStorage = stock(size, device=device) if storage is None else storage
        return out

    def reduced(storage: torch.UntypedStorage) -> Any:
        return segments.sent(storage) or stock_reduced(storage)

    kind._new_shared = classmethod(new_shared)
    ForkingPickler.register(torch.UntypedStorage, reduced)
    _now.append(segments)


def _before_fork() -> None:
    """A worker's child sees what lies in its segments."""
    for segments in _now:
        segments.off = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
