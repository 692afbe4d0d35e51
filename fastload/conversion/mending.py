"""One shard, or one sidecar, made anew as it was: from what is good of it, and from the source.

What the index does not name may lie in a shard as well: samples that were deleted since, which an
older index names, and those that a filter has left out. They stay where they are, and are named no
more than before.
"""

import contextlib
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion import (
    editing,
    samples,
    seek_writer,
    shards_writer,
    tar,
    transcoding,
    verify_shards,
)
from fastload.conversion.appending import Appender
from fastload.conversion.readers.base import Extra, Reader
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from fastload.files.below import DirEntry, Folder
from fastload.files.names import Inner
from fastload.files.opening import no_wait
from fastload.sources import seek, shard_versions
from fastload.sources.shard_index import Index, read_index
from fastload.sources.shard_versions import Version
from fastload.spec import Longs


class MissingError(Exception):
    """A sample that neither the shard nor the source has as it was."""


@dataclass(frozen=True)
class Lying:
    """A sample that lies in a shard, and an index that names it."""

    index: Index
    row: int

    def numbers(self, *names: str) -> list[int]:
        at = np.array([self.row])
        return [int(self.index.columns[name][at][0]) for name in names]

    @property
    def extension(self) -> str:
        return samples.extension(self.index.format(self.row))

    @property
    def begin(self) -> int:
        """Where its first header does."""
        offset, size = self.numbers("offset", "size")
        return offset - len(tar.before(self.index.key(self.row), self.extension, size))


class Older:
    """The indexes of older versions of a data set; read when they are needed."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._read: list[Index] | None = None

    def indexes(self) -> list[Index]:
        """Those that can be read, the newest first."""
        if self._read is None:
            self._read = []
            index = self.index
            said: tuple[Version, ...] = ()
            with contextlib.suppress(SourceError):
                said = shard_versions.of(index.where, len(index), index.checksum)
            # What a version that only added has is in the next one too
            for version, then in reversed(list(itertools.pairwise(said))):
                if not then.deleted:
                    continue
                with contextlib.suppress(SourceError):
                    old = read_index(index.where, shard_versions.index_name(version.number))
                    if old.checksum == version.checksum and not old.row_problems():
                        self._read.append(old)
        return self._read

    def lying(self, number: int, rows: Longs) -> list[Lying]:
        """All that lies in shard `number`, in the order of the offsets. rows: the index's."""
        index = self.index
        found = dict(zip(index.columns["offset"][rows].tolist(),
                         (Lying(index, row) for row in rows.tolist()), strict=True))  # fmt: skip
        for old in self.indexes():
            if number < len(old.shards) and old.shards[number] == index.shards[number]:
                there = np.flatnonzero(old.columns["shard"].all() == number)
                for offset, row in zip(
                    old.columns["offset"][there].tolist(), there.tolist(), strict=True
                ):
                    found.setdefault(offset, Lying(old, row))
        return [found[offset] for offset in sorted(found)]


class Source:
    """Samples by key, as the conversion wrote them."""

    def __init__(
        self, reader: Reader, edits: editing.Edits, *, transcode: bool, where: str = ""
    ) -> None:
        """where: what the user calls the source, for messages; else as the reader says."""
        self.reader, self.edits, self.transcode = reader, edits, transcode
        self.where = where or reader.where
        self.samples: Mapping[str, int] = {key: sample for sample, key in enumerate(reader.keys)}

    def image(self, key: str, want: int) -> bytes:
        """Raises MissingError if the source has it not, or otherwise."""
        try:
            data = editing.edit(self.reader.read(self._sample(key)), self.edits)
        except BadSampleError as error:
            raise MissingError(f"sample {key}: the source's {error}") from error
        for candidate in (data, transcoding.rewrite(data).data if self.transcode else b""):
            if _native.xxh3(candidate) == want:
                return candidate
        text = (
            f"the source has other bytes (checksum got {_native.xxh3(data):016x}, want {want:016x})"
        )
        raise MissingError(
            f"sample {key}: {text}; give the source and the options of the conversion"
        )

    def beside(self, key: str, name: str, want: int) -> bytes:
        extras: tuple[Extra, ...] = self.reader.extras(self._sample(key))
        for extra in extras:
            if extra.name == name and _native.xxh3(extra.data) == want:
                return extra.data
        raise MissingError(
            f"sample {key}: the source has no such {name}; give the source of the conversion"
        )

    def _sample(self, key: str) -> int:
        if key not in self.samples:
            raise MissingError(
                f"sample {key}: is not in {self.where}; give the source of the conversion"
            )
        return self.samples[key]


def shard(
    folder: Folder,
    index: Index,
    number: int,
    lying: Sequence[Lying],
    source: Source,
    check: Callable[[], None],
) -> tuple[DirEntry, int]:
    """Write a shard anew, with what is good of it, under a temporary name; how many files came from
    the source.

    lying: what lies in it, as far as an index names it; check: asked between two of them, and
    between two reads; raises to give up. Raises MissingError, OSError.
    """
    want = index.shards[number]
    path = os.path.join(index.where, want.name)
    try:
        data, _ = verify_shards.read_shard(path, check)
    except OSError:
        data = memoryview(b"")
    temporary, fetched = shards_writer.temporary(folder, number), 0
    with closing(Appender(temporary)) as file:
        archive = tar.Archive(file)
        try:
            for each in lying:
                check()
                file.add(_unnamed(data, file.end, each.begin))
                fetched += _sample(each, data, source, archive)
            file.add(_unnamed(data, file.end, want.bytes - len(tar.END)))
        except MissingError:
            file.drop()
            raise
        if archive.finish() != (want.bytes, want.checksum):
            file.drop()
            raise MissingError(
                "holds samples that no index here names, and they are damaged too (it was "
                "filtered); take the shard from where it came"
            )
    return temporary, fetched


def _unnamed(data: memoryview, start: int, end: int) -> bytes:
    """What lies between two samples that are named, as it lies there; the checksum of the whole
    tells whether that is right.
    """
    return bytes(data[start:end])


def _sample(lying: Lying, data: memoryview, source: Source, archive: tar.Archive) -> int:
    """Append a sample, from `data` where that is good; how many files came from the source.

    Raises MissingError.
    """
    index, row = lying.index, lying.row
    key = index.key(row)
    offset, size, want, label = lying.numbers("offset", "size", "checksum", "label")
    image = _good(data, offset, size, want)
    fetched = int(image is None)
    archive.add(
        key,
        lying.extension,
        label,
        image if image is not None else source.image(key, want),
    )
    for extra in index.extras[row] if index.extras else ():
        kept = _good(data, extra.offset, extra.size, extra.checksum)
        fetched += kept is None
        archive.add_extra(
            key,
            extra.name,
            kept if kept is not None else source.beside(key, extra.name, extra.checksum),
        )
    return fetched


def _good(data: memoryview, offset: int, size: int, want: int) -> bytes | None:
    part = bytes(data[offset : offset + size])
    return part if len(part) == size and _native.xxh3(part) == want else None


def sidecar(
    folder: Folder,
    index: Index,
    number: int,
    path: str,
    held: Sequence[Sequence[Lying]],
    check: Callable[[], None],
) -> DirEntry | None:
    """Make a sidecar anew from its shard, which lies at `path`, under a temporary name; None: it
    cannot be made as it was.

    held: samples that it may hold the indexes of: with those that were deleted, or without, where
    it was made after that; check: as above. Raises OSError.
    """
    want = index.sidecars[number]
    try:
        data, _ = verify_shards.read_shard(path, check)
    except OSError:
        return None
    for step in steps(index):
        for lying in held:
            builder = seek_writer.Builder(step)
            for each in lying:
                check()
                offset, size = each.numbers("offset", "size")
                builder.add(bytes(data[offset : offset + size]))
            rebuilt = builder.finish(None, write=False)
            if (rebuilt.bytes, rebuilt.checksum) == (want.bytes, want.checksum):
                entry = seek_writer.entry_beside(shards_writer.temporary(folder, number))
                folder.write(entry.name, b"".join(builder.parts))
                return entry
    return None


def steps(index: Index) -> list[int]:
    """MCUs per entry that the sidecars say, which are all the same; the usual number where none can
    be read.
    """
    steps = []
    for sidecar in index.sidecars:
        try:
            with open(os.path.join(index.where, sidecar.name), "rb", opener=no_wait) as file:
                step = seek_writer.step_in(file.read(seek.HEADER.size))
        except OSError:
            continue
        if step is not None and step not in steps:
            steps.append(step)
    return [*steps, *({seek_writer.STEP} - set(steps))]


def put(folder: Folder, temporary: Inner, name: str) -> None:
    """Raises OSError."""
    folder.put(temporary, Inner(name))
    folder.sync()
