"""Locks on ranges of bytes of a file, which end with the process that has them, however it ends.

They are locks of an open file description (fcntl(2), F_OFD_SETLK): unlike older ones, closing
another descriptor of the same file does not drop them. Two ranges of one `Locks` never collide, so
threads of a process agree among themselves.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Callable

FLOCK = struct.Struct("hhxxxxqqixxxx")  # type, whence, start, length, pid; of 64-bit Linux
TAKEN = (errno.EAGAIN, errno.EACCES)


class Locks:
    """Locks on one open file. Only their numbers count: there need not be such bytes."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    # `os` may be gone when the program ends
    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if self.descriptor >= 0:
            close(self.descriptor)

    def close(self) -> None:
        """Drops all of them. Without it they end with the last reference: a thread that still uses
        them never finds another file under their number.
        """
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def share(self, first: int, count: int = 1) -> bool:
        """Whether nobody has any of these alone; then nobody can, until `drop`."""
        return self._set(fcntl.F_RDLCK, first, count)

    def take(self, first: int, count: int = 1) -> bool:
        """Whether nobody else has any of these; then nobody can, until `drop`."""
        return self._set(fcntl.F_WRLCK, first, count)

    def drop(self, first: int, count: int = 1) -> None:
        self._set(fcntl.F_UNLCK, first, count)

    def wait(self, first: int, *, shared: bool = False) -> None:
        """`take` or `share` one, however long others have it."""
        kind = fcntl.F_RDLCK if shared else fcntl.F_WRLCK
        fcntl.fcntl(self.descriptor, fcntl.F_OFD_SETLKW, FLOCK.pack(kind, os.SEEK_SET, first, 1, 0))

    def _set(self, kind: int, first: int, count: int) -> bool:
        try:
            fcntl.fcntl(
                self.descriptor, fcntl.F_OFD_SETLK, FLOCK.pack(kind, os.SEEK_SET, first, count, 0)
            )
        except OSError as error:
            if error.errno in TAKEN:
                return False
            raise
        return True
