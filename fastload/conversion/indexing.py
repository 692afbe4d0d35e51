"""Seek indexes for data that lies there already: beside shards, or beside (else in the cache for) a
folder of images, of tars or of MDS shards. Those of one tar, or of a pattern, go into the cache.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from fastload import _native
from fastload.conversion import (
    commits,
    index_folder,
    index_writer,
    seek_writer,
    shards_writer,
    target,
    workers,
)
from fastload.conversion.index_folder import Build
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.parents import inner
from fastload.conversion.readers import (
    BetonReader,
    FolderReader,
    Reader,
    ShardsReader,
    file_sizes,
)
from fastload.conversion.readers.source import SourceReader
from fastload.conversion.seek_writer import Sidecar
from fastload.conversion.verify import rows_of
from fastload.conversion.versions import local
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, SourceError
from fastload.files import cache, formats
from fastload.files.below import Folder, opened
from fastload.sources import FileSource, beton, kept_rows, open_source, seek, seek_known
from fastload.sources.arrow import import_arrow
from fastload.sources.beton import BetonSource
from fastload.sources.mapped import SpanSource
from fastload.sources.shard_index import Shard
from fastload.sources.shards import ShardSource
from fastload.sources.staging import local_only
from fastload.spec import Longs
from fastload.system.machine import usable_cores

Readable = FolderReader | ShardsReader | SourceReader  # of a BetonSource or a SpanSource
PATIENCE = 10.0  # s to wait for a loader that adds to the same cache
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class IndexingSummary:
    """What was indexed."""

    kind: str  # "shards", "folder", "file" (FFCV's) or "span" (tars, MDS)
    where: str  # the folder that holds the indexes
    samples: int
    bytes: int  # of the images
    seek: seek_writer.Totals


def prepare(where: str) -> Readable:
    """What is to be indexed. Raises SourceError, ConversionError."""
    import_arrow(where, ConversionError, "a seek index needs")
    # All rows are read here: those that opening a large data set has not looked at, too
    return kept_rows.repaired(lambda: _prepared(where))


def _prepared(where: str) -> Readable:
    source = open_source(local_only(where))
    if isinstance(source, ShardSource):
        return ShardsReader(source, (), source.index.columns["size"].all())
    if isinstance(source, FileSource):
        return FolderReader(source, (), file_sizes(source.paths))
    if isinstance(source, BetonSource):
        return BetonReader(
            source, (), source.locate(np.arange(len(source), dtype=np.int64)).size, pngs=False
        )
    if isinstance(source, SpanSource):
        return SourceReader(source, (), np.asarray(source.size))
    raise SourceError(
        f"{where}: cannot be indexed (got {formats.seen_at(where)}); give a folder of classes, "
        "tars, shards or an FFCV file"
    )


def run(
    reader: Readable,
    step: int = seek_writer.STEP,
    count: int | None = None,
    advance: Advance = workers.ignore,
    committing: Committing = delayed,
    makers: "Makers | None" = None,
) -> IndexingSummary:
    """Build every index anew and put them in place at once.

    step: MCUs per entry, 0: rows only; makers: who builds them; None: `count` threads. Raises
    ConversionError.
    """
    seek_writer.check_step(step)
    makers = makers or Threads(count or usable_cores())
    if isinstance(reader, ShardsReader):
        return _shards(reader, step, makers, advance, committing)
    place, why = _place(reader), ""
    if place.beside:
        try:
            return _folder(reader, place, place.beside, step, makers, advance, committing)
        except ConversionError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in READ_ONLY:
                raise
        why = f", and {place.beside} cannot be written"
    try:
        if wrong := cache.trouble(place.cache):
            raise ConversionError(f"{wrong}{why}; set XDG_CACHE_HOME to a folder that can")
        cache.make(place.cache).close()
    except OSError as error:
        text = (
            f"{place.cache}: cannot be made ({error.strerror}){why}; set XDG_CACHE_HOME to a "
            "folder that can"
        )
        raise ConversionError(text) from error
    return _folder(reader, place, place.cache, step, makers, advance, committing)


class Makers(Protocol):
    """Who builds indexes."""

    def sidecars(
        self, reader: ShardsReader, rows: list[Longs], folder: Folder, step: int, advance: Advance
    ) -> list[Sidecar]:
        """Of each shard, under temporary names in the folder. rows: of each shard."""

    def build(self, reader: Reader, step: int, advance: Advance) -> Build:
        """Of all samples, for one file. Raises ConversionError."""


class Threads:
    """Threads of this process."""

    def __init__(self, count: int) -> None:
        self.count = count

    def sidecars(
        self, reader: ShardsReader, rows: list[Longs], folder: Folder, step: int, advance: Advance
    ) -> list[Sidecar]:
        def work(shard: int, stop: Stop) -> Sidecar:
            builder = seek_writer.built(reader, rows[shard].tolist(), step, advance, stop)
            return builder.finish(seek_writer.entry_beside(shards_writer.temporary(folder, shard)))

        return workers.run(range(len(rows)), work, self.count)

    def build(self, reader: Reader, step: int, advance: Advance) -> Build:
        return index_folder.by_threads(reader, step, self.count, advance)


class _Place(NamedTuple):
    """Where indexes go, and what they know the samples by."""

    kind: str
    beside: str  # the data; nothing: there are others' data
    cache: str  # where `beside` cannot be written
    names: Callable[[], list[str]]


def _place(reader: FolderReader | SourceReader) -> _Place:
    source = reader.source
    if isinstance(source, BetonSource):
        root = os.path.expanduser(source.where)
        names = partial(beton.sample_names, len(source))
        return _Place("file", beton.seek_folder(root), seek.cache_folder(root), names)
    assert isinstance(source, FileSource | SpanSource)
    known = seek_known.of(source)
    if isinstance(source, FileSource):
        return _Place("folder", *known)
    return _Place("span", known.root if os.path.isdir(source.where) else "", *known[1:])


def _folder(
    reader: FolderReader | SourceReader,
    place: _Place,
    folder: str,
    step: int,
    makers: Makers,
    advance: Advance,
    committing: Committing,
) -> IndexingSummary:
    one_file, names = place.kind == "file", place.names()
    needed = seek_writer.expected(reader.sizes, step) + sum(128 + len(name) for name in names)
    with (
        target.translated(folder, needed),
        inner(folder) if one_file else opened(folder) as held,
        target.lock(held, PATIENCE),
    ):
        build = makers.build(reader, step, advance)
        totals = index_folder.write(reader, names, held, step, build, committing)
    return IndexingSummary(
        place.kind,
        folder,
        len(reader.sizes),
        int(np.maximum(reader.sizes, 0).sum()),
        totals,
    )


def _shards(
    reader: ShardsReader, step: int, makers: Makers, advance: Advance, committing: Committing
) -> IndexingSummary:
    """New sidecars, and the index with their places. The old ones hold until then."""
    where, index = reader.source.where, reader.source.index
    rows = rows_of(index)

    with target.being_extended(
        where, seek_writer.expected(reader.sizes, step) + 2 * len(index) * 128
    ) as folder:
        sidecars = makers.sidecars(reader, rows, folder, step, advance)
        files = [
            Shard(seek_writer.beside(shard.name), sidecar.bytes, sidecar.checksum)
            for shard, sidecar in zip(index.shards, sidecars, strict=True)
        ]
        offset, size = (np.zeros(len(index), np.int64) for _ in range(2))
        for shard, sidecar in zip(rows, sidecars, strict=True):
            offset[shard], size[shard] = sidecar.offset, sidecar.size
        content = index_writer.with_sidecars(where, index, offset, size, files)
        pairs = [
            (os.path.basename(sidecar.path), file.name)
            for sidecar, file in zip(sidecars, files, strict=True)
        ]
        commits.remove_temporary(folder, {commits.UNFINISHED, *(name for name, _ in pairs)})
        with committing():
            local.made_anew(folder, where, index.checksum, _native.xxh3(content))
            commits.replace_index(folder, pairs, content, index.checksum)
    return IndexingSummary(
        "shards", where, len(index), int(reader.sizes.sum()), seek_writer.total(sidecars)
    )
