"""Files with a checksum for each of their blocks: what is read of them was compared."""

import os
import weakref

from fastload import _native
from fastload.sources.row_blocks import fill
from fastload.sources.sums import BLOCK

MOST = 1 << 30  # bytes that are read at once


class MismatchError(ValueError):
    """A block is not what its checksum says."""


class Checked:
    """An open file, for Arrow, and to be sliced as bytes are.

    Args:
        file: Its descriptor, which is closed with this.
        blocks: XXH3-64 of each BLOCK bytes.

    Raises MismatchError where there are other blocks, and so does all that reads.
    """

    closed = False  # as Arrow asks of a file

    def __init__(self, file: int, blocks: tuple[int, ...]) -> None:
        self.file, self.blocks, self.size = file, blocks, os.fstat(file).st_size
        weakref.finalize(self, os.close, file).atexit = False
        if -(-self.size // BLOCK) != len(blocks):
            raise MismatchError(f"{self.size} bytes, want {len(blocks)} blocks of {BLOCK}")
        self._at, self._first, self._last = 0, 0, b""

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> bytes:
        begin, end, _ = part.indices(self.size)
        return self._bytes(begin, end)

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        self._at = at + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int = -1) -> bytes:
        """Up to so many bytes, from where the last ones ended."""
        begin = min(max(0, self._at), self.size)
        found = self._bytes(begin, self.size if count < 0 else min(begin + count, self.size))
        self._at = begin + len(found)
        return found

    def close(self) -> None:
        """As Arrow does with a file; the descriptor is another one's."""

    def _bytes(self, begin: int, end: int) -> bytes:
        if end <= begin:
            return b""
        if end - begin > MOST:
            raise ValueError(f"{end - begin} bytes are wanted at once")
        if not self._first <= begin < end <= self._first + len(self._last):
            first = begin // BLOCK
            self._last = b""  # before there are others
            self._last = self._read(first, -(-end // BLOCK))
            self._first = first * BLOCK
        return self._last[begin - self._first : end - self._first]

    def _read(self, first: int, last: int) -> bytes:
        """Blocks from one on until before another."""
        at = first * BLOCK
        data = bytearray(min(last * BLOCK, self.size) - at)
        whole = memoryview(data)
        if not fill(self.file, at, whole):
            raise MismatchError("it was cut off")
        for number, want in enumerate(self.blocks[first:last]):
            if _native.xxh3(whole[number * BLOCK : (number + 1) * BLOCK]) != want:
                raise MismatchError(f"block {first + number}")
        return bytes(data)
