"""Columns of MosaicML Streaming's shards besides images and labels: where each value lies."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from reprlib import repr as short
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.sources import field_arrays, field_types, fields, first_look, span_index
from fastload.sources.fields import Field
from fastload.sources.mapped import SpanSource
from fastload.sources.mds_index import INDEX, INTEGERS, asked_of, shards_of
from fastload.sources.mds_shards import Shard, layout
from fastload.sources.span_files import READERS
from fastload.sources.span_index import Part

FLOATS = {f"float{8 * size}": f"<f{size}" for size in (2, 4, 8)}
TEXTS = {"str": "text", "json": "json", "str_int": "int", "str_float": "float"}
BYTES = ("bytes", "jpeg", "png", "jpeg_array", "jpegarray")


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with these of its columns. Raises SourceError."""
    shards = [shard for shard in shards_of(source.where) if shard.samples]
    if tuple(shard.path for shard in shards) != source.paths:
        raise SourceError(f"{source.where}: {INDEX} changed since it was read; open it again")
    return replace(
        source,
        fields=tuple(_field(source, shards, name) for name in names),
    )


def _field(source: SpanSource, shards: Sequence[Shard], name: str) -> Field:
    """Raises SourceError."""
    numbers = {shard.path: _number(source, shard, name) for shard in shards}
    of = {shard.path: shard for shard in shards}
    kinds = {kind_of(shard, numbers[shard.path]) for shard in shards}
    if len(kinds) > 1:
        raise SourceError(
            f"{source.where}: column {short(name)} has several types in its shards "
            f"({', '.join(sorted(kinds))}); write the data set again"
        )
    index = span_index.path_of("mds", source.where, "beside", name)
    asked = {path: asked_of(shard, numbers[path]) for path, shard in of.items()}
    read = partial(_part, of, numbers)
    found = first_look.parts(source.where, index, asked, read, READERS, paths=source.paths)
    return fields.of_spans(name, kinds.pop(), found)


def _number(source: SpanSource, shard: Shard, name: str) -> int:
    """Of the column in this shard. Raises SourceError."""
    names = [column for column, _, _ in shard.columns]
    if name not in names:
        raise fields.lacking(source.where, name, names)
    return names.index(name)


def kind_of(shard: Shard, number: int) -> str:
    """How fields.py calls the column's type. Raises SourceError."""
    name, encoding, size = shard.columns[number]
    if encoding in TEXTS:
        return TEXTS[encoding]
    if (kind := (INTEGERS | FLOATS).get(encoding)) and size == np.dtype(kind).itemsize:
        return field_types.of_numbers(kind)
    if encoding in BYTES:
        return "bytes"
    if array := _array(encoding, size):
        return array
    raise SourceError(
        f"{shard.path}: column {short(name)} is of type {short(encoding)} (want "
        f"{', '.join([*TEXTS, *BYTES])}, ndarray or a number); fastload unpickles nothing"
    )


def _array(encoding: str, size: int) -> str:
    """The kind of a column of arrays, as "ndarray:float32:2,3" says it; "" for what is none."""
    start, *said = encoding.split(":")
    name, sides, *more = [*said, "", ""]
    shape = [int(side) for side in sides.split(",") if side.isascii() and side.isdigit()]
    good = (not sides or len(shape) == sides.count(",") + 1) and 0 not in shape
    known = not name or name in field_arrays.MDS_TYPES.values()
    if start != "ndarray" or not good or not known or any(more):
        return ""
    if not name or not shape:
        text = ",".join(map(str, shape))
        return f"{field_arrays.MDS} {name or field_arrays.UNSAID} {text or field_arrays.UNSAID}"
    dtype = np.dtype(name).newbyteorder("<")
    whole = size == dtype.itemsize * math.prod(shape)
    return field_types.of_numbers(f"<{dtype.kind}{dtype.itemsize}", shape) if whole else ""


def _part(
    of: Mapping[str, Shard], numbers: Mapping[str, int], path: str, opened: IO[bytes], size: int
) -> Part:
    """Of one shard. Raises SourceError and OSError."""
    offset, long = layout(of[path], opened.fileno(), size)[numbers[path]]
    return Part(offset, long, np.zeros_like(offset))
