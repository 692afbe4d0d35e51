"""A file that grows piece by piece: written in large parts, hashed on the way, and on its way to
the disk long before it is whole.
"""

import os
from collections.abc import Callable

from fastload import _native
from fastload.files.below import DirEntry

HELD = 4 << 20  # bytes that are written at once
PIECES = 1000  # of one call; Linux takes 1024


class Appender:
    """A new file at `entry`.

    go: asked before each write; once it says no, nothing is written any more and the file is gone.
    """

    def __init__(self, entry: DirEntry, go: Callable[[], bool] = lambda: True) -> None:
        self.entry, self.go = entry, go
        self.end = 0  # bytes that were added
        self.file: int | None = None
        self.sum = _native.Xxh3()
        self._pieces: list[bytes] = []
        self._held = 0
        self._dropped = False

    def add(self, *pieces: bytes) -> None:
        """Raises OSError."""
        self._pieces += pieces
        size = sum(map(len, pieces))
        self.end += size
        self._held += size
        if self._held >= HELD or len(self._pieces) + len(pieces) > PIECES:
            self._write()

    def finish(self) -> tuple[int, int]:
        """Bytes and XXH3-64 of the file, which is on disk when this returns. Raises OSError."""
        self._write()
        if self.file is not None:
            os.fsync(self.file)
        return self.end, self.sum.digest()

    def drop(self) -> None:
        """Remove what was written."""
        self._dropped = True
        self._pieces.clear()
        if self.file is not None:
            self.entry.folder.remove(self.entry.name)
        self.close()

    def close(self) -> None:
        """Without `finish` the file is left as far as it came."""
        if self.file is not None:
            os.close(self.file)
            self.file = None

    def _write(self) -> None:
        if not self._dropped and not self.go():
            self.drop()
        pieces, size = self._pieces, self._held
        self._pieces, self._held = [], 0
        if self._dropped or not pieces:
            return
        if self.file is None:
            self.file = self.entry.folder.create(self.entry.name)
        for piece in pieces:
            self.sum.update(piece)
        _write_all(self.file, pieces, size)
        _native.start_writing(self.file, self.end - size, size)


def _write_all(file: int, pieces: list[bytes], size: int) -> None:
    done = os.writev(file, pieces)
    if done < size:  # a signal, or a disk that is nearly full: what is left as one piece
        view = memoryview(b"".join(pieces))[done:]
        while view:
            view = view[os.write(file, view) :]
