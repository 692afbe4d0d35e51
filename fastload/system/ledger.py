"""What a program tells its worker processes about the shared memory of batches, and the files that
such memory lies in.

The files have no name, so nothing is left behind by processes that are killed, and no folder can be
full.
"""

import mmap
import os
import weakref
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np

SLOTS = 64  # segments of one worker, at most
RETIRED = 1 << 31  # of an entry: the segment is not to be used again


def memory_file(size: int) -> int:
    """A file of so many bytes of memory, all 0. Raises OSError; AttributeError where the system has
    no such files.
    """
    file = os.memfd_create("fastload", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, size)
    except OSError:
        os.close(file)
        raise
    return file


class Ledger:
    """How often each segment of each worker has come back, uint32 [workers, SLOTS]: the program
    writes it, and the workers read it.
    """

    def __init__(self, workers: int, file: int | None = None) -> None:
        size = workers * SLOTS * np.dtype(np.uint32).itemsize
        self.file = memory_file(size) if file is None else file
        self._closed = weakref.finalize(self, os.close, self.file)
        self.back = np.frombuffer(mmap.mmap(self.file, size), np.uint32).reshape(workers, SLOTS)

    def __reduce__(self) -> tuple[Any, ...]:
        """To a worker that is not forked."""
        return _opened, (len(self.back), DupFd(self.file))


def _opened(workers: int, handle: Any) -> Ledger:
    return Ledger(workers, handle.detach())
