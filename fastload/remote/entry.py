"""One data set in the cache: its files, with holes where nothing is yet, and which cells are there.

    cells    a header, then a byte for each cell: ABSENT, THERE or UNPROVED
    groups   a header, then a RECORD for each group: when it was last let go, and where it lies
    about    JSON: the URL, and the names and sizes of the files
    the data set's files, sparse, of their full size; objects of any name in a folder `objects`

A cell is marked once its bytes are written and their checksums were right. So a process that is
killed at any moment leaves marks that are true. After a restart of the machine nobody knows what
has reached the disk: cells are checked again before they are used.

Locks say what is going on, and end with their process: on a cell, somebody writes it; shared on a
group, somebody reads it or will; on byte 0 of `groups`, somebody has the data set open.
"""

import mmap
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import CacheError
from fastload.files import seals
from fastload.remote.layout import RECORD, SEALED, Layout, Span
from fastload.remote.locks import Locks
from fastload.spec import Longs

ABSENT, THERE, UNPROVED = 0, 1, 2
HEADER = 64  # bytes
MAGIC = b"FLCACHE1"
STAMP = 8  # bytes
EACH = RECORD.itemsize
CELLS, GROUPS, ABOUT = "cells", "groups", "about"
PATIENCE = 0.002  # s between two tries for a lock that others hold for a moment


def boot() -> bytes:
    """What differs after each start of the machine."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(36).ljust(36)
    except OSError:
        return b"unknown".ljust(36)


def header() -> bytes:
    return (MAGIC + boot()).ljust(HEADER, b"\0")


def place(group: int) -> int:
    """Where a group's record begins, which is also the number of its lock."""
    return HEADER + EACH * group


class Entry:
    """An open entry; thread-safe. Its descriptors and locks are this process's own, and end with
    the last reference to it.
    """

    def __init__(self, folder: str, layout: Layout) -> None:
        """Raises OSError where it is not there, and CacheError where it is of another shape."""
        self.folder, self.layout, self.process = folder, layout, os.getpid()
        self._lock = threading.Lock()
        self.leased: Counter[int] = Counter()  # by group
        self._released: deque[tuple[int, ...]] = deque()  # to be counted by who has the lock
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        self._cells = Locks(os.open(os.path.join(folder, CELLS), flags))
        self._groups = Locks(os.open(os.path.join(folder, GROUPS), flags))
        self._begin()
        self._map = mmap.mmap(self._cells.descriptor, HEADER + layout.cells, prot=mmap.PROT_READ)
        self.marks: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8, offset=HEADER)

    def _begin(self) -> None:
        sizes = (
            (self._cells, HEADER + self.layout.cells),
            (self._groups, HEADER + EACH * self.layout.groups),
        )
        for file, size in sizes:
            if os.fstat(file.descriptor).st_size != size:
                raise CacheError(f"{self.folder}: is damaged; remove the folder")
        # Alone here: nobody else has it open, so nobody relies on the marks
        if self._groups.take(0):
            if os.pread(self._cells.descriptor, HEADER, 0) != header():
                self._doubt()
            self._groups.drop(0)
        self._groups.wait(0, shared=True)

    def _doubt(self) -> None:
        """The machine was restarted since."""
        marks = bytearray(os.pread(self._cells.descriptor, self.layout.cells, HEADER))
        doubted = marks.replace(bytes([THERE]), bytes([UNPROVED]))
        write_at(self._cells.descriptor, bytes(doubted), HEADER)
        write_at(self._cells.descriptor, header(), 0)

    @property
    def gone(self) -> bool:
        """Whether somebody has removed it, or put another in its place."""
        try:
            there = os.stat(os.path.join(self.folder, CELLS), follow_symlinks=False)
        except OSError:
            return True
        mine = os.fstat(self._cells.descriptor)
        return (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino)

    def path(self, file: int) -> str:
        return os.path.join(self.folder, self.layout.paths[file])

    def missing(self, cells: Longs) -> Longs:
        """Those that are not there, or not proved."""
        absent: Longs = cells[self.marks[cells] != THERE]
        return absent

    def missing_in(self, group: int) -> list[tuple[int, int]]:
        """Stretches of cells of a group that are not there."""
        stretches = []
        for first, last in self.layout.members(group):
            absent = self.marks[first:last] != THERE
            edges = np.flatnonzero(np.diff(absent, prepend=False, append=False))
            stretches += [(first + a, first + b) for a, b in edges.reshape(-1, 2).tolist()]
        return stretches

    def lease(self, groups: Iterable[int]) -> None:
        """Nobody drops these groups until `release`, as often as they were leased."""
        with self._lock:
            for group in groups:
                self.leased[group] += 1
                if self.leased[group] == 1:
                    # Somebody may just drop it
                    while not self._groups.share(place(group)):
                        time.sleep(PATIENCE)
        self._count_released()

    def release(self, groups: Iterable[int]) -> None:
        """Never waits: a finalizer calls it too, even in the middle of `lease` in this thread."""
        self._released.append(tuple(groups))
        self._count_released()

    def _count_released(self) -> None:
        # Who has the lock comes here after it, so nothing is left
        while self._released and self._lock.acquire(blocking=False):
            try:
                while self._released:
                    self._let_go(self._released.popleft())
            finally:
                self._lock.release()

    def _let_go(self, groups: tuple[int, ...]) -> None:
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)  # no clock that people set
        for group in groups:
            self.leased[group] -= 1
            if self.leased[group] <= 0:
                del self.leased[group]
                at = place(group)
                os.pwrite(self._groups.descriptor, now.to_bytes(STAMP, "little"), at)
                self._groups.drop(at)

    def begin_writing(self, first: int, last: int) -> bool:
        """Whether nobody else writes any of these cells; then nobody does, until `end_writing`."""
        return self._cells.take(HEADER + first, last - first)

    def end_writing(self, first: int, last: int) -> None:
        self._cells.drop(HEADER + first, last - first)

    def put(self, first: int, last: int, data: memoryview) -> str:
        """Check the bytes of cells, write and mark them; what is wrong with them, or nothing.

        Raises OSError, as of a full disk.
        """
        span = self.layout.span(first, last)
        if wrong := self._wrong(first, last, span, data):
            return wrong
        file = os.open(self.path(span.file), os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            write_at(file, data, span.begin)
        finally:
            os.close(file)
        self.mark(first, last, THERE)
        return ""

    def prove(self, first: int, last: int) -> bool:
        """Whether cells that were there before a restart are whole; they are marked as they are.

        Only of cells whose checksums are known.
        """
        span = self.layout.span(first, last)
        file = os.open(self.path(span.file), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            data = memoryview(os.pread(file, span.size, span.begin))
        finally:
            os.close(file)
        good = (
            len(data) == span.size
            and bool(self.layout.checks(first, last))
            and not self._wrong(first, last, span, data)
        )
        self.mark(first, last, THERE if good else ABSENT)
        return good

    def mark(self, first: int, last: int, state: int) -> None:
        write_at(self._cells.descriptor, bytes([state]) * (last - first), HEADER + first)

    def _wrong(self, first: int, last: int, span: Span, data: memoryview) -> str:
        for check in self.layout.checks(first, last):
            part, want = data[check.begin - span.begin : check.end - span.begin], check.xxh3
            where = f"bytes {check.begin} to {check.end}"
            if want == SEALED:
                if not seals.intact(part):
                    return f"{where} have another checksum than they say"
            elif (got := _native.xxh3(part)) != want:
                return f"{where} have checksum {got:016x}, want {want:016x}"
        return ""


def write_at(file: int, data: bytes | memoryview, at: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(file, view, at)
        view, at = view[count:], at + count
