"""FFCV files as a source: one field with images, one with integer labels, others beside them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from functools import cached_property

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import beton_file, field_types, seek
from fastload.sources import fields as beside
from fastload.sources.base import Location, SeekFile
from fastload.sources.beton_file import RAW, BetonFile
from fastload.sources.fields import Field
from fastload.sources.labels import nameless
from fastload.spec import Ints, Longs, Pixels

Chosen = tuple[str, str]  # names of the image's and the label's field


@dataclass(frozen=True, eq=False)
class BetonSource:
    """A `Source`; pickling keeps the path only, and the other process opens it again."""

    where: str
    file: BetonFile
    image: int  # number of the field
    label: int
    sum: int  # XXH3 of the rows
    seek: SeekFile | None = None
    fields: tuple[Field, ...] = attribute(default=(), kw_only=True)

    def __len__(self) -> int:
        return len(self.file)

    def __reduce__(self) -> tuple[object, ...]:
        names = [field.name for field in self.fields]
        return reopen, (self.where, self.chosen, self.sum, names)

    @property
    def chosen(self) -> Chosen:
        return self.file.names[self.image], self.file.names[self.label]

    @cached_property
    def labels(self) -> Longs:
        return np.ascontiguousarray(self.file.column(self.label), np.int64)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        return nameless(int(self.labels.min()), int(self.labels.max()))

    @cached_property
    def files(self) -> _native.Files:
        return _native.Files([self.where], keep_open=True)

    def locate(self, samples: Longs) -> Location:
        offset, size, raw = self._places
        indexes = self.seek.locate(samples) if self.seek else None
        return Location(
            np.zeros(len(samples), np.int64),
            offset[samples],
            size[samples],
            None,
            indexes,
            raw[samples],
        )

    @cached_property
    def _places(self) -> tuple[Longs, Longs, Ints]:
        """Of all samples: offset, size, and `Location.raw`. Kept, since finding the payload of an
        address takes as long as making a small image.
        """
        cells = self.file.column(self.image)
        raw = np.stack([cells["height"], cells["width"]], axis=1).astype(np.int32)
        raw[cells["mode"] != RAW] = 0
        size = self.file.size_at(cells["data_ptr"])
        return cells["data_ptr"].astype(np.int64), size, raw

    def sizes(self, samples: Longs) -> Ints:
        """int32 [N, 2]: heights and widths, px, as the file's rows say."""
        cells = self.file.column(self.image)[samples]
        return np.stack([cells["height"], cells["width"]], axis=1).astype(np.int32)

    def most_pixels(self) -> int:
        """Of the largest image, as the file's rows say."""
        cells = self.file.column(self.image)
        return int((cells["height"].astype(np.int64) * cells["width"]).max())

    def pixels(self, sample: int) -> Pixels | None:
        """uint8 [H, W, 3] of an image that is stored raw; None for a JPEG."""
        raw = self.file.column(self.image)[sample]["mode"] == RAW
        return self.file.value(self.chosen[0], sample) if raw else None

    def name(self, sample: int) -> str:
        return f"{self.where}[{sample}]"


def load(where: str, fields: Chosen | None = None) -> BetonSource:
    """The file at `where`.

    fields: None takes the first field of images and the first of integers. Raises SourceError.
    """
    file = beton_file.read(where)
    image, label = (
        _find(file, kind, position, fields) for position, kind in enumerate(("image", "int"))
    )
    folders = [
        folder for folder in (seek_folder(where), seek.cache_folder(where)) if os.path.isdir(folder)
    ]
    index = seek.find(sample_names(len(file)), folders).seek if folders else None
    return BetonSource(where, file, image, label, _native.xxh3(file.rows.tobytes()), index)


def with_fields(source: BetonSource, names: Sequence[str]) -> BetonSource:
    """The same data set, with these of its fields. Raises SourceError."""
    return replace(source, fields=tuple(_beside(source, name) for name in names))


def _beside(source: BetonSource, name: str) -> Field:
    """Raises SourceError."""
    file = source.file
    if name not in file.names:
        raise beside.lacking(source.where, name, file.names)
    number = file.names.index(name)
    kind, cells = file.fields[number].kind, file.column(number)
    if kind in ("int", "float"):  # they lie in the rows, which are in memory
        size = np.full(len(cells), cells.dtype.itemsize, np.int64)
        what = field_types.of_numbers(cells.dtype.str)
        return Field(name, what, np.cumsum(size) - size, size, data=cells.tobytes())
    if kind in ("bytes", "json"):
        what = "bytes" if kind == "bytes" else field_types.ENDED_JSON
        offset, size = (cells[each].astype(np.int64) for each in ("ptr", "size"))
        return Field(name, what, offset, size)
    if kind == "image":
        offset = cells["data_ptr"].astype(np.int64)
        return Field(name, "bytes", offset, file.size_at(cells["data_ptr"]))
    said = file.fields[number]
    if said.dtype is None or said.dtype.kind == "c":
        raise SourceError(
            f"{source.where}: field {name!r} holds complex numbers; name another field"
        )
    size = np.full(len(cells), said.array_bytes, np.int64)
    what = field_types.of_numbers(said.dtype.str, said.shape)
    return Field(name, what, cells.astype(np.int64), size)


def reopen(where: str, fields: Chosen, checksum: int, names: Sequence[str] = ()) -> BetonSource:
    """`load` in another process; raises SourceError if the file was replaced meanwhile."""
    source = load(where, fields)
    if source.sum != checksum:
        raise SourceError(
            f"{where}: was replaced while in use (rows {source.sum:016x}, want {checksum:016x}); "
            "open it again"
        )
    return with_fields(source, names)


def seek_folder(where: str) -> str:
    """Where the seek indexes of a file lie: beside it."""
    return os.fspath(where) + ".seek"


def sample_names(count: int) -> list[str]:
    """What seek indexes know the samples by: their numbers."""
    return [str(sample) for sample in range(count)]


def _find(file: BetonFile, kind: str, position: int, fields: Chosen | None) -> int:
    """The number of the field to take."""
    wanted = fields[position] if fields else None
    for number, field in enumerate(file.fields):
        if field.kind == kind and wanted in (None, field.name):
            return number
    has = ", ".join(f"{field.name!r} ({field.kind})" for field in file.fields)
    what = f"no {kind} field" + (f" {wanted!r}" if wanted else "")
    raise SourceError(
        f"{file.where}: has {what} (has {has}); name the fields with images and labels: "
        "fields=(IMAGE, LABEL)"
    )
