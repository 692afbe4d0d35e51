"""Hugging Face's tables: Parquet and Arrow files with a column of encoded images. Nothing of `datasets` is needed."""

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers import labels as labelling
from fastload.conversion.readers import table_files
from fastload.conversion.readers.base import FATAL, LARGEST, Extra, Listing, listed, stamp_of
from fastload.conversion.readers.table_files import TableFile
from fastload.conversion.samples import BadSampleError, extension, headers
from fastload.errors import SourceError
from fastload.files.names import unique_suffixes
from fastload.sources.arrow import PARSE_ERRORS, import_arrow
from fastload.spec import Longs

NAMES = (".parquet", ".arrow")
IMAGES = ("image", "img", "jpg", "jpeg", "png", "picture", "bytes")  # what a column without features may be called
LABELS = ("label", "labels", "fine_label", "cls", "class", "target")
KEYS = ("key", "__key__", "id", "file_name")
METADATA = b"huggingface"


class Part(NamedTuple):
    """Rows of one file that are read together."""

    file: int
    group: int  # row group, or record batch
    start: int  # first row of the whole source
    rows: int


class Columns(NamedTuple):
    """What is taken of a table. names: of the classes, where the table says them."""

    image: str
    nested: bool  # a struct with bytes and a path
    beside: dict[str, str]  # further images, such structs: masks; the column of each name that files may have
    label: str | None
    key: str | None
    names: list[str] | None


@dataclass(frozen=True, eq=False)
class TableReader(Listing):
    """Images in row groups. Each thread keeps the group that it is in: parts in order, by any number of workers, read each group once."""

    tables: Sequence[TableFile]
    parts: Sequence[Part]
    columns: Columns
    more: Longs  # bytes of each sample's further images
    held: threading.local = field(default_factory=threading.local)
    lock: threading.Lock = field(default_factory=threading.Lock)  # Parquet's readers are for one thread at a time

    @property
    def in_order(self) -> bool:
        return any(table.in_order for table in self.tables)

    @property
    def beside(self) -> Longs:
        return self.more

    def read(self, sample: int) -> bytes:
        return self._bytes(sample, self.columns.image)

    def extras(self, sample: int) -> tuple[Extra, ...]:
        found = ((name, self._bytes(sample, column)) for name, column in self.columns.beside.items())
        return tuple(Extra(f"{name}.{extension(headers(data).format)}", data) for name, data in found if data)

    def _bytes(self, sample: int, column: str) -> bytes:
        starts = [part.start for part in self.parts]
        place = int(np.searchsorted(starts, sample, side="right")) - 1
        try:
            value = self._column(place, column)[sample - self.parts[place].start]
            size = 0 if not value.is_valid else value.as_buffer().size
            if size > LARGEST:
                raise BadSampleError(f"is too large (got {size} bytes, want at most {LARGEST}); remove it")
            return bytes(value.as_buffer()) if size else b""
        except PARSE_ERRORS as error:
            if isinstance(error, OSError) and error.errno in FATAL:
                raise
            raise BadSampleError(f"cannot be read ({' '.join(str(error).split())[:200]}); restore the file") from error

    def _column(self, place: int, column: str) -> Any:
        """One binary array of a part, which this thread keeps until it goes to another part."""
        if getattr(self.held, "place", -1) != place:
            self.held.arrays, self.held.place = {}, place  # not two parts at once
        if column not in self.held.arrays:
            part = self.parts[place]
            with self.lock:
                self.held.arrays[column] = self.tables[part.file].images(part.group, column)
        return self.held.arrays[column]


def looks_like_one(name: str) -> bool:
    return name.lower().endswith(NAMES)


def load(where: str, paths: Sequence[str], *, labelled: bool = True) -> TableReader:
    """The rows of these files, in their order. Raises SourceError with every problem."""
    import_arrow(where, SourceError, "tables need")
    tables, problems = list[TableFile](), list[str]()
    chosen: Columns | None = None
    for path in paths:
        try:
            table = table_files.opened(path)
            chosen = chosen or _columns(path, table.schema)
            _check_columns(path, chosen, table.schema, paths[0])
        except PARSE_ERRORS as error:
            own = isinstance(error, SourceError)
            problems.append(str(error) if own else f"{path}: cannot be read ({' '.join(str(error).split())[:200]}); restore it")
            continue
        tables.append(table)
    if problems or chosen is None:
        raise SourceError(listed(problems))
    parts = _parts([table.rows for table in tables])
    if not parts:
        raise SourceError(f"{where}: holds no rows; give other files")
    if labelled and chosen.label is None:
        want = f"want one of {', '.join(LABELS)}, or a ClassLabel"
        raise SourceError(f"{where}: no column with labels ({want}); add it, or pass --labels none")
    try:
        return _listing(where, paths, tables, parts, chosen, labelled=labelled)
    except PARSE_ERRORS as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{where}: labels or keys cannot be read ({' '.join(str(error).split())[:200]}); restore the files") from error


def _check_columns(path: str, chosen: Columns, schema: Any, first: str) -> None:
    if missing := {chosen.image, chosen.label, chosen.key} - {None, *schema.names}:
        names = ", ".join(sorted(map(str, missing)))
        raise SourceError(f"{path}: has no column {names}, which {first} has; give files of one data set")


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
    where: str, paths: Sequence[str], tables: Sequence[TableFile], parts: Sequence[Part], columns: Columns, *, labelled: bool
) -> TableReader:
    def whole(name: str) -> Longs:
        return np.concatenate([_known_sizes(tables[part.file], part, name) for part in parts])

    sizes = whole(columns.image)
    more = np.sum([np.zeros_like(sizes), *map(whole, columns.beside.values())], axis=0)
    count = len(sizes)
    labels, classes = labelling.none(count)
    if labelled and columns.label is not None:
        values = [value for part in parts for value in tables[part.file].values(part.group, columns.label)]
        lacking = sum(value is None or value == -1 for value in values)  # -1: what `datasets` writes where a test set has none
        if lacking:
            raise SourceError(f"{where}: {lacking} of {count} rows have no label; remove them, or pass --labels none")
        labels, classes = labelling.numbered(where, [str(value) for value in values], columns.names)
    if columns.key is not None:
        known = [str(value) for part in parts for value in tables[part.file].values(part.group, columns.key)]
        keys = unique_keys(f"{key}.x" if columns.key in KEYS[:2] else key for key in known)
    else:
        keys = [f"{label:04d}/{number:08d}" for number, label in enumerate(labels.tolist())]
    stamp = stamp_of([[os.path.basename(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in paths])
    return TableReader(where, keys, sizes, labels, classes, stamp, tables, parts, columns, more)


def _columns(path: str, schema: Any) -> Columns:
    """Which columns hold images, labels, keys: by the features that `datasets` writes, else by type and name. Raises SourceError."""
    import pyarrow as pa

    features = _features(schema)

    def of_type(kind: str) -> list[str]:
        return [
            name for name, feature in features.items() if type(feature) is dict and feature.get("_type") == kind and name in schema.names
        ]

    def is_binary(kind: Any) -> bool:
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    def holds(name: str) -> bool:
        kind = schema.field(name).type
        return is_binary(kind) or (pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0 and is_binary(kind.field("bytes").type))

    structs = [name for name in schema.names if pa.types.is_struct(schema.field(name).type)]
    images = [name for name in (*of_type("Image"), *IMAGES, *structs) if name in schema.names and holds(name)]
    if not images:
        raise SourceError(
            f"{path}: no column with images (has {', '.join(schema.names)}; want bytes, or a struct with bytes); give another file"
        )
    label = next((name for name in (*of_type("ClassLabel"), *LABELS) if name in schema.names), None)
    names = features.get(label, {}).get("names") if label and type(features.get(label)) is dict else None
    if type(names) is dict:
        names = names.get("name")
    if not (type(names) is list and all(type(name) is str for name in names)):
        names = None
    key = next((name for name in KEYS if name in schema.names), None)
    nested = [name for name in (images[0], *of_type("Image")) if pa.types.is_struct(schema.field(name).type) and holds(name)]
    return Columns(images[0], images[0] in nested, unique_suffixes([name for name in nested if name != images[0]]), label, key, names)


def _features(schema: Any) -> dict[str, Any]:
    try:
        said = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        features = said["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if type(features) is dict else {}


def _known_sizes(table: TableFile, part: Part, column: str) -> Longs:
    """Sizes of the images in a part; 0 where it is damaged: reading them will tell."""
    try:
        return table.sizes(part.group, column)
    except PARSE_ERRORS as error:
        if isinstance(error, OSError) and error.errno in FATAL:
            raise
        return np.zeros(part.rows, np.int64)
