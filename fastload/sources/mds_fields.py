"""Columns of MosaicML Streaming's shards besides images and labels: where each value lies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from reprlib import repr as short
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.sources import fields, first_look, span_index
from fastload.sources.fields import Field
from fastload.sources.mapped import SpanSource
from fastload.sources.mds_index import INDEX, INTEGERS, asked_of, shards_of
from fastload.sources.mds_shards import Shard, layout
from fastload.sources.span_files import READERS
from fastload.sources.span_index import Part

FLOATS = {f"float{8 * size}": f"<f{size}" for size in (2, 4, 8)}
TEXTS = {"str": "text", "json": "json"}
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
    kinds = {_kind(shard, numbers[shard.path]) for shard in shards}
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


def _kind(shard: Shard, number: int) -> str:
    """How fields.py calls the column's type. Raises SourceError."""
    name, encoding, size = shard.columns[number]
    if encoding in TEXTS:
        return TEXTS[encoding]
    if (kind := (INTEGERS | FLOATS).get(encoding)) and size == np.dtype(kind).itemsize:
        return f"{fields.NUMBERS} {kind}"
    if encoding in BYTES:
        return "bytes"
    raise SourceError(
        f"{shard.path}: column {short(name)} is of type {short(encoding)} (want "
        f"{', '.join([*TEXTS, *BYTES])} or a number); fastload unpickles nothing"
    )


def _part(
    of: Mapping[str, Shard], numbers: Mapping[str, int], path: str, opened: IO[bytes], size: int
) -> Part:
    """Of one shard. Raises SourceError and OSError."""
    offset, long = layout(of[path], opened.fileno(), size)[numbers[path]]
    return Part(offset, long, np.zeros_like(offset))
