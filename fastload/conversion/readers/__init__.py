"""What a conversion reads. `open_reader` finds out what lies at a path."""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from fastload.conversion.keys import tidy_key, unique_keys
from fastload.conversion.readers import spans
from fastload.conversion.readers.base import (
    ANYTHING,
    TO_LOOK,
    Choice,
    Extra,
    Reader,
    Record,
    record,
    records,
)  # fmt: skip
from fastload.conversion.readers.beton import BetonReader
from fastload.conversion.readers.files import file_sizes
from fastload.conversion.readers.folder import FolderReader
from fastload.conversion.readers.opening import open_reader
from fastload.conversion.readers.shards import ShardsReader
from fastload.errors import SourceError
from fastload.files.names import readable

__all__ = [
    "ANYTHING", "TO_LOOK", "BetonReader", "Choice", "Extra", "FolderReader", "Reader", "Record",
    "ShardsReader", "file_sizes",
    "from_iterable", "open_reader", "readable", "record", "records", "tidy_key", "unique_keys",
]  # fmt: skip


def from_iterable(
    items: Iterable[tuple[str, bytes, int]] | Iterable[Record],
    classes: Sequence[str],
    where: str = "samples",
) -> Reader:
    """Samples that a program makes: (key, encoded image, label) or Record; kept in a nameless
    temporary file until they are written.

    Raises SourceError, ConversionError.
    """
    records = (_record(where, number, item) for number, item in enumerate(items))
    reader = spans.of_records(
        where,
        (_checked(where, number, item, len(classes)) for number, item in enumerate(records)),
        classes,
    )
    if len(set(reader.keys)) < len(reader):
        seen: set[str] = set()
        for key in reader.keys:
            if key in seen:
                raise SourceError(f"{where}: key {key!r} is there twice; give each sample its own")
            seen.add(key)
    return reader


def _record(where: str, number: int, item: Any) -> Record:
    if isinstance(item, Record):
        return item
    if not isinstance(item, (tuple, list)) or len(item) != 3:
        raise SourceError(
            f"{where}, sample {number}: is a {type(item).__name__}, want (key, encoded image, "
            "label)"
        )
    key, data, label = item
    return Record(key, data, label, ())


def _checked(where: str, number: int, item: Record, classes: int) -> Record:
    if type(item.key) is not str or tidy_key(f"{item.key}.x") != item.key or not item.key:
        raise SourceError(
            f"{where}, sample {number}: key {item.key!r} cannot stand in a tar (want text without "
            "dots in its last part); rename it"
        )
    if not isinstance(item.data, bytes):
        raise SourceError(
            f"{where}, sample {number}: image is {type(item.data).__name__}, want the encoded "
            "bytes; encode it"
        )
    try:
        label = operator.index(item.label)
    except TypeError as error:
        raise SourceError(
            f"{where}, sample {number}: label is {item.label!r}, want a whole number, of a class"
        ) from error
    if not 0 <= label < classes:
        raise SourceError(
            f"{where}, sample {number}: label {item.label} (want 0 to {classes - 1}); name all "
            "classes"
        )
    return item
