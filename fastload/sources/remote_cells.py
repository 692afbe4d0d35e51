"""In which cells of the cache the samples and the seek indexes of a data set in a store lie."""

import numpy as np

from fastload.errors import SourceError
from fastload.remote import layout as layouts
from fastload.remote.layout import SEALED, Check, Layout
from fastload.sources.shard_index import Index
from fastload.spec import Longs


def cells_of(index: Index) -> tuple[Layout, Longs | None]:
    """The cells of an index: one per sample, then the stretches of sidecars that groups need."""
    columns = {name: index.columns[name].all() for name in ("shard", "offset", "size", "checksum")}
    shard, begins = columns["shard"].astype(np.int64), columns["offset"]
    order = np.lexsort((begins, shard))
    plain = bool((np.diff(order) == 1).all())
    shard, begins, ends = shard[order], begins[order], (begins + columns["size"])[order]
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
    beside = -1
    if index.sidecars:
        beside, extra = len(ends), _sidecar_ends(index, order, groups, file_first, sizes[count:])
        ends = np.concatenate([ends, extra])
        first = beside + np.searchsorted(groups[:-1], file_first)
        file_first = np.concatenate([file_first, first[1:]])
    names = tuple(file.name for file in (*index.shards, *index.sidecars))

    def checks(first: int, last: int) -> list[Check]:
        if first >= len(order):
            return _seals(index, order[groups[first - beside] : groups[last - beside]])
        rows = order[first:last]
        offset, size, xxh3 = (columns[name][rows] for name in ("offset", "size", "checksum"))
        ends = offset + size
        return [
            Check(*each) for each in zip(offset.tolist(), ends.tolist(), xxh3.tolist(), strict=True)
        ]

    layout = Layout(names, sizes, ends, file_first, groups, beside, checks)
    return layout, None if plain else _inverse(order)


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
