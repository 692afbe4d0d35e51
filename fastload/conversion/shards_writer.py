"""fastload's shards: WebDataset tars with an index and seek indexes."""

import os
import secrets
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing

from fastload import _native
from fastload.conversion import (
    commits,
    index_writer,
    seek_writer,
    staging,
    tar,
    target,
    transcoding,
)
from fastload.conversion.appending import Appender
from fastload.conversion.index_writer import Extras
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, Row, Written, bad_lines, written
from fastload.conversion.readers.base import Reader
from fastload.conversion.writers import Catalog, Committed, Samples, Wanted
from fastload.files.below import DirEntry, Folder
from fastload.files.names import Inner
from fastload.sources.extras import Placed
from fastload.sources.shard_index import BAD, Shard
from fastload.sources.shards import TEMPORARY

Announce = Callable[[Sequence[tuple[str, str]]], None]


def temporary(folder: Folder, shard: int, extension: str = ".tar") -> DirEntry:
    """Where a part goes until it is committed: nobody can guess it, and the journal says it."""
    return DirEntry(folder, Inner(f"{TEMPORARY}{shard:06d}-{secrets.token_hex(8)}{extension}"))


def write_shard(
    entry: DirEntry, samples: Samples, wanted: Wanted, seek_step: int | None
) -> Written:
    """The samples in one tar at `entry`, their seek indexes beside it.

    Raises OSError, workers.StoppedError.
    """
    seek = seek_writer.Builder(seek_step)
    rows, offsets, extras = list[Row](), list[int](), list[tuple[Placed, ...]]()
    with closing(Appender(entry, lambda: bool(rows) and wanted(samples))) as file:
        archive = tar.Archive(file)
        for item in samples:
            rows.append(item.row)
            offsets.append(archive.add(item.key, item.extension, item.label, item.data))
            extras.append(
                tuple(
                    Placed(
                        extra.name,
                        archive.add_extra(item.key, extra.name, extra.data),
                        len(extra.data),
                        _native.xxh3(extra.data),
                    )
                    for extra in item.extras
                )
            )
            seek.put(item.index, item.reason)
        whole = archive.finish()
    return written(
        entry.path, whole, rows, offsets, bad=tuple(samples.bad), transcoding=samples.tally,
        sidecar=seek.finish(seek_writer.entry_beside(entry), write=bool(rows) and wanted(samples)),
        extras=tuple(extras) if any(extras) else (),
    )  # fmt: skip


def is_intact(part: Written) -> bool:
    """Whether the shard and its sidecar are as they were written."""
    files = [(part.path, part.bytes, part.checksum)]
    if part.sidecar.bytes:
        files.append((part.sidecar.path, part.sidecar.bytes, part.sidecar.checksum))
    return not len(part.samples) or all(same(*file) for file in files)


def same(path: str, size: int, checksum: int) -> bool:
    """Whether a file, and no link, has this size and XXH3-64."""
    try:
        facts = os.lstat(path)
        return (
            stat.S_ISREG(facts.st_mode)
            and facts.st_size == size
            and _native.Files([path], keep_open=False).xxh3(0, size) == checksum
        )
    except OSError:
        return False


class ShardsWriter:
    """fastload's own format; docs/formats.md."""

    copies = 0

    def __init__(self, where: str, seek_step: int | None, *, transcode: bool) -> None:
        self.where, self.seek_step, self.transcode = where, seek_step, transcode
        self.hold = target.Hold(where)

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[target.Hold]:
        return target.being_written(self.hold, needed, overwrite=overwrite, resume=resume)

    def write(self, number: int, samples: Samples, wanted: Wanted) -> Written:
        return write_shard(temporary(self.hold.into, number), samples, wanted, self.seek_step)

    def intact(self, part: Written) -> bool:
        return is_intact(part)

    def commit(self, parts: Sequence[Written], catalog: Catalog, announce: Announce) -> Committed:
        full, pairs, index = self.result(parts, catalog)
        announce(pairs)
        commits.commit(self.hold.into, pairs, index, bad_lines(all_bad(parts)))
        return Committed(len(full), sum(part.bytes for part in full))

    def result(
        self, parts: Sequence[Written], catalog: Catalog
    ) -> tuple[list[Written], list[tuple[str, str]], memoryview]:
        """The parts that hold samples, the temporary and the final names of all files, the
        index.
        """
        full = [part for part in parts if len(part.samples)]
        names = [f"shard-{number:06d}.tar" for number in range(len(full))]
        pairs = [
            (os.path.basename(part.path), name) for part, name in zip(full, names, strict=True)
        ]
        sidecars = [] if self.seek_step is None else [
            Shard(seek_writer.beside(name), part.sidecar.bytes, part.sidecar.checksum) for part,
            name in zip(full, names, strict=True)
        ]  # fmt: skip
        pairs += [
            (os.path.basename(part.sidecar.path), sidecar.name)
            for part, sidecar in zip(full, sidecars, strict=False)
        ]
        rewritten = transcoding.total((part.transcoding for part in full), on=self.transcode)
        count = sum(rewritten.images.values()) if rewritten.on else None
        index = index_writer.index_bytes(self.where, catalog, full, names, Extras(sidecars, count))
        return full, pairs, index


def open_writer(where: str, reader: Reader, options: Options) -> ShardsWriter:
    return ShardsWriter(where, options.seek_step, transcode=options.transcode)


def commit_staged(
    stage: staging.Stage,
    parts: Sequence[Written],
    names: Sequence[str],
    more: dict[str, bytes],
    announce: Announce,
) -> Committed:
    """One file per part under its final name, and `more` files, in a folder that takes the target's
    place.
    """
    full = [part for part in parts if len(part.samples)]
    pairs = [(os.path.basename(part.path), name) for part, name in zip(full, names, strict=True)]
    announce(pairs)
    if bad := bad_lines(all_bad(parts)):
        more = {**more, BAD: bad}
    for name, content in more.items():
        stage.into.replace(Inner(name), content)
    stage.rename(pairs)
    remove_others(stage.into, {*names, *more})
    stage.commit()
    return Committed(len(full), sum(part.bytes for part in full))


def remove_others(folder: Folder, names: set[str]) -> None:
    """Whatever an earlier run has left and this one does not need."""
    for name in folder.names():
        if name not in names:
            folder.remove_tree(name)


def all_bad(parts: Sequence[Written]) -> list[Bad]:
    return sorted((bad for part in parts for bad in part.bad), key=lambda bad: bad.sample)
