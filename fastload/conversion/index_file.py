"""An index that is written straight to its file: what it is committed with does not have it in
memory.
"""

import contextlib
import os
from typing import NamedTuple

from fastload import _native
from fastload.files.below import Folder, temporary
from fastload.files.names import Inner
from fastload.files.opening import write_all
from fastload.sources import sums
from fastload.sources.shard_index import INDEX
from fastload.sources.shards import TEMPORARY


class Staged(NamedTuple):
    """An index that lies under a temporary name, on the disk.

    Args:
        name: In the folder of the data set.
        sums: The file with its checksums, as sums.text makes it.
    """

    name: Inner
    sums: bytes


class IndexFile:
    """Such a file while it is written, for Arrow. What was not staged is removed.

    Raises OSError.
    """

    closed = False  # as Arrow asks of a file

    def __init__(self, folder: Folder) -> None:
        self.folder, self.name = folder, temporary(INDEX, TEMPORARY)
        self.file, self.done = folder.create(self.name), False
        self._whole, self._block, self._filled = _native.Xxh3(), _native.Xxh3(), 0
        self._blocks, self._size = list[int](), 0

    def __enter__(self) -> "IndexFile":  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)
        if not self.done:
            with contextlib.suppress(OSError):
                self.folder.remove(self.name)

    def write(self, data: object) -> int:
        """Append: bytes-like. How many bytes."""
        view = memoryview(data).cast("B")  # type: ignore[arg-type]
        write_all(self.file, view)
        self._whole.update(view)
        for at in self._cuts(len(view)):
            piece = view[at : at + sums.BLOCK - self._filled]
            self._block.update(piece)
            self._filled += len(piece)
            if self._filled == sums.BLOCK:
                self._next()
        self._size += len(view)
        return len(view)

    def tell(self) -> int:
        """Bytes so far."""
        return self._size

    def _cuts(self, size: int) -> range | tuple[int, ...]:
        """Where the pieces of so many bytes begin that lie in one block each."""
        rest = sums.BLOCK - self._filled
        return (0, *range(rest, size, sums.BLOCK)) if size else ()

    def _next(self) -> None:
        self._blocks.append(self._block.digest())
        self._block, self._filled = _native.Xxh3(), 0

    def flush(self) -> None:
        """As Arrow does with a file."""

    def close(self) -> None:
        """As Arrow does with a file."""

    def staged(self) -> Staged:
        """All of it was written. Raises OSError."""
        if self._filled:
            self._next()
        os.fsync(self.file)
        self.done = True
        return Staged(self.name, sums.of(self._whole.digest(), self._blocks))
