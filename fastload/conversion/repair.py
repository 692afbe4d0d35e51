"""Make again what is damaged in a converted data set: only the shards and sidecars that verify names, from the source.

Each file is put in place by one rename, and only if it has the checksum that the index says: the data set is never less whole than before.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion import editing, samples, seek_writer, shards_writer, tar, target, transcoding, verify, workers
from fastload.conversion.appending import Appender
from fastload.conversion.readers.base import Extra, Reader, listed
from fastload.conversion.samples import BadSampleError
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError
from fastload.files.below import Folder, Place, no_wait
from fastload.files.names import Inner
from fastload.sources import seek
from fastload.sources.shards import Index
from fastload.spec import Longs


@dataclass(frozen=True)
class Summary:
    """What was made again."""

    files: tuple[str, ...]  # names of shards and sidecars
    samples: int  # taken from the source
    damages: int  # that verify had found


class _MissingError(Exception):
    """A sample that neither the shard nor the source has as it was."""


def run(
    where: str, reader: Reader, edits: editing.Edits = editing.UNCHANGED, count: int | None = None, advance: Advance = workers.ignore
) -> Summary:
    """Mend the data set at `where` from the samples of `reader`, which have the keys that they had when it was converted.

    edits: those of the conversion. Raises ConversionError, with what cannot be mended; the rest is mended all the same.
    """
    index = verify.prepare(where)
    if not isinstance(index, Index):
        what = str(index.damages[0]) if isinstance(index, verify.Damaged) else f"{where}: is no converted data set"
        raise ConversionError(f"{what}; convert the source again, with --overwrite")
    report = verify.verify(index, count, advance)
    names = {os.path.basename(damage.file) for damage in report.damages}
    if not names:
        return Summary((), 0, 0)
    rows, mended, problems, fetched = verify.rows_of(index), list[str](), list[str](), 0
    source = _Source(reader, edits, transcode=index.transcoded is not None)
    shards = [number for number, shard in enumerate(index.shards) if shard.name in names]
    sidecars = [number for number, sidecar in enumerate(index.sidecars) if sidecar.name in names]
    needed = sum(index.shards[number].bytes for number in shards) + sum(index.sidecars[number].bytes for number in sidecars)
    with target.being_extended(where, needed) as folder:
        for number in shards:
            try:
                fetched += _shard(folder, index, number, rows[number], source)
                mended.append(index.shards[number].name)
            except _MissingError as error:
                problems.append(str(error))
        for number in sidecars:
            if _sidecar(folder, index, number, rows[number]):
                mended.append(index.sidecars[number].name)
            else:
                problems.append(f"{os.path.join(where, index.sidecars[number].name)}: cannot be made as it was; run fastload index {where}")
        target.discard(folder)
    if problems:
        raise ConversionError(f"{where}: {len(mended)} files mended, {len(problems)} not\n{listed(problems)}")
    return Summary(tuple(mended), fetched, len(report.damages))


class _Source:
    """Samples by key, as the conversion wrote them."""

    def __init__(self, reader: Reader, edits: editing.Edits, *, transcode: bool) -> None:
        self.reader, self.edits, self.transcode = reader, edits, transcode
        self.place: Mapping[str, int] = {key: sample for sample, key in enumerate(reader.keys)}

    def image(self, key: str, want: int) -> bytes:
        """Raises _MissingError if the source has it not, or otherwise."""
        try:
            data = editing.edit(self.reader.read(self._sample(key)), self.edits)
        except BadSampleError as error:
            raise _MissingError(f"sample {key}: the source's {error}") from error
        for made in (data, transcoding.rewrite(data).data if self.transcode else b""):
            if _native.xxh3(made) == want:
                return made
        text = f"the source has other bytes (checksum got {_native.xxh3(data):016x}, want {want:016x})"
        raise _MissingError(f"sample {key}: {text}; give the source and the options of the conversion")

    def beside(self, key: str, name: str, want: int) -> bytes:
        found: tuple[Extra, ...] = self.reader.extras(self._sample(key))
        for extra in found:
            if extra.name == name and _native.xxh3(extra.data) == want:
                return extra.data
        raise _MissingError(f"sample {key}: the source has no such {name}; give the source of the conversion")

    def _sample(self, key: str) -> int:
        if key not in self.place:
            raise _MissingError(f"sample {key}: is not in {self.reader.where}; give the source of the conversion")
        return self.place[key]


def _shard(folder: Folder, index: Index, number: int, rows: Longs, source: _Source) -> int:
    """Write a shard anew, with what is good of it; how many files came from the source. Raises _MissingError."""
    shard = index.shards[number]
    path = os.path.join(index.where, shard.name)
    try:
        data, _ = verify.read_shard(path)
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
            raise _MissingError(f"{path}: holds more than the index names (it was filtered); take the shard from where it came")
    _put(temporary, shard.name)
    return fetched


def _sample(index: Index, row: int, data: memoryview, source: _Source, archive: tar.Archive) -> int:
    """Append a sample, from `data` where that is good; how many files came from the source. Raises _MissingError."""
    key, place = index.key(row), np.array([row])
    offset, size, want, label = (int(index.columns[name][place][0]) for name in ("offset", "size", "checksum", "label"))
    image = _good(data, offset, size, want)
    fetched = int(image is None)
    archive.add(key, samples.extension(index.format(row)), label, image if image is not None else source.image(key, want))
    for extra in index.extras[row] if index.extras else ():
        kept = _good(data, extra.offset, extra.size, extra.checksum)
        fetched += kept is None
        archive.add_extra(key, extra.name, kept if kept is not None else source.beside(key, extra.name, extra.checksum))
    return fetched


def _good(data: memoryview, offset: int, size: int, want: int) -> bytes | None:
    part = bytes(data[offset : offset + size])
    return part if len(part) == size and _native.xxh3(part) == want else None


def _sidecar(folder: Folder, index: Index, number: int, rows: Longs) -> bool:
    """Make a sidecar from its shard; whether it is as it was."""
    sidecar = index.sidecars[number]
    try:
        data, _ = verify.read_shard(os.path.join(index.where, index.shards[number].name))
    except OSError:
        return False
    for step in _steps(index):
        builder = seek_writer.Builder(step)
        for offset, size in zip(*(index.columns[name][rows].tolist() for name in ("offset", "size")), strict=True):
            builder.add(bytes(data[offset : offset + size]))
        made = builder.finish(None, write=False)
        if (made.bytes, made.checksum) == (sidecar.bytes, sidecar.checksum):
            place = seek_writer.beside_place(shards_writer.temporary(folder, number))
            folder.write(place.name, b"".join(builder.parts))
            _put(place, sidecar.name)
            return True
    return False


def _steps(index: Index) -> list[int]:
    """MCUs per entry that the sidecars say, which are all the same; the usual number where none can be read."""
    found = []
    for sidecar in index.sidecars:
        try:
            with open(os.path.join(index.where, sidecar.name), "rb", opener=no_wait) as file:
                magic, version, step = seek.HEADER.unpack(file.read(seek.HEADER.size).ljust(seek.HEADER.size, b"\0"))
        except OSError:
            continue
        if (magic, version) == (seek.MAGIC, seek.VERSION) and step <= seek_writer.MOST_STEP and step not in found:
            found.append(step)
    return [*found, *({seek_writer.STEP} - set(found))]


def _put(place: Place, name: str) -> None:
    place.folder.put(place.name, Inner(name))
    place.folder.sync()
