"""fastload's shards in an object store or on a web server: the index is read first, samples come
through the cache.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError, StoreError
from fastload.remote import layout as layouts
from fastload.remote.access import Access, Settings
from fastload.remote.cache import Cache
from fastload.remote.layout import SEAL, SEALED, Check, Layout
from fastload.remote.stores import Store
from fastload.remote.urls import Url, parse
from fastload.sources import arrow, shard_index, shard_rows, sums
from fastload.sources.shard_index import INDEX, SUM, Index
from fastload.sources.shards import ShardSource
from fastload.spec import Longs
from fastload.system import limits

PIECE = 8 << 20  # bytes of the index in one request
AT_ONCE = 8  # such requests
OPENING = 30.0  # s until a store that does not answer is an error; later ones may take longer
TRIES = 5  # where what came is not what its checksum says


@dataclass(frozen=True, eq=False)
class RemoteShards(ShardSource):
    """Samples in shards behind a URL; a `Source` whose files are in the cache.

    Pickling keeps the URL and its settings; the other process opens it again.
    """

    url: Url = field(kw_only=True)
    remote: "RemoteSamples" = field(kw_only=True)
    # Files, by generation
    _opened: dict[str, Any] = field(default_factory=dict, repr=False, kw_only=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (self.url.raw, self.remote.access.settings, self.rows.index_checksum)

    @property
    def files(self) -> _native.Files:
        files: _native.Files = self._file_sets()[0]
        return files

    @property
    def _sidecars(self) -> tuple[_native.Files, NDArray[np.bool_]] | None:
        sets: tuple[Any, tuple[_native.Files, NDArray[np.bool_]] | None] = self._file_sets()
        return sets[1]

    def _file_sets(self) -> Any:
        access = self.remote.access
        kept = self._opened.get("sets")
        if kept is None or kept[0] is not access.generation:
            paths = [os.path.join(access.folder, name) for name in access.layout.names]
            count = len(self.rows.said.shards)
            sidecars = None
            if len(paths) > count:
                usable = np.ones(count, np.bool_)
                sidecars = _native.Files(paths[count:], keep_open=True), usable
            sets = _native.Files(paths[:count], keep_open=True), sidecars
            self._opened["sets"] = kept = (access.generation, sets)
        return kept[1]


class RemoteSamples:
    """Where the samples of a data set in a store lie in its cells.

    Sources that have one as `remote` are not read before their samples are there.
    """

    def __init__(self, access: Access, cell_of: Longs | None) -> None:
        """cell_of: int64 [N], the cell of each sample; None: they have the same numbers."""
        self.access, self._cell_of = access, cell_of

    def cells(self, samples: Longs) -> Longs:
        return samples if self._cell_of is None else self._cell_of[samples]

    def samples(self, cells: Longs) -> Longs:
        return cells if self._cell_of is None else self._row_of[cells]

    @cached_property
    def _row_of(self) -> Longs:
        assert self._cell_of is not None
        rows = np.empty_like(self._cell_of)
        rows[self._cell_of] = np.arange(len(rows))
        return rows


def load(text: str, settings: Settings) -> RemoteShards | None:
    """fastload's shards below a URL; None where there is no index.

    Raises SourceError.
    """
    url = parse(text)
    store = Store(url, settings.options, settings.deadline, settings.max_bandwidth)
    with store.impatient(OPENING):
        found = _checked_sums(store)
    if found is None:
        return None
    said, parsed = found
    folder = os.path.join(Cache(settings.cache).root, _digest(url, parsed.whole[0]))
    content = _kept(folder, parsed.whole)
    if content is None:
        content = _fetched(store, parsed.whole, len(parsed.blocks))
    index = shard_index.parse(url.shown, _native.xxh3(content), content)
    rows = shard_rows.in_memory(index)
    layout, cell_of = _layout(index)
    small = {INDEX: content.tobytes(), SUM: said}
    access = Access(url, settings, layout, small, _digest(url, index.checksum), store)
    index = replace(index, where=access.folder)
    return RemoteShards(url.shown, rows, index, url=url, remote=RemoteSamples(access, cell_of))


def reopen(text: str, settings: Settings, checksum: int) -> RemoteShards:
    """`load` in another process; raises SourceError if the data set was replaced meanwhile."""
    source = load(text, settings)
    got = 0 if source is None else source.rows.index_checksum
    if source is None or got != checksum:
        raise SourceError(
            f"{parse(text).shown}: was replaced while in use (index {got:016x}, want "
            f"{checksum:016x}); open it again"
        )
    return source


def _digest(url: Url, checksum: int) -> str:
    """The entry's name: another index is another entry."""
    return f"{url.digest}-{checksum:016x}"


def _checked_sums(store: Store) -> tuple[bytes, sums.Sums] | None:
    """The file with the index's checksum, and what it says; None where there is none."""
    for _ in range(TRIES):  # a bit may be flipped on the way
        try:
            got = store.get(SUM)
        except StoreError as error:
            if error.missing:
                return None
            raise
        said = bytes(got.data)
        if len(said) <= sums.MOST and (parsed := sums.parse(said)):
            return said, parsed
    raise SourceError(f"{store.shown(SUM)}: is damaged; restore it, or convert again")


def _kept(folder: str, whole: tuple[int, ...]) -> arrow.Bytes | None:
    """The index that the cache has, if it is whole."""
    try:
        data = np.fromfile(os.path.join(folder, INDEX), np.uint8)
    except OSError:
        return None
    return data if _native.xxh3(data) in whole else None


def _fetched(store: Store, whole: tuple[int, ...], blocks: int) -> arrow.Bytes:
    """The index; asked for again where what came is not what its checksum says."""
    for _ in range(TRIES):
        data = _index(store, blocks)
        if _native.xxh3(data) in whole:
            return data
        store.traffic.count(retries=1)
    raise SourceError(
        f"{store.shown(INDEX)}: is damaged (checksum got {_native.xxh3(data):016x}, want "
        f"{whole[0]:016x}); restore it and {SUM}, or convert again"
    )


def _index(store: Store, blocks: int) -> arrow.Bytes:
    first = store.get(INDEX, (0, PIECE))
    most = min(blocks * sums.BLOCK or limits.INDEX, limits.INDEX)
    if problem := limits.too_many(first.size, most):
        raise SourceError(f"{store.shown(INDEX)}: is larger than it can be ({problem}); restore it")
    data = np.empty(first.size, np.uint8)
    data[: len(first.data)] = np.frombuffer(first.data, np.uint8)

    def fill(begin: int) -> None:
        end = min(begin + PIECE, first.size)
        got = store.get(INDEX, (begin, end), first.etag)
        data[begin:end] = np.frombuffer(got.data, np.uint8)

    if first.size > PIECE:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(fill, range(PIECE, first.size, PIECE)))
    return data


def _layout(index: Index) -> tuple[Layout, Longs | None]:
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
    """Of the seek indexes of these samples, which end with their own checksums."""
    begin, size = (index.columns[name][rows] for name in ("index_offset", "index_size"))
    there = size > SEAL
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
