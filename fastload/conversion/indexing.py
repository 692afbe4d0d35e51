"""Seek indexes for data that lies there already: beside shards, or beside (else in the cache for) a plain folder."""

import errno
import os
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion import index_folder, index_writer, seek_writer, shards_writer, target, workers
from fastload.conversion.readers import FolderReader, ShardsReader, file_sizes
from fastload.conversion.seek_writer import Sidecar
from fastload.conversion.verify import rows_of
from fastload.conversion.workers import Advance, Stop
from fastload.errors import ConversionError, SourceError
from fastload.machine import usable_cores
from fastload.sources import FileSource, open_source, seek
from fastload.sources.arrow import import_arrow
from fastload.sources.shards import Shard, ShardSource

PATIENCE = 10.0  # s to wait for a loader that adds to the same cache
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Summary:
    """What was indexed."""

    kind: str  # "shards" or "folder"
    where: str  # the folder that holds the indexes
    samples: int
    bytes: int  # of the images
    seek: seek_writer.Totals


def prepare(where: str) -> FolderReader | ShardsReader:
    """What is to be indexed. Raises SourceError, ConversionError."""
    import_arrow(where, ConversionError, "a seek index needs")
    source = open_source(where)
    if isinstance(source, ShardSource):
        return ShardsReader(source, (), source.index.columns["size"].all())
    if isinstance(source, FileSource):
        return FolderReader(source, (), file_sizes(source.paths))
    raise SourceError(f"{where}: cannot be indexed (got {type(source).__name__}); give a folder of classes or shards")


def run(
    reader: FolderReader | ShardsReader, step: int = seek_writer.STEP, count: int | None = None, advance: Advance = workers.ignore
) -> Summary:
    """Build every index anew and put them in place at once. step: MCUs per entry, 0: rows only. Raises ConversionError."""
    seek_writer.check_step(step)
    count = count or usable_cores()
    if isinstance(reader, ShardsReader):
        return _shards(reader, step, count, advance)
    root = os.path.expanduser(reader.source.where)
    try:
        return _folder(reader, root, step, count, advance)
    except ConversionError as error:
        if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in READ_ONLY:
            raise
    folder = seek.cache_folder(root)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        text = f"{folder}: cannot be made ({error.strerror}), and {root} cannot be written; set XDG_CACHE_HOME to a folder that can"
        raise ConversionError(text) from error
    return _folder(reader, folder, step, count, advance)


def _folder(reader: FolderReader, folder: str, step: int, count: int, advance: Advance) -> Summary:
    needed = seek_writer.expected(reader.sizes, step) + sum(128 + len(path) for path in reader.source.paths)
    with target.translated(folder, needed), target.locked(folder, PATIENCE):
        totals = index_folder.write(reader, folder, step, count, advance)
    return Summary("folder", folder, len(reader.sizes), int(np.maximum(reader.sizes, 0).sum()), totals)


def _shards(reader: ShardsReader, step: int, count: int, advance: Advance) -> Summary:
    """New sidecars, and the index with their places. The old ones hold until then."""
    where, index = reader.source.where, reader.source.index
    rows = rows_of(index)

    def work(shard: int, stop: Stop) -> Sidecar:
        builder = seek_writer.Builder(step)
        for sample in rows[shard].tolist():
            stop.check()
            builder.add_sample(reader, sample)
            advance(1, int(reader.sizes[sample]))
        return builder.finish(seek_writer.beside(shards_writer.temporary(where, shard)))

    with target.being_extended(where, seek_writer.expected(reader.sizes, step) + 2 * len(index) * 128):
        sidecars = workers.run(range(len(index.shards)), work, count)
        files = [
            Shard(seek_writer.beside(shard.name), sidecar.bytes, sidecar.checksum)
            for shard, sidecar in zip(index.shards, sidecars, strict=True)
        ]
        offset, size = (np.zeros(len(index), np.int64) for _ in range(2))
        for shard, sidecar in zip(rows, sidecars, strict=True):
            offset[shard], size[shard] = sidecar.offset, sidecar.size
        content = index_writer.with_sidecars(where, index, offset, size, files)
        pairs = [(os.path.basename(sidecar.path), file.name) for sidecar, file in zip(sidecars, files, strict=True)]
        target.replace_index(where, pairs, content, (index.checksum, _native.xxh3(content)))
    return Summary("shards", where, len(index), int(reader.sizes.sum()), seek_writer.total(sidecars))
