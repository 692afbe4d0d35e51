"""fastload's shards in an object store or on a web server: the index is read first, samples come
through the cache.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError, StoreError
from fastload.remote.access import Access, Settings
from fastload.remote.cache import Cache
from fastload.remote.stores import Store
from fastload.remote.urls import Url, parse
from fastload.sources import arrow, shard_index, shard_rows, shard_versions, sums
from fastload.sources.base import Parts, StoreOrder
from fastload.sources.remote_cells import cells_of
from fastload.sources.shard_index import INDEX, SUM
from fastload.sources.shard_versions import HISTORY, Version
from fastload.sources.shards import ShardSource, with_fields
from fastload.spec import Longs
from fastload.system import limits

CUT = 2  # with what lies beside the images in their cells
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
        names = [field.name for field in self.fields]
        return reopen, (self.url.raw, self.remote.access.settings, self.rows.index_checksum, names)

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

    def __len__(self) -> int:
        return int(self.access.layout.group_first[-1])

    def cells(self, samples: Longs) -> Longs:
        return samples if self._cell_of is None else self._cell_of[samples]

    def parts(self, samples: Longs) -> Parts:
        cells = self.cells(samples)
        return Parts(np.arange(len(samples)), cells, self.access.cell_bytes[cells])

    def order(self) -> StoreOrder:
        return StoreOrder(self.access.layout.group_first, self._samples)

    def _samples(self, cells: Longs) -> Longs:
        return cells if self._cell_of is None else self._row_of[cells]

    @cached_property
    def _row_of(self) -> Longs:
        assert self._cell_of is not None
        rows = np.empty_like(self._cell_of)
        rows[self._cell_of] = np.arange(len(rows))
        return rows


def load(text: str, settings: Settings, version: int | None = None) -> RemoteShards | None:
    """fastload's shards below a URL; None where there is no index.

    version: None: the newest. Raises SourceError.
    """
    url = parse(text)
    store = Store(url, settings.options, settings.deadline, settings.max_bandwidth)
    with store.impatient(OPENING):
        found = _checked_sums(store)
    opened = None
    while found is not None and opened is None:
        try:
            opened = _opened(url, settings, store, *found)
        except SourceError:  # of an index that was replaced just now
            before, found = found, _checked_sums(store)
            if found == before:
                raise
    if opened is None or version is None:
        return opened
    now, said = opened.rows.index_checksum, versions_behind(opened)
    for one in [one for one in said if one.number == version]:
        older = opened if one.checksum == now else _older(url, settings, store, one.checksum)
        if older is not None:
            return older
    raise shard_versions.lacking(url.shown, version, len(said))


def versions_behind(source: RemoteShards) -> tuple[Version, ...]:
    """All up to this one. Raises SourceError."""
    index, count = source.rows.index_checksum, len(source)
    said = shard_versions.until(_listed(source.remote.access.store), index)
    return said or (Version(1, "", index, count, count, 0),)


def _opened(
    url: Url, settings: Settings, store: Store, said: bytes, parsed: sums.Sums, name: str = INDEX
) -> RemoteShards:
    """said: the file with the checksum of the index, whose name that is. Raises SourceError."""
    folder = os.path.join(Cache(settings.cache).root, _digest(url, parsed.whole[0]))
    content = _kept(folder, parsed.whole)
    if content is None:
        content = _fetched(store, parsed.whole, len(parsed.blocks), name)
    return _made(url, settings, store, said, content)


def _made(
    url: Url, settings: Settings, store: Store, said: bytes, content: arrow.Bytes
) -> RemoteShards:
    index = shard_index.parse(url.shown, _native.xxh3(content), content)
    rows = shard_rows.in_memory(index)
    layout, cell_of = cells_of(index)
    small = {INDEX: content.tobytes(), SUM: said}
    access = Access(url, settings, layout, small, _digest(url, index.checksum), store)
    index = replace(index, where=access.folder)
    return RemoteShards(url.shown, rows, index, url=url, remote=RemoteSamples(access, cell_of))


def reopen(text: str, settings: Settings, checksum: int, names: Sequence[str] = ()) -> RemoteShards:
    """`load` in another process, of the same version; raises SourceError if the data set was
    replaced meanwhile.
    """
    source = load(text, settings)
    got = 0 if source is None else source.rows.index_checksum
    if source is not None and got != checksum:
        source = _older(source.url, settings, source.remote.access.store, checksum)
    if source is None:
        raise SourceError(
            f"{parse(text).shown}: was replaced while in use (index {got:016x}, want "
            f"{checksum:016x}); open it again"
        )
    return with_fields(source, names)


def _older(url: Url, settings: Settings, store: Store, checksum: int) -> RemoteShards | None:
    """The version whose index has this checksum: from the cache, or from the store; None where
    neither has it. Raises SourceError.
    """
    content = _kept(os.path.join(Cache(settings.cache).root, _digest(url, checksum)), (checksum,))
    if content is not None:
        return _made(url, settings, store, sums.text(content), content)
    for one in [one for one in _listed(store) if one.checksum == checksum]:
        name = shard_versions.index_name(one.number)
        found = _checked_sums(store, name + arrow.SUFFIX)
        if found is not None and checksum in found[1].whole:
            return _opened(url, settings, store, *found, name)
    return None


def _listed(store: Store) -> tuple[Version, ...]:
    """Raises SourceError."""
    try:
        text = bytes(store.get(HISTORY).data)
    except StoreError as error:
        if error.missing:
            return ()
        raise
    return shard_versions.parse(store.shown(HISTORY), text)


def _digest(url: Url, checksum: int) -> str:
    """The entry's name: another index is another entry, and so are cells that are cut otherwise."""
    return f"{url.digest}-{checksum:016x}-{CUT}"


def _checked_sums(store: Store, name: str = SUM) -> tuple[bytes, sums.Sums] | None:
    """The file with an index's checksum, and what it says; None where there is none."""
    for _ in range(TRIES):  # a bit may be flipped on the way
        try:
            got = store.get(name)
        except StoreError as error:
            if error.missing:
                return None
            raise
        said = bytes(got.data)
        if len(said) <= sums.MOST and (parsed := sums.parse(said)):
            return said, parsed
    raise SourceError(f"{store.shown(name)}: is damaged; restore it, or convert again")


def _kept(folder: str, whole: tuple[int, ...]) -> arrow.Bytes | None:
    """The index that the cache has, if it is whole."""
    try:
        data = np.fromfile(os.path.join(folder, INDEX), np.uint8)
    except OSError:
        return None
    return data if _native.xxh3(data) in whole else None


def _fetched(store: Store, whole: tuple[int, ...], blocks: int, name: str) -> arrow.Bytes:
    """The index; asked for again where what came is not what its checksum says."""
    for _ in range(TRIES):
        data = _index(store, blocks, name)
        if _native.xxh3(data) in whole:
            return data
        store.traffic.count(retries=1)
    raise SourceError(
        f"{store.shown(name)}: is damaged (checksum got {_native.xxh3(data):016x}, want "
        f"{whole[0]:016x}); restore it and {name}{arrow.SUFFIX}, or convert again"
    )


def _index(store: Store, blocks: int, name: str) -> arrow.Bytes:
    first = store.get(name, (0, PIECE))
    most = min(blocks * sums.BLOCK or limits.INDEX, limits.INDEX)
    if problem := limits.too_many(first.size, most):
        raise SourceError(f"{store.shown(name)}: is larger than it can be ({problem}); restore it")
    data = np.empty(first.size, np.uint8)
    data[: len(first.data)] = np.frombuffer(first.data, np.uint8)

    def fill(begin: int) -> None:
        end = min(begin + PIECE, first.size)
        got = store.get(name, (begin, end), first.etag)
        data[begin:end] = np.frombuffer(got.data, np.uint8)

    if first.size > PIECE:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(fill, range(PIECE, first.size, PIECE)))
    return data
