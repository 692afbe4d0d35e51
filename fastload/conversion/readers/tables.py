"""Hugging Face's tables:

Parquet and Arrow files with a column of encoded images. Nothing of `datasets` is needed.
"""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastload.conversion.readers import table_files, table_objects, table_values
from fastload.conversion.readers.base import (
    FATAL,
    LARGEST,
    Choice,
    Extra,
    Listing,
    stamp_of,
)  # fmt: skip
from fastload.conversion.readers.table_files import TableFile
from fastload.conversion.samples import BadSampleError, extension, headers
from fastload.detection import record
from fastload.errors import SourceError, listed
from fastload.files.names import shown
from fastload.sources import labels as labelling
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.sources.table_columns import LABELS, Columns, check_columns, columns
from fastload.spec import Longs

# Bytes of the file that a row's objects become, about: always, and for each byte of its columns
OBJECTS, TIMES = 256, 3
NAMED = 8  # columns in a note


class Part(NamedTuple):
    """Rows of one file that are read together."""

    file: int
    group: int  # row group, or record batch
    start: int  # first row of the whole source
    rows: int


@dataclass(frozen=True, eq=False)
class TableReader(Listing):
    """Images in row groups.

    Each thread keeps the group that it is in: parts in order, by any number of workers, read each
    group once.
    """

    tables: Sequence[TableFile]
    parts: Sequence[Part]
    columns: Columns
    more: Longs  # bytes of each sample's further images and of its objects
    boxed: bool = False  # whether any of its files has objects
    held: threading.local = field(default_factory=threading.local)
    # Parquet's readers are for one thread at a time
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def in_order(self) -> bool:
        return any(table.in_order for table in self.tables)

    @property
    def beside(self) -> Longs:
        return self.more

    @property
    def notes(self) -> tuple[str, ...]:
        """Which columns are not kept, such as captions."""
        columns = self.columns
        kept = {columns.image, columns.label, columns.key, *columns.beside.values()}
        kept |= set(record.COLUMNS if self.boxed else ())
        names = dict.fromkeys(name for table in self.tables for name in table.schema.names)
        lost = [shown(name) for name in names if name not in kept]
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        said = f"columns that are not kept: {', '.join(lost[:NAMED])}{more}"
        return (said,) if lost else ()

    def read(self, sample: int) -> bytes:
        return self._bytes(sample, self.columns.image)

    def extras(self, sample: int) -> tuple[Extra, ...]:
        extras = (
            (name, self._bytes(sample, column)) for name, column in self.columns.beside.items()
        )
        images = tuple(
            Extra(f"{name}.{extension(headers(data).format)}", data)
            for name, data in extras
            if data
        )
        objects = self._objects(sample) if self.boxed else None
        return images if objects is None else (*images, Extra(record.NAME, objects))

    def _objects(self, sample: int) -> bytes | None:
        number = self._part_of(sample)
        if not table_objects.has(self.tables[self.parts[number].file].schema):
            return None
        try:
            return table_objects.text(self._boxes(number), sample - self.parts[number].start)
        except PARSE_ERRORS as error:
            raise _unreadable(error) from error

    def _bytes(self, sample: int, column: str) -> bytes:
        number = self._part_of(sample)
        try:
            value = self._column(number, column)[sample - self.parts[number].start]
            size = 0 if not value.is_valid else value.as_buffer().size
            if size > LARGEST:
                raise BadSampleError(
                    f"is too large (got {size} bytes, want at most {LARGEST}); remove it"
                )
            return bytes(value.as_buffer()) if size else b""
        except PARSE_ERRORS as error:
            raise _unreadable(error) from error

    def _part_of(self, sample: int) -> int:
        starts = [part.start for part in self.parts]
        return int(np.searchsorted(starts, sample, side="right")) - 1

    def _column(self, number: int, column: str) -> Any:
        """One binary array of a part, which this thread keeps until it goes to another part."""
        return self._held(number, column, lambda table, group: table.images(group, column))

    def _boxes(self, number: int) -> Any:
        """The arrays of objects of a part, kept likewise."""
        return self._held(number, "", lambda table, group: table.arrays(group, record.COLUMNS))

    def _held(self, number: int, name: str, read: Callable[[TableFile, int], Any]) -> Any:
        if getattr(self.held, "number", -1) != number:
            self.held.arrays, self.held.number = {}, number  # not two parts at once
        if name not in self.held.arrays:
            part = self.parts[number]
            with self.lock:
                self.held.arrays[name] = read(self.tables[part.file], part.group)
        return self.held.arrays[name]


def _unreadable(error: Exception) -> BadSampleError:
    """Raises what is not the sample's fault."""
    if isinstance(error, OSError) and error.errno in FATAL:
        raise error
    return BadSampleError(
        f"cannot be read ({' '.join(str(error).split())[:200]}); restore the file"
    )


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> TableReader:
    """The rows of these files, in their order. Raises SourceError with every problem."""
    import_arrow(where, SourceError, "tables need")
    tables, problems = list[TableFile](), list[str]()
    chosen: Columns | None = None
    for path in paths:
        try:
            table = table_files.opened(path)
            chosen = chosen or columns(path, table.schema)
            check_columns(path, chosen, table.schema, paths[0])
            if table_objects.has(table.schema):
                table_objects.check(path, table.schema)
        except PARSE_ERRORS as error:
            own = isinstance(error, SourceError)
            problems.append(
                str(error)
                if own
                else f"{path}: cannot be read ({' '.join(str(error).split())[:200]}); restore it"
            )
            continue
        tables.append(table)
    if problems or chosen is None:
        raise SourceError(listed(problems))
    parts = _parts([table.rows for table in tables])
    if not parts:
        raise SourceError(f"{where}: holds no rows; give other files")
    if choice.labelled and chosen.label is None and not choice.optional:
        want = f"want one of {', '.join(LABELS)}, or a ClassLabel"
        raise SourceError(f"{where}: no column with labels ({want}); add it, or pass --labels none")
    try:
        return _listing(where, paths, tables, parts, chosen, choice)
    except PARSE_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"{where}: labels or keys cannot be read ({' '.join(str(error).split())[:200]}); "
            "restore the files"
        ) from error


def _parts(counts: Sequence[Sequence[int]]) -> list[Part]:
    """The groups of all files that have rows. counts: rows of each group of each file."""
    parts, start = list[Part](), 0
    for file, rows in enumerate(counts):
        for group, count in enumerate(rows):
            if count:
                parts.append(Part(file, group, start, count))
            start += count
    return parts


def _listing(
    where: str,
    paths: Sequence[str],
    tables: Sequence[TableFile],
    parts: Sequence[Part],
    columns: Columns,
    choice: Choice,
) -> TableReader:
    def whole(name: str) -> Longs:
        return np.concatenate([_known_sizes(tables[part.file], part, name) for part in parts])

    sizes = whole(columns.image)
    if columns.nested and not sizes.any() and _is_null(tables[parts[0].file], parts[0], columns):
        raise SourceError(
            f"{where}: column {columns.image} holds paths of files, and no image; embed the images "
            "before you write the table (docs/migrate/huggingface.md), or convert their folder"
        )
    boxed = any(table_objects.has(table.schema) for table in tables)
    more = np.sum([np.zeros_like(sizes), *map(whole, columns.beside.values())], axis=0)
    if boxed:
        more += _objects_sizes(tables, parts)

    def values(name: str) -> list[object]:
        return [value for part in parts for value in tables[part.file].values(part.group, name)]

    labels, classes = labelling.none(len(sizes))
    if choice.labelled and columns.label is not None:
        found = values(columns.label)
        if not (choice.optional and table_values.lack(found)):
            labels, classes = table_values.labels_of(where, found, columns.names)
    keys = table_values.keys_of(columns.key, values, labels)
    stamp = stamp_of(
        [
            [os.path.basename(path), os.stat(path).st_size, os.stat(path).st_mtime_ns]
            for path in paths
        ]
    )
    return TableReader(
        where, keys, sizes, labels, classes, stamp, tables, parts, columns, more, boxed
    )


def _objects_sizes(tables: Sequence[TableFile], parts: Sequence[Part]) -> Longs:
    """int64 [N], bytes, about: as many for each row of a part; 0 of a file without objects."""
    found = [(tables[part.file], part) for part in parts]
    each = [
        OBJECTS + TIMES * table.memory(part.group, record.COLUMNS) // part.rows
        if table_objects.has(table.schema)
        else 0
        for table, part in found
    ]
    return np.repeat(np.array(each, np.int64), [part.rows for part in parts])


def _is_null(table: TableFile, part: Part, columns: Columns) -> bool:
    """Whether a part holds no images; False where it is damaged: reading them will tell."""
    try:
        return bool(table.images(part.group, columns.image).null_count == part.rows)
    except PARSE_ERRORS:
        return False


def _known_sizes(table: TableFile, part: Part, column: str) -> Longs:
    """Sizes of the images in a part; 0 where it is damaged: reading them will tell."""
    try:
        return table.sizes(part.group, column)
    except PARSE_ERRORS as error:
        if isinstance(error, OSError) and error.errno in FATAL:
            raise
        return np.zeros(part.rows, np.int64)
