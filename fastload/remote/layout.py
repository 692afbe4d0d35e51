"""How the objects of a data set are cut: into cells, which are there or not, and groups of cells,
which are kept or dropped together.

The cells of a file follow each other without a gap, so a file whose cells are all there is whole.
Samples in shards are cells; a group is about GROUP bytes of neighbours. Of other objects so many
bytes are a cell: GROUP of those that are brought whole, PIECE of those that come in parts.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.spec import Longs

GROUP, PIECE = 8 << 20, 1 << 20  # bytes
SEALED = -1
OBJECTS = "objects"  # the folder of those of any name
# What the cache keeps of a group: when it was last let go, and its cells and bytes in up to two
# files; a part without cells is none
RECORD = np.dtype(
    [("stamp", "<u8"), ("file", "<i4", 2)]
    + [(name, "<i8", 2) for name in ("first", "last", "begin", "end")]
)


class Span(NamedTuple):
    """Bytes of one file."""

    file: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


class Check(NamedTuple):
    """Bytes of a file whose checksum is known."""

    begin: int
    end: int
    xxh3: int  # SEALED: they say it themselves (files/seals.py)


def _no_checks(first: int, last: int) -> list[Check]:
    return []


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of a data set's files, numbered file by file.

    Args:
        names: Of the files, below the store's URL, and in the cache below `below`.
        sizes: Bytes of each file.
        ends: int64 [C]: the byte behind each cell, in its file.
        file_first: int64 [F + 1]: the first cell of each file, and C.
        group_first: int64 [G + 1]: the first cell of each group, and the end of the last.
        beside: The first of G cells that belong to the groups too, one each; -1: there are none.
        checks: Gives the known checksums in cells from one number to before another.
        below: A folder of the entry, so that no name is one of the cache's own; "": none is.
    """

    names: tuple[str, ...]
    sizes: Longs
    ends: Longs
    file_first: Longs
    group_first: Longs
    beside: int = -1
    checks: Callable[[int, int], list[Check]] = _no_checks
    below: str = ""

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Of the files, in their entry of the cache."""
        return tuple(f"{self.below}/{name}" for name in self.names) if self.below else self.names

    @property
    def cells(self) -> int:
        return len(self.ends)

    @property
    def groups(self) -> int:
        return len(self.group_first) - 1

    @property
    def bytes(self) -> int:
        return int(self.sizes.sum())

    def file_of(self, cell: int) -> int:
        return int(np.searchsorted(self.file_first, cell, side="right")) - 1

    def begin(self, cell: int) -> int:
        """The first byte of a cell, in its file."""
        return 0 if cell in self.file_first[:-1] else int(self.ends[cell - 1])

    def span(self, first: int, last: int) -> Span:
        """The bytes of cells first to before last, which are of one file."""
        return Span(self.file_of(first), self.begin(first), int(self.ends[last - 1]))

    def groups_of(self, cells: Longs) -> Longs:
        groups: Longs = np.searchsorted(self.group_first, cells, side="right") - 1
        return groups if self.beside < 0 else np.where(
            cells < self.beside, groups, cells - self.beside
        )  # fmt: skip

    def members(self, group: int) -> list[tuple[int, int]]:
        """The cells of a group: first ones, and the numbers behind the last; each of one file."""
        parts = [(int(self.group_first[group]), int(self.group_first[group + 1]))]
        return (
            parts if self.beside < 0 else [*parts, (self.beside + group, self.beside + group + 1)]
        )

    def stretches(self, cells: Longs) -> list[tuple[int, int]]:
        """Cells in stretches of one group without a gap: the first of each, and the number behind
        the last.
        """
        cells = np.unique(cells)
        if not len(cells):
            return []
        broken = (np.diff(cells) != 1) | (np.diff(self.groups_of(cells)) != 0)
        starts = np.concatenate([[0], np.flatnonzero(broken) + 1])
        lasts = np.append(starts[1:], len(cells)) - 1
        return list(zip(cells[starts].tolist(), (cells[lasts] + 1).tolist(), strict=True))

    def table(self) -> NDArray[Any]:
        """RECORD [G] of all groups."""
        table = np.zeros(self.groups, RECORD)
        parts = [(self.group_first[:-1], self.group_first[1:])]
        if self.beside >= 0:
            cells = self.beside + np.arange(self.groups)
            parts.append((cells, cells + 1))
        for part, (first, last) in enumerate(parts):
            before = self.ends[np.maximum(first - 1, 0)]
            table["first"][:, part], table["last"][:, part] = first, last
            table["file"][:, part] = np.searchsorted(self.file_first, first, side="right") - 1
            table["begin"][:, part] = np.where(np.isin(first, self.file_first), 0, before)
            table["end"][:, part] = self.ends[last - 1]
        return table

    def cell_bytes(self) -> Longs:
        """int64 [C]: bytes of each cell."""
        sizes = np.diff(self.ends, prepend=0)
        firsts = self.file_first[:-1][np.diff(self.file_first) > 0]
        sizes[firsts] = self.ends[firsts]
        return sizes

    def weights(self) -> Longs:
        """int64 [G]: bytes of each group, without what lies beside."""
        table = self.table()
        weights: Longs = table["end"][:, 0] - table["begin"][:, 0]
        return weights


def folders_of(names: Iterable[str]) -> list[str]:
    """What files of these names lie in, outer folders first."""
    found = set[str]()
    for below in {os.path.dirname(name) for name in names}:
        while below and below not in found:
            found.add(below)
            below = os.path.dirname(below)
    return sorted(found)


def grouped(ends: Longs, file_first: Longs) -> Longs:
    """int64 [G + 1]: the first cell of each group, so that a group is of one file and has about
    GROUP bytes, and the end of the last.
    """
    firsts = [np.zeros(0, np.int64)]
    for first, last in zip(file_first[:-1].tolist(), file_first[1:].tolist(), strict=True):
        if last > first:
            # Begins where the cell before has ended in another stretch of GROUP bytes
            stretch = np.maximum(ends[first:last] - 1, 0) // GROUP
            firsts.append(first + np.flatnonzero(np.diff(stretch, prepend=-1)))
    return np.concatenate([*firsts, file_first[-1:]]).astype(np.int64)


def of_objects(names: tuple[str, ...], sizes: Longs, piece: int = 0) -> Layout:
    """Of objects of any kind, whose cells have so many bytes; 0: GROUP."""
    piece = piece or GROUP
    counts = np.maximum(1, -(-sizes // piece))
    file_first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ends = [
        np.minimum(np.arange(1, count + 1) * piece, size)
        for count, size in zip(counts.tolist(), sizes.tolist(), strict=True)
    ]
    all_ends = np.concatenate(ends).astype(np.int64)
    groups = grouped(all_ends, file_first)
    return Layout(names, sizes, all_ends, file_first, groups, below=OBJECTS)
