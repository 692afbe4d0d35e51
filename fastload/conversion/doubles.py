"""Which of many rows have an image that an earlier one has: by size and checksum, in memory that
does not grow with the rows.

Rows are divided by a keyed hash into parts that fit into memory. What does not, lies in a nameless
file meanwhile.
"""

import contextlib
import os
import secrets
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from fastload.errors import ConversionError
from fastload.spec import Longs

MOST = 1 << 20  # rows of a part that is looked at, about
CHUNK = 1 << 11  # rows of a part that are written together
IN_MEMORY = 1 << 25  # bytes that are kept without a file
CHECKSUM, SIZE, ROW = range(3)  # columns of what is kept
RECORD = 3 * 8  # bytes of a row


class Doubles:
    """Rows of images, from the first to the last.

    Args:
        rows: How many there are at most.

    Raises ConversionError where the folder for temporary files has no room.
    """

    def __init__(self, rows: int) -> None:
        self.parts = max(1, -(-rows // MOST))
        # Keys that nobody knows, so that no index is made whose rows are all in one part
        self._keys = secrets.randbits(64) | 1, secrets.randbits(64) | 1
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="fastload-")  # noqa: SIM115
        weakref.finalize(self, _close, self._file)
        self._waiting = [list[Longs]() for _ in range(self.parts)]
        self._count = np.zeros(self.parts, np.int64)  # rows that wait
        self._places = [list[int]() for _ in range(self.parts)]  # of chunks in the file
        self._end = 0

    def add(self, rows: Longs, checksums: Longs, sizes: Longs) -> None:
        """Arrays [K]; rows go up, from call to call too. checksums: the bits of uint64."""
        if not len(rows):
            return
        records = np.stack([checksums, sizes, rows], axis=1)
        part = self._part(checksums.view(np.uint64), sizes.view(np.uint64))
        order = np.argsort(part, kind="stable")
        found, begins = np.unique(part[order], return_index=True)
        for number, some in zip(found.tolist(), np.split(records[order], begins[1:]), strict=True):
            self._waiting[number].append(some)
            self._count[number] += len(some)
            if self._count[number] >= CHUNK:
                self._write(number)

    def _part(self, checksums: NDArray[np.uint64], sizes: NDArray[np.uint64]) -> Longs:
        one, other = map(np.uint64, self._keys)
        high = ((checksums + sizes * one) * other) >> np.uint64(32)
        part: Longs = ((high * np.uint64(self.parts)) >> np.uint64(32)).astype(np.int64)
        return part

    def _write(self, number: int) -> None:
        """Whole chunks; what is left waits on."""
        every = np.concatenate(self._waiting[number])
        whole = len(every) // CHUNK * CHUNK
        for begin in range(0, whole, CHUNK):
            with _translated():
                self._file.write(every[begin : begin + CHUNK].tobytes())
            self._places[number].append(self._end)
            self._end += CHUNK * RECORD
        self._waiting[number], self._count[number] = [every[whole:].copy()], len(every) - whole

    def later(self) -> Iterator[Longs]:
        """The rows, some at a time, that have an earlier row's image. Once.

        Raises ConversionError where what was kept cannot be read.
        """
        for number in range(self.parts):
            first = np.zeros((0, 3), np.int64)
            for records in self._records(number):
                both = np.concatenate([first, records])
                both = both[np.lexsort((both[:, ROW], both[:, SIZE], both[:, CHECKSUM]))]
                again = (both[1:, :ROW] == both[:-1, :ROW]).all(axis=1)
                yield both[1:, ROW][again]
                first = both[np.concatenate([[True], ~again])]

    def _records(self, number: int) -> Iterator[Longs]:
        """Of a part, in their order."""
        places, many = self._places[number], MOST // CHUNK
        for begin in range(0, len(places), many):
            yield np.concatenate([self._chunk(at) for at in places[begin : begin + many]])
        if self._waiting[number]:
            yield np.concatenate(self._waiting[number])
        self._waiting[number] = []

    def _chunk(self, at: int) -> Longs:
        with _translated():
            self._file.seek(at)  # writes what the file still had in memory
            content = self._file.read(CHUNK * RECORD)
            if len(content) != CHUNK * RECORD:
                raise OSError(f"got {len(content)} bytes back, want {CHUNK * RECORD}")
        return np.frombuffer(content, np.int64).reshape(-1, 3)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Every OSError as one line of what happened and what to do."""
    try:
        yield
    except OSError as error:
        raise ConversionError(
            f"{_folder()}: cannot hold rows meanwhile ({error.strerror or error}); free some room "
            "there, or set TMPDIR to another folder"
        ) from error


def _folder() -> str:
    """Where the file lies; what the user has asked for if there is no such folder."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return os.environ.get("TMPDIR", os.curdir)


def _close(file: IO[bytes]) -> None:
    """What could not be written was told before."""
    with contextlib.suppress(OSError):
        file.close()
