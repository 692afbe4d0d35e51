"""In which cells of the cache the samples and the seek indexes of a data set in a store lie. What
lies beside a sample's image is in its cell.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.remote import layout as layouts
from fastload.remote.layout import SEALED, Check, Layout
from fastload.sources.extras import Places
from fastload.sources.shard_index import Index
from fastload.spec import Longs


def cells_of(index: Index) -> tuple[Layout, Longs | None]:
    """The cells of an index: one per sample, then the stretches of sidecars that groups need."""
    shard, begins, size = (index.columns[name].all() for name in ("shard", "offset", "size"))
    shard, ends = shard.astype(np.int64), begins + size
    if index.extras is not None:
        begins, ends = index.extras.places().hull(begins, ends)
    order = np.lexsort((begins, shard))
    plain = bool((np.diff(order) == 1).all())
    shard, begins, ends = shard[order], begins[order], ends[order]
    same = np.diff(shard) == 0
    if (begins[1:][same] < ends[:-1][same]).any():
        raise SourceError(
            f"{index.where}: samples of its index share bytes, which no conversion writes; convert "
            "again"
        )
    sizes = np.array([file.bytes for file in (*index.shards, *index.sidecars)], np.int64)
    count = len(index.shards)
    file_first = np.searchsorted(shard, np.arange(count + 1)).astype(np.int64)
    # The last cell of a shard reaches to the shard's end
    ends[file_first[1:] - 1] = sizes[shard[file_first[1:] - 1]]
    groups = layouts.grouped(ends, file_first)
    seals = -1
    if index.sidecars:
        seals, extra = len(ends), _sidecar_ends(index, order, groups, file_first, sizes[count:])
        ends = np.concatenate([ends, extra])
        first = seals + np.searchsorted(groups[:-1], file_first)
        file_first = np.concatenate([file_first, first[1:]])
    names = tuple(file.name for file in (*index.shards, *index.sidecars))

    checks = _Checksums(index, order, groups, seals).inside
    layout = Layout(names, sizes, ends, file_first, groups, seals, checks)
    return layout, None if plain else _inverse(order)


@dataclass(frozen=True, eq=False)
class _Checksums:
    """Those that an index knows. order: its rows, as their cells are numbered."""

    index: Index
    order: Longs
    groups: Longs
    seals: int

    def inside(self, first: int, last: int) -> list[Check]:
        """Of cells first to before last."""
        if first >= len(self.order):
            rows = self.order[self.groups[first - self.seals] : self.groups[last - self.seals]]
            return _seals(self.index, rows)
        rows = self.order[first:last]
        offset, size, checksum = (
            self.index.columns[name][rows] for name in ("offset", "size", "checksum")
        )
        found = _checks(offset, size, checksum)
        if (beside := self._beside) is not None:
            files = beside.of(rows)
            found += _checks(beside.offset[files], beside.size[files], beside.checksum[files])
        return found

    @cached_property
    def _beside(self) -> Places | None:
        return self.index.extras.places() if self.index.extras else None


def _checks(offset: Longs, size: Longs, xxh3: NDArray[np.uint64]) -> list[Check]:
    spans = zip(offset.tolist(), (offset + size).tolist(), xxh3.tolist(), strict=True)
    return [Check(*each) for each in spans]


def _seals(index: Index, rows: Longs) -> list[Check]:
    """Of the seek indexes of these samples, which have their own checksums."""
    begin, size = (index.columns[name][rows] for name in ("index_offset", "index_size"))
    there = size > 0
    begin, end = begin[there], (begin + size)[there]
    return [Check(*each, SEALED) for each in zip(begin.tolist(), end.tolist(), strict=True)]


def _inverse(order: Longs) -> Longs:
    out = np.empty_like(order)
    out[order] = np.arange(len(order))
    return out


def _sidecar_ends(
    index: Index, order: Longs, groups: Longs, file_first: Longs, sizes: Longs
) -> Longs:
    """int64 [G]: the byte behind what each group needs of its shard's sidecar."""
    at, length = (index.columns[name].all()[order] for name in ("index_offset", "index_size"))
    ends = np.maximum.reduceat(np.where(length > 0, at + length, 0), groups[:-1])
    firsts = np.searchsorted(groups[:-1], file_first)
    for number, size in enumerate(sizes.tolist()):
        first, last = firsts[number], firsts[number + 1]
        if last > first:
            ends[first:last] = np.maximum.accumulate(ends[first:last])
            ends[last - 1] = size
    return ends.astype(np.int64)
