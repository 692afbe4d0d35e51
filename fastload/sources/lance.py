"""Lance data sets of images, read where they lie: those whose column of images is of blobs.

Lance's library tells where each blob lies in the files of the data set (lance_look.py). That is
kept in the user's cache; until there is a newer version of the data set, the library is not needed
again.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fastload.errors import SourceError
from fastload.sources import lance_library, lance_look, lance_versions, span_files, span_index
from fastload.sources.base import Location
from fastload.sources.columns import Numbers
from fastload.sources.fields import Field
from fastload.sources.labels import none
from fastload.sources.lance_library import Fragment, Table
from fastload.sources.lance_places import Places, file_at
from fastload.sources.lance_rows import FILE, OFFSET, SIZE, LanceRows, recalled
from fastload.sources.mapped import SpanSource
from fastload.sources.table_fields import GapsError, Values
from fastload.sources.table_labels import classes_of
from fastload.spec import Longs


@dataclass(frozen=True, eq=False)
class LanceSource(SpanSource):
    """The images of one version of a data set."""

    rows: LanceRows = field(kw_only=True)

    def locate(self, samples: Longs) -> Location:
        seek = self.seek.locate(samples) if self.seek else None
        file, offset, size = self.rows.take(samples, FILE, OFFSET, SIZE)
        return Location(file, offset, size, None, seek)


def load(where: str, fields: tuple[str, str] | None = None) -> LanceSource:
    """The newest version of the data set in the folder `where`.

    fields: the names of the columns with images and labels; None takes the first of blobs whose
    first value is an image, and the first that is called as labels are. Raises SourceError.
    """
    version = lance_versions.newest(where)
    index = span_index.path_of("lance", where, *(fields or ()))
    rows = recalled(index, where, version)
    if rows is None:
        rows = lance_look.looked(where, index, version, fields)
    labels: Numbers = rows.column("label")
    classes = none(0)[1]
    if rows.label:
        labels, classes = classes_of(where, labels, rows.kind, rows.texts, rows.class_names)
    file, offset, size = map(rows.column, ("file", "offset", "size"))
    return LanceSource(where, rows.paths(where), file, offset, size, labels, classes, rows=rows)


def with_fields(source: LanceSource, names: Sequence[str]) -> LanceSource:
    """The same data set, with these of its columns, held in memory. Raises SourceError."""
    table = lance_library.opened(source.where)
    if table.version != source.rows.version.number:
        raise SourceError(f"{source.where}: changed since it was read; open it again")
    return replace(source, fields=tuple(_field(source, table, name) for name in names))


def _field(source: LanceSource, table: Table, name: str) -> Field:
    """Raises SourceError."""
    try:
        return _held(table, Values(source, name))
    except GapsError:
        return _held(table, Values(source, name, gaps=True))


def _held(table: Table, values: Values) -> Field:
    """Raises SourceError and GapsError."""
    values.begin(table.where, table.schema)
    blobs = values.name in table.blobs
    for fragment in table.fragments:
        for batch in table.batches([values.name], fragment.number):
            try:
                if blobs:
                    _put_blobs(table, fragment, values, batch.column(values.name))
                else:
                    values.add(batch.column(values.name))
            except TypeError as error:
                raise values.refused(table.where, table.schema) from error
    return values.field()


def _put_blobs(table: Table, fragment: Fragment, values: Values, array: Any) -> None:
    """Read from where they lie. Raises SourceError."""
    where, name, first = table.where, values.name, values.count
    found = lance_look.of_column(table, fragment, name, array, first)
    if found.missing.any():
        values.put(len(array), np.flatnonzero(found.missing), [])
        return
    files = [file_at(where, each) for each in found.names]
    sizes = np.array([stamp.size for _, stamp in files], np.int64)
    lance_look.inside(where, name, found, sizes, first)
    values.check(values.data.tell() + int(found.size.sum()))
    out = [b""] * len(array)
    for number, (path, _) in enumerate(files):
        rows = np.flatnonzero(found.file == number).tolist()
        for row, value in zip(rows, _values(path, found, rows), strict=True):
            out[row] = value
    values.put(len(array), np.flatnonzero(found.missing), out)


def _values(path: str, found: Places, rows: list[int]) -> list[bytes]:
    """Of these rows, in one file. Raises SourceError."""
    offset, size = found.offset.tolist(), found.size.tolist()
    with span_files.readable(path) as file:
        out = [os.pread(file.fileno(), size[row], offset[row]) for row in rows]
    if any(len(value) != size[row] for value, row in zip(out, rows, strict=True)):
        raise SourceError(f"{path}: was cut off while it was read; open it again")
    return out
