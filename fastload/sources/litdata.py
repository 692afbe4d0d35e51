"""LitData's chunks, read where they lie, without that library.

index.json lists the chunks, and the types of a sample's leaves (litdata_index.py); in the chunks
are the leaves (litdata_chunks.py, litdata_table.py). A data set may come from anywhere: every
number is checked before anything is read by it, and nothing is unpickled.
Source: Lightning-AI/litData 0.2.76, streaming/writer.py.
"""

import os
from reprlib import repr as short

import numpy as np

from fastload.errors import SourceError
from fastload.sources import first_look, litdata_fields, litdata_index, litdata_table, span_index
from fastload.sources.labels import none
from fastload.sources.litdata_chunks import layout
from fastload.sources.litdata_index import INDEX, REMEDY, Chunk, Leaf
from fastload.sources.mapped import SpanSource
from fastload.sources.signatures import check_image
from fastload.sources.span_files import READERS, Fields, chosen, gathered, joined, opened
from fastload.sources.span_index import Part

LABEL = np.dtype("<i8")
# Types of leaves, those that are taken first
KINDS = {"image": ("jpeg", "image", "bytes"), "label": ("int",)}

with_fields = litdata_fields.with_fields  # fastload.sources asks for it


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The data set in the folder `where`.

    fields: names of the leaves with images and labels: keys of dicts, or positions as text; None
    takes the first of each kind. Raises SourceError with the first problem of each chunk.
    """
    leaves, chunks = litdata_index.read(where)
    numbers = fields_of(where, leaves, fields)
    of = {chunk.path: chunk for chunk in chunks}
    found = first_look.parts(
        where,
        span_index.path_of("litdata", where, *(fields or ())),
        {chunk.path: repr((chunk.samples, leaves, numbers)) for chunk in chunks},
        lambda path, file, _: part_of(of[path], leaves, numbers, file.fileno()),
        READERS,
        paths=[chunk.path for chunk in chunks],
    )
    first = chunks[0].path
    what = f"{first}: leaf {short(leaves[numbers.image].name)}"
    at, size = (int(found.column(name)[0]) for name in ("offset", "size"))
    ask = "name the leaves with images and labels: fields=(IMAGE, LABEL)"
    opened(first, lambda file: check_image(what, file, at, size, ask))
    classes = none(0)[1] if numbers.label is None else None
    return joined(where, [chunk.path for chunk in chunks], found, classes)


def fields_of(where: str, leaves: list[Leaf], fields: tuple[str, str] | None) -> Fields:
    """The leaves that are read, as `load` has them. Raises SourceError."""
    has = [(leaf.name, leaf.type, leaf.kind) for leaf in leaves]
    return chosen(os.path.join(where, INDEX), ("leaf", "leaves"), has, KINDS, fields)


def part_of(chunk: Chunk, leaves: list[Leaf], fields: Fields, file: int) -> Part:
    """Where the images of an open chunk lie, and their labels. Raises SourceError and OSError."""
    path, found = chunk.path, layout(chunk, len(leaves), file)
    image, label = fields
    if found is None:
        named = None if label is None else leaves[label].name
        return litdata_table.spans(path, file, chunk.samples, leaves[image].name, named)
    offset, size = found
    wrong = size[:, image] == 0
    if label is not None:
        wrong |= size[:, label] != LABEL.itemsize
    if wrong.any():
        sample = int(np.argmax(wrong))
        has, want = f"an image of {int(size[sample, image])} bytes", "more than 0"
        if label is not None:
            has += f" and a label of {int(size[sample, label])}"
            want += f", and {LABEL.itemsize}"
        raise SourceError(f"{path}: sample {sample} has {has} (want {want}); {REMEDY}")
    labels = np.zeros(len(size), np.int64)
    if label is not None:
        labels = gathered(path, file, offset[:, label], LABEL.itemsize).view(LABEL)[:, 0]
    return Part(offset[:, image].copy(), size[:, image].copy(), labels.astype(np.int64))
