"""Seek indexes of folders that were indexed, for images that a program opens by itself: found by an
image's path.

No list of files is given, so each folder above an image is looked at: whether `fastload index`, or
a loader of that folder, has left indexes beside it or in the user's cache (seek.py).
"""

import contextlib
import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError
from fastload.files import cache
from fastload.files.opening import no_wait
from fastload.sources import seek
from fastload.sources.seek import Stored
from fastload.spec import Longs

ABOVE = 8  # folders above an image that are looked at
MANY = 1 << 16  # folders that are kept in mind


class _Rows(NamedTuple):
    """What one folder's index says, by name; arrays [N], sorted by `key`."""

    root: str  # names are below it; ends in a separator
    file: int  # of the indexes, open
    key: NDArray[np.uint64]  # XXH3 of the names
    offset: Longs  # bytes
    size: Longs  # bytes; 0: none
    file_size: Longs  # bytes of the image when it was indexed; 0: it was not

    def find(self, path: str, size: int) -> bytes | None:
        """As Beside.find, of a path below `root`."""
        key = np.uint64(_native.xxh3(os.fsencode(path[len(self.root) :])))
        row = int(np.searchsorted(self.key, key))
        if row == len(self.key) or self.key[row] != key or self.file_size[row] != size:
            return None
        wanted = int(self.size[row])
        try:
            found = os.pread(self.file, wanted, int(self.offset[row]))
        except OSError:
            return None
        return found if len(found) == wanted else None


class Beside:
    """The indexes that one process has found. Nothing here raises."""

    def __init__(self) -> None:
        self._above: dict[str, tuple[_Rows, ...]] = {}  # by folder: of it and of those above
        self._of: dict[str, tuple[_Rows, ...]] = {}  # by folder: its own

    def find(self, path: str, size: int) -> bytes | None:
        """The index of the image at `path`, of `size` bytes; b"": it has none; None: that is not
        known. Whether it fits the image, its decoder says.
        """
        path = os.path.abspath(path)
        folder = os.path.dirname(path)
        places = self._above.get(folder)
        if places is None:
            if len(self._above) >= MANY:
                self._above.clear()
            places = self._above[folder] = self._look(folder)
        found = (place.find(path, size) for place in places)
        return next((index for index in found if index is not None), None)

    def close(self) -> None:
        """What is needed again is looked for anew."""
        for places in self._of.values():
            for place in places:
                os.close(place.file)
        self._above.clear()
        self._of.clear()

    def _look(self, folder: str) -> tuple[_Rows, ...]:
        places: list[_Rows] = []
        for _ in range(ABOVE):
            if folder not in self._of:
                self._of[folder] = _read(folder)
            places += self._of[folder]
            folder, before = os.path.dirname(folder), folder
            if folder == before:
                break
        return tuple(places)


def _read(root: str) -> tuple[_Rows, ...]:
    """Of the folder itself, and of the user's cache."""
    places = (root, seek.cache_folder(root))
    found = (_rows(root, place) for place in places if os.path.lexists(_index(place)))
    return tuple(rows for rows in found if rows is not None)


def _index(place: str) -> str:
    return os.path.join(place, seek.INDEX)


def _rows(root: str, place: str) -> _Rows | None:
    """None for what is damaged, and for what a stranger may have put there: the user has named no
    folder.
    """
    if cache.trouble(place):
        return None
    with contextlib.suppress(SourceError, OSError), contextlib.ExitStack() as held:
        file = no_wait(os.path.join(place, seek.DATA), os.O_RDONLY)
        held.callback(os.close, file)
        owners = {os.stat(_index(place)).st_uid, os.fstat(file).st_uid}
        if not owners <= {0, cache.user(), os.stat(place).st_uid}:
            return None
        rows = _sorted(os.path.join(root, ""), file, seek.read(place))
        held.pop_all()
        return rows
    return None


def _sorted(root: str, file: int, stored: Stored) -> _Rows:
    names = (name for batch in stored.batches for name in batch.column("path").to_pylist())
    key = np.fromiter(map(_native.xxh3, names), np.uint64, len(stored.size))
    order = np.argsort(key)
    columns = (stored.offset, stored.size, stored.file_size)
    return _Rows(root, file, key[order], *(column[order] for column in columns))
