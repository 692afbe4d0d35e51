"""What was found in a version of a Lance data set, in the user's cache: a file of rows
(row_file.py), one for each image, in the data set's order.

It holds as long as that version is the newest one, and its files have the sizes, times and inodes
that they had.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import arrow, kept_rows
from fastload.sources.kept_rows import KeptRows
from fastload.sources.lance_places import DATA, file_at
from fastload.sources.lance_versions import Version
from fastload.sources.row_file import Taken
from fastload.sources.span_index import Stamp

COLUMNS = ("file", "offset", "size", "label")
FILE, OFFSET, SIZE, LABEL = range(4)


class LanceRows(KeptRows):
    """Rows COLUMNS, and what was chosen besides.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file, kept=kept)
        told = self.told
        number, *stamp = map(_number, told["version"])
        self.version = Version(number, Stamp(*stamp))
        self.names, self.texts = _texts(told["names"]), _texts(told["texts"])
        self.stamps = [Stamp(*map(_number, one)) for one in told["stamps"]]
        self.kind, self.image, self.label = (str(told[one]) for one in ("kind", "image", "label"))
        self.class_names = None if told["classes"] is None else tuple(_texts(told["classes"]))
        self._sizes = np.array([stamp.size for stamp in self.stamps], np.int64)
        if self.columns != COLUMNS or len(self.stamps) != len(self.names):
            raise ValueError("other columns, or files")
        low, high = (table[:, FILE] for table in (self.tables.low, self.tables.high))
        if (low < 0).any() or (high >= len(self.names)).any():
            raise ValueError("a file that is not there")
        low, high = (table[:, LABEL] for table in (self.tables.low, self.tables.high))
        if self.texts and ((low < 0) | (high >= len(self.texts))).any():
            raise ValueError("a label has no text")

    def paths(self, where: str) -> tuple[str, ...]:
        """Of the files of the data set at `where`."""
        return tuple(os.path.join(where, DATA, name) for name in self.names)

    def fits(self, where: str, version: Version) -> bool:
        """Whether the data set at `where` is still the one that was looked at."""
        try:
            now = [file_at(where, name)[1] for name in self.names]
        except SourceError:
            return False
        return self.version == version and now == self.stamps

    def _check(self, taken: Taken, place: Callable[[int], int]) -> None:
        super()._check(taken, place)
        file, offset, size, _ = taken.values
        inside = arrow.inside(offset, size, self._sizes[file])
        if not inside.all():
            raise self.damaged(place(int(np.argmin(inside))), "an image outside of its file")


def recalled(index: str, where: str, version: Version) -> LanceRows | None:
    """What the cache has of this version; None: nothing that holds."""
    known = kept_rows.recall(LanceRows, index)
    if known is None or not known.fits(where, version):
        return None
    known.look()  # what is damaged can be made anew now, and not in a running epoch
    return known


def _number(said: Any) -> int:
    if type(said) is not int:
        raise ValueError("a number is none")
    return said


def _texts(said: Any) -> list[str]:
    if type(said) is not list or not all(type(text) is str for text in said):
        raise ValueError("a text is none")
    return said
