"""Features of TFRecords besides images and labels: where each value lies.

A feature of bytes is what the end of its name says, as a file beside an image is: `image/caption`,
`caption` and `txt` are text, `meta.json` is JSON, others are bytes. One int64 or one float is a
number; several, as protobuf packs them, are a list.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.sources import field_types, fields, first_look, span_files, span_index, tf_records
from fastload.sources.fields import Field
from fastload.sources.first_look import Look
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Part
from fastload.sources.tf_example import (
    BYTES,
    FLOATS,
    INTEGERS,
    KINDS,
    SeveralError,
    Value,
    Window,
    WireError,
    feature,
    one_float,
    one_piece,
    one_varint,
    packed,
)

NUMBERS = {INTEGERS: field_types.VARINT, FLOATS: field_types.of_numbers("<f4")}
LISTS = {INTEGERS: field_types.VARINTS, FLOATS: field_types.of_several("float32")}
SEVERAL = " list"  # what is said of a file ends so where some of its samples have several
NOWHERE = 0, 0
NAMES = 16  # of other features, that an error tells


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with these of its features. Raises SourceError."""
    return replace(source, fields=tuple(_field(source, name) for name in names))


def looks(where: str, names: Sequence[str]) -> list[Look]:
    """What is looked for besides the images."""
    return [
        Look(
            span_index.path_of("tfrecord", where, "beside", name),
            repr(name),
            partial(part_of, name.encode("utf-8", "surrogateescape")),
        )
        for name in names
    ]


def _field(source: SpanSource, name: str) -> Field:
    """Raises SourceError."""
    (look,) = looks(source.where, [name])
    asked = dict.fromkeys(source.paths, look.asked)
    found = first_look.parts(
        source.where, look.kept, asked, look.read, span_files.READERS, paths=source.paths
    )
    if not np.array_equal(found.tables.rows, source.counts()):
        raise SourceError(f"{source.where}: changed since it was read; open it again")
    lacking = int(found.lacking().sum())
    if lacking == len(found):
        raise fields.lacking(source.where, name, [text for text in found.texts if text])
    if lacking:
        first = source.name(found.first_lacking())
        raise fields.incomplete(source.where, name, lacking, len(found), first)
    said = set(filter(None, found.said))
    kinds = {one.removesuffix(SEVERAL) for one in said}
    if len(kinds) > 1:
        raise SourceError(
            f"{source.where}: feature {name!r} has several types ({', '.join(sorted(kinds))}); "
            "write the data set again"
        )
    return fields.of_spans(name, kind_of(name, said), found)


def kind_of(name: str, said: set[str]) -> str:
    """How fields.py calls the feature's type, of what is said of the files that have it."""
    kinds = {one.removesuffix(SEVERAL) for one in said}
    number = next(number for number, called in KINDS.items() if called in kinds)
    kind = (NUMBERS if said == kinds else LISTS).get(number)
    return kind or fields.of_suffix(name.replace("/", "."))


def part_of(name: bytes, path: str, file: IO[bytes], _: int) -> Part:
    """Of one file; label is -1 where a record has no such feature. Raises SourceError, OSError."""
    offset, sizes, lacks, window = array("q"), array("q"), array("q"), Window(file.fileno())
    kinds, others, several = set[int](), list[bytes](), False
    for at, start, stop in tf_records.every(path, window):
        try:
            if not lacks:
                others = [other for other in feature(window, start, stop, ()) if other != name]
            value = feature(window, start, stop, (name,)).get(name)
            place, more = _place(window, value) if value else (None, False)
            several |= more
            if value and place:
                kinds.add(value.kind)
            if len(kinds) > 1:
                raise WireError("has a feature of another type than those before")
        except WireError as error:
            raise tf_records.damaged(path, at, error) from error
        lacks.append(-(place is None))
        for column, number in zip((offset, sizes), place or NOWHERE, strict=True):
            column.append(number)
    columns = [np.array(one, np.int64) for one in (offset, sizes, lacks)]
    said = "".join(KINDS[kind] for kind in kinds) + SEVERAL * several
    texts = tuple(other.decode("utf-8", "replace") for other in others[:NAMES])
    return Part(columns[0], columns[1], columns[2], texts=texts, said=said)


def _place(window: Window, value: Value) -> tuple[tuple[int, int] | None, bool]:
    """Where the value lies, and its size (None: there is none), and whether it is several numbers.

    Raises WireError and OSError.
    """
    if value.kind == BYTES:
        return one_piece(window, value), False
    if value.kind not in NUMBERS or value.start == value.stop:
        return None, False
    try:
        return (one_varint if value.kind == INTEGERS else one_float)(window, value), False
    except SeveralError:
        return packed(window, value), True
