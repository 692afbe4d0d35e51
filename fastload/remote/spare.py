"""Giving the disk back what the cache can spare: groups that nobody has leased, of any data set.

What nobody has open goes first, the longest unused before the others. Of data sets in use, the
group that was let go last goes first: an epoch that has taken it will not ask for it again, and the
others of that epoch are still to come.
"""

import ctypes
import errno
import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.remote.entry import ABOUT, ABSENT, CELLS, GROUPS, HEADER, place, write_at
from fastload.remote.layout import RECORD
from fastload.remote.locks import Locks

KEEP_SIZE, PUNCH_HOLE = 1, 2  # of fallocate(2)
NO_HOLES = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Spare:
    """An entry of the cache that groups are dropped from, whether it is in use or not.

    Its descriptors are its own, so its locks collide with those of this process's `Entry` too.
    """

    def __init__(self, folder: str) -> None:
        """Raises OSError and ValueError where it is none."""
        self.folder = folder
        self.groups = Locks(os.open(os.path.join(folder, GROUPS), FLAGS))
        try:
            self.cells = os.open(os.path.join(folder, CELLS), FLAGS)
            with open(os.path.join(folder, ABOUT), "rb") as file:
                self.names: list[str] = json.load(file)["names"]
        except (OSError, ValueError, KeyError):
            self.close()
            raise

    def close(self) -> None:
        self.groups.close()
        if hasattr(self, "cells"):
            os.close(self.cells)

    def idle(self) -> bool:
        """Whether no process has it open; then none can open it, until this is closed."""
        return self.groups.take(0)

    def used_at(self) -> int:
        """When anything of it was let go or made last, ns; only orders entries that are idle."""
        return os.fstat(self.groups.descriptor).st_mtime_ns

    def present(self) -> tuple[list[int], NDArray[Any]]:
        """Groups of which anything may be on the disk, and RECORD of all."""
        records = np.frombuffer(_all(self.groups.descriptor), RECORD)
        marks = np.frombuffer(_all(self.cells), np.uint8)
        sums = np.concatenate([[0], np.cumsum(marks != ABSENT)])
        there = (sums[records["last"]] - sums[records["first"]]).sum(1) > 0
        groups = np.flatnonzero(there)
        order = np.argsort(records["stamp"][groups], kind="stable")[::-1]
        return groups[order].tolist(), records

    def drop(self, group: int, record: Any) -> int:
        """Drop a group that nobody has leased; how many bytes the disk got back."""
        if not self.groups.take(place(group)):
            return 0
        try:
            return sum(self._part(record, part) for part in (0, 1))
        finally:
            self.groups.drop(place(group))

    def _part(self, record: Any, part: int) -> int:
        file, first, last, begin, end = (
            int(record[name][part]) for name in ("file", "first", "last", "begin", "end")
        )
        if last <= first:
            return 0
        write_at(self.cells, bytes([ABSENT]) * (last - first), HEADER + first)
        try:
            data = os.open(os.path.join(self.folder, self.names[file]), FLAGS)
        except OSError:  # somebody has removed it
            return 0
        try:
            before = os.fstat(data).st_blocks
            _punch(data, begin, end - begin)
            return 512 * (before - os.fstat(data).st_blocks)
        finally:
            os.close(data)

    def remove(self) -> None:
        """An idle entry with all that the cache wrote there; what else lies there stays."""
        for name in (*self.names, CELLS, ABOUT, GROUPS):
            _removed(os.path.join(self.folder, name))
        for below in sorted({os.path.dirname(name) for name in self.names} - {""}, reverse=True):
            while below:
                _emptied(os.path.join(self.folder, below))
                below = os.path.dirname(below)
        _emptied(self.folder)


def _all(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size - HEADER, HEADER)


def _removed(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _emptied(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return


def _punch(file: int, begin: int, size: int) -> None:
    """Give the disk these bytes back, where its file system has holes. Raises OSError."""
    call = ctypes.CDLL(None, use_errno=True).fallocate
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if size and call(file, KEEP_SIZE | PUNCH_HOLE, begin, size):
        code = ctypes.get_errno()
        if code not in NO_HOLES:
            raise OSError(code, os.strerror(code))
