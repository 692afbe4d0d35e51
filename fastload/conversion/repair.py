"""Make again what is damaged in a converted data set: only the shards and sidecars that verify
names, from the source.

Each file is put in place by one rename, and only if it has the checksum that the index says: the
data set is never less whole than before.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion import (
    commits,
    editing,
    samples,
    seek_writer,
    shards_writer,
    tar,
    target,
    transcoding,
    verify,
    verify_shards,
    workers,
)
from fastload.conversion.appending import Appender
from fastload.conversion.readers.base import Extra, Reader
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError, listed
from fastload.files.below import DirEntry, Folder
from fastload.files.names import Inner
from fastload.files.opening import no_wait
from fastload.sources import seek
from fastload.sources.shard_index import Index
from fastload.sources.staging import local_only
from fastload.spec import Longs


@dataclass(frozen=True)
class RepairSummary:
    """What was made again."""

    files: tuple[str, ...]  # names of shards and sidecars
    samples: int  # taken from the source
    damages: int  # that verify had found


class _MissingError(Exception):
    """A sample that neither the shard nor the source has as it was."""


def run(
    where: str,
    reader: Reader,
    edits: editing.Edits = editing.UNCHANGED,
    count: int | None = None,
    advance: Advance = workers.ignore,
) -> RepairSummary:
    """Mend the data set at `where` from the samples of `reader`, which have the keys that they had
    when it was converted.

    edits: those of the conversion. Raises ConversionError, with what cannot be mended; the rest is
        mended all the same.
    """
    index = _index(where)
    report = verify.verify(index, count, advance)
    names = {os.path.basename(damage.file) for damage in report.damages}
    if not names:
        return RepairSummary((), 0, 0)
    repair = _Repair(index, _Source(reader, edits, transcode=index.transcoded is not None))
    repair.run(names)
    if repair.problems:
        raise ConversionError(
            f"{where}: {len(repair.mended)} files mended, {len(repair.problems)} not\n"
            f"{listed(repair.problems)}"
        )
    return RepairSummary(tuple(repair.mended), repair.fetched, len(report.damages))


def _index(where: str) -> Index:
    index = verify.prepare(local_only(where))
    if isinstance(index, Index):
        return index
    what = (
        str(index.damages[0])
        if isinstance(index, verify.Damaged)
        else f"{where}: is no converted data set"
    )
    raise ConversionError(f"{what}; convert the source again, with --overwrite")


class _Repair:
    """What is made again, and what cannot be.

    mended: names of files; problems: one line each; fetched: samples taken from the source.
    """

    def __init__(self, index: Index, source: "_Source") -> None:
        self.index, self.source, self.rows = index, source, verify.rows_of(index)
        self.mended, self.problems, self.fetched = list[str](), list[str](), 0

    def run(self, names: set[str]) -> None:
        """Make these files again, shards first: sidecars are made from them."""
        index = self.index
        shards = [number for number, file in enumerate(index.shards) if file.name in names]
        sidecars = [number for number, file in enumerate(index.sidecars) if file.name in names]
        needed = sum(index.shards[number].bytes for number in shards) + sum(
            index.sidecars[number].bytes for number in sidecars
        )
        with target.being_extended(index.where, needed) as folder:
            for number in shards:
                self._mend_shard(folder, number)
            for number in sidecars:
                self._mend_sidecar(folder, number)
            commits.discard(folder)

    def _mend_shard(self, folder: Folder, number: int) -> None:
        try:
            self.fetched += _shard(folder, self.index, number, self.rows[number], self.source)
            self.mended.append(self.index.shards[number].name)
        except _MissingError as error:
            self.problems.append(str(error))

    def _mend_sidecar(self, folder: Folder, number: int) -> None:
        name = self.index.sidecars[number].name
        if _sidecar(folder, self.index, number, self.rows[number]):
            self.mended.append(name)
        else:
            self.problems.append(
                f"{os.path.join(self.index.where, name)}: cannot be made as it was; run fastload "
                f"index {self.index.where}"
            )


class _Source:
    """Samples by key, as the conversion wrote them."""

    def __init__(self, reader: Reader, edits: editing.Edits, *, transcode: bool) -> None:
        self.reader, self.edits, self.transcode = reader, edits, transcode
        self.samples: Mapping[str, int] = {key: sample for sample, key in enumerate(reader.keys)}

    def image(self, key: str, want: int) -> bytes:
        """Raises _MissingError if the source has it not, or otherwise."""
        try:
            data = editing.edit(self.reader.read(self._sample(key)), self.edits)
        except BadSampleError as error:
            raise _MissingError(f"sample {key}: the source's {error}") from error
        for candidate in (data, transcoding.rewrite(data).data if self.transcode else b""):
            if _native.xxh3(candidate) == want:
                return candidate
        text = (
            f"the source has other bytes (checksum got {_native.xxh3(data):016x}, want {want:016x})"
        )
        raise _MissingError(
            f"sample {key}: {text}; give the source and the options of the conversion"
        )

    def beside(self, key: str, name: str, want: int) -> bytes:
        extras: tuple[Extra, ...] = self.reader.extras(self._sample(key))
        for extra in extras:
            if extra.name == name and _native.xxh3(extra.data) == want:
                return extra.data
        raise _MissingError(
            f"sample {key}: the source has no such {name}; give the source of the conversion"
        )

    def _sample(self, key: str) -> int:
        if key not in self.samples:
            raise _MissingError(
                f"sample {key}: is not in {self.reader.where}; give the source of the conversion"
            )
        return self.samples[key]


def _shard(folder: Folder, index: Index, number: int, rows: Longs, source: _Source) -> int:
    """Write a shard anew, with what is good of it; how many files came from the source.

    Raises _MissingError.
    """
    shard = index.shards[number]
    path = os.path.join(index.where, shard.name)
    try:
        data, _ = verify_shards.read_shard(path)
    except OSError:
        data = memoryview(b"")
    temporary, fetched = shards_writer.temporary(folder, number), 0
    with closing(Appender(temporary)) as file:
        archive = tar.Archive(file)
        try:
            for row in rows.tolist():
                fetched += _sample(index, row, data, source, archive)
        except _MissingError as error:
            file.drop()
            raise _MissingError(f"{path}: {error}") from error
        if archive.finish() != (shard.bytes, shard.checksum):
            file.drop()
            raise _MissingError(
                f"{path}: holds more than the index names (it was filtered); take the shard from "
                "where it came"
            )
    _put(temporary, shard.name)
    return fetched


def _sample(index: Index, row: int, data: memoryview, source: _Source, archive: tar.Archive) -> int:
    """Append a sample, from `data` where that is good; how many files came from the source.

    Raises _MissingError.
    """
    key, at = index.key(row), np.array([row])
    offset, size, want, label = (
        int(index.columns[name][at][0]) for name in ("offset", "size", "checksum", "label")
    )
    image = _good(data, offset, size, want)
    fetched = int(image is None)
    archive.add(
        key,
        samples.extension(index.format(row)),
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


def _sidecar(folder: Folder, index: Index, number: int, rows: Longs) -> bool:
    """Make a sidecar from its shard; whether it is as it was."""
    sidecar = index.sidecars[number]
    try:
        data, _ = verify_shards.read_shard(os.path.join(index.where, index.shards[number].name))
    except OSError:
        return False
    for step in _steps(index):
        builder = seek_writer.Builder(step)
        for offset, size in zip(
            *(index.columns[name][rows].tolist() for name in ("offset", "size")), strict=True
        ):
            builder.add(bytes(data[offset : offset + size]))
        rebuilt = builder.finish(None, write=False)
        if (rebuilt.bytes, rebuilt.checksum) == (sidecar.bytes, sidecar.checksum):
            entry = seek_writer.entry_beside(shards_writer.temporary(folder, number))
            folder.write(entry.name, b"".join(builder.parts))
            _put(entry, sidecar.name)
            return True
    return False


def _steps(index: Index) -> list[int]:
    """MCUs per entry that the sidecars say, which are all the same; the usual number where none can
    be read.
    """
    steps = []
    for sidecar in index.sidecars:
        try:
            with open(os.path.join(index.where, sidecar.name), "rb", opener=no_wait) as file:
                magic, version, step = seek.HEADER.unpack(
                    file.read(seek.HEADER.size).ljust(seek.HEADER.size, b"\0")
                )
        except OSError:
            continue
        if (
            (magic, version) == (seek.MAGIC, seek.VERSION)
            and (step <= seek_writer.MOST_STEP or step == seek_writer.COEFFICIENTS)
            and step not in steps
        ):
            steps.append(step)
    return [*steps, *({seek_writer.STEP} - set(steps))]


def _put(entry: DirEntry, name: str) -> None:
    entry.folder.put(entry.name, Inner(name))
    entry.folder.sync()
