"""Leaves of LitData's samples besides images and labels: where each value lies."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from reprlib import repr as short

import numpy as np

from fastload.errors import SourceError
from fastload.sources import (
    field_arrays,
    field_types,
    fields,
    first_look,
    litdata_index,
    litdata_table,
    span_index,
)
from fastload.sources.fields import Field
from fastload.sources.litdata_chunks import layout
from fastload.sources.litdata_index import INDEX, REMEDY, Chunk, Leaf
from fastload.sources.mapped import SpanSource
from fastload.sources.span_files import READERS
from fastload.sources.span_index import Part

INTEGER, FLOAT = field_types.of_numbers("<i8"), field_types.of_numbers("<f8")
# How field_types calls the types of leaves
KINDS = {
    "str": "text", "int": INTEGER, "float": FLOAT, "bool": field_types.of_numbers("|u1"),
    "bytes": "bytes", "jpeg": "bytes", "image": "bytes", "tensor": field_arrays.TORCH,
    "numpy": field_arrays.NUMPY,
}  # fmt: skip
# Of "no_header_tensor:0": what stands for the type
PLAIN = {
    "no_header_tensor": field_arrays.TORCH_TYPES,
    "no_header_numpy": field_arrays.NUMPY_TYPES,
}


def with_fields(source: SpanSource, names: Sequence[str]) -> SpanSource:
    """The same data set, with these of its leaves. Raises SourceError."""
    leaves, chunks = litdata_index.read(source.where)
    counts = source.counts().tolist()
    if [chunk.path for chunk in chunks] != list(source.paths) or counts != [
        chunk.samples for chunk in chunks
    ]:
        raise SourceError(f"{source.where}: {INDEX} changed since it was read; open it again")
    return replace(source, fields=tuple(_field(source, leaves, chunks, name) for name in names))


def _field(source: SpanSource, leaves: list[Leaf], chunks: list[Chunk], name: str) -> Field:
    """Raises SourceError."""
    known = [leaf.name for leaf in leaves]
    if name not in known:
        raise fields.lacking(source.where, name, known)
    number = known.index(name)
    if (kind := kind_of(leaves[number])) is None:
        raise SourceError(
            f"{os.path.join(source.where, INDEX)}: leaf {short(name)} is of type "
            f"{short(leaves[number].type)} (want {', '.join([*KINDS, *PLAIN])}); fastload "
            "unpickles nothing"
        )
    of = {chunk.path: chunk for chunk in chunks}
    found = first_look.parts(
        source.where,
        span_index.path_of("litdata", source.where, "beside", name),
        {chunk.path: repr((chunk.samples, leaves, number)) for chunk in chunks},
        lambda path, file, _: part_of(of[path], leaves, number, kind, file.fileno()),
        READERS,
        paths=[chunk.path for chunk in chunks],
    )
    return fields.of_spans(name, kind, found)


def kind_of(leaf: Leaf) -> str | None:
    """How field_types calls the leaf's type; None: it is none of these."""
    start, _, said = leaf.type.partition(":")
    if start not in PLAIN:
        return KINDS.get(start)
    name = PLAIN[start].get(int(said)) if re.fullmatch(r"\d{1,3}", said, re.ASCII) else None
    return None if name is None else field_types.of_several(name)


def part_of(chunk: Chunk, leaves: list[Leaf], number: int, kind: str, file: int) -> Part:
    """Of one chunk. Raises SourceError and OSError."""
    found = layout(chunk, len(leaves), file)
    if found is None:
        name = leaves[number].name
        if kind not in litdata_table.TYPES:
            raise SourceError(
                f"{chunk.path}: leaf {short(name)} is in a table, and of type "
                f"{short(leaves[number].type)} (want str, int, float or bytes there); {REMEDY}"
            )
        return litdata_table.values(chunk.path, file, chunk.samples, name, kind)
    offset, size = (numbers[:, number].copy() for numbers in found)
    if kind.startswith(f"{field_types.NUMBER} "):
        want = np.dtype(kind.split()[1]).itemsize
        if len(wrong := np.flatnonzero(size != want)):
            sample = int(wrong[0])
            raise SourceError(
                f"{chunk.path}: sample {sample} has a number {short(leaves[number].name)} of "
                f"{int(size[sample])} bytes (want {want}); {REMEDY}"
            )
    return Part(offset, size, np.zeros_like(offset))
