"""Leaves of LitData's samples besides images and labels: where each value lies."""

import os
from collections.abc import Sequence
from dataclasses import replace
from reprlib import repr as short

import numpy as np

from fastload.errors import SourceError
from fastload.sources import fields, first_look, litdata_index, litdata_table, span_index
from fastload.sources.fields import Field
from fastload.sources.litdata_chunks import layout
from fastload.sources.litdata_index import INDEX, REMEDY, Chunk, Leaf
from fastload.sources.mapped import SpanSource
from fastload.sources.span_files import READERS
from fastload.sources.span_index import Part

INTEGER, FLOAT = f"{fields.NUMBERS} <i8", f"{fields.NUMBERS} <f8"
# How fields.py calls the types of leaves
KINDS = {
    "str": "text", "int": INTEGER, "float": FLOAT, "bytes": "bytes", "jpeg": "bytes",
    "image": "bytes",
}  # fmt: skip


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
    if (kind := KINDS.get(leaves[number].kind)) is None:
        raise SourceError(
            f"{os.path.join(source.where, INDEX)}: leaf {short(name)} is of type "
            f"{short(leaves[number].type)} (want {', '.join(KINDS)}); fastload unpickles nothing"
        )
    of = {chunk.path: chunk for chunk in chunks}
    found = first_look.parts(
        source.where,
        span_index.path_of("litdata", source.where, "beside", name),
        {chunk.path: repr((chunk.samples, leaves, number)) for chunk in chunks},
        lambda path, file, _: _part(of[path], leaves, number, kind, file.fileno()),
        READERS,
        paths=[chunk.path for chunk in chunks],
    )
    return fields.of_spans(name, kind, found)


def _part(chunk: Chunk, leaves: list[Leaf], number: int, kind: str, file: int) -> Part:
    """Of one chunk. Raises SourceError and OSError."""
    found = layout(chunk, len(leaves), file)
    if found is None:
        name = leaves[number].name
        return litdata_table.values(chunk.path, file, chunk.samples, name, kind)
    offset, size = (numbers[:, number].copy() for numbers in found)
    if kind.startswith(fields.NUMBERS):
        want = np.dtype(kind.split()[1]).itemsize
        if len(wrong := np.flatnonzero(size != want)):
            sample = int(wrong[0])
            raise SourceError(
                f"{chunk.path}: sample {sample} has a number {short(leaves[number].name)} of "
                f"{int(size[sample])} bytes (want {want}); {REMEDY}"
            )
    return Part(offset, size, np.zeros_like(offset))
