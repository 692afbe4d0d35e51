"""MosaicML Streaming's shards (MDS), read where they lie, without that library.

index.json lists the shards and their columns. A shard has the number of samples (uint32), where
each begins and the last one ends (uint32 [N + 1]), the columns once more, and the samples. Of a
sample come first the sizes (uint32) of those columns whose sizes differ, then the bytes of all.
A data set may come from anywhere: every number is checked before anything is read by it, and
nothing is unpickled. What was found is kept in the user's cache (first_look.py).
Source: mosaicml/streaming 0.13.0, base/format/mds (version 2).
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import IO

import numpy as np

from fastload.errors import SourceError
from fastload.sources import first_look, mds_fields, span_index
from fastload.sources.labels import none
from fastload.sources.mapped import SpanSource
from fastload.sources.mds_index import INDEX, INTEGERS, asked_of, shards_of
from fastload.sources.mds_shards import REMEDY, Shard, layout
from fastload.sources.span_files import READERS, Fields, chosen, gathered, joined
from fastload.sources.span_index import Part

IMAGES = ("jpeg", "png", "jpeg_array", "jpegarray", "bytes")  # encoded images as they are
KINDS = {"image": IMAGES, "label": tuple(INTEGERS)}

with_fields = mds_fields.with_fields  # fastload.sources asks for it


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The data set in the folder `where`.

    fields: names of the columns with images and labels; None takes the first of each kind. Raises
    SourceError with the first problem of each shard.
    """
    shards = [shard for shard in shards_of(where) if shard.samples]
    if not shards:
        raise SourceError(f"{os.path.join(where, INDEX)}: lists no samples; {REMEDY}")
    of = dict[object, Fields]()  # by the columns, which are mostly the same
    for shard in shards:
        if shard.columns not in of:
            of[shard.columns] = fields_of(shard, fields)
    listed = {shard.path: (shard, of[shard.columns]) for shard in shards}
    asked = {path: asked_of(*said) for path, said in listed.items()}
    index = span_index.path_of("mds", where, *(fields or ()))
    paths, read = [shard.path for shard in shards], partial(_part, listed)
    found = first_look.parts(where, index, asked, read, READERS, paths=paths)
    unlabelled = any(fields.label is None for _, fields in listed.values())
    return joined(where, paths, found, none(0)[1] if unlabelled else None)


def fields_of(shard: Shard, fields: tuple[str, str] | None) -> Fields:
    """The columns that are read, as `load` has them. Raises SourceError."""
    columns = [(name, encoding, encoding) for name, encoding, _ in shard.columns]
    return chosen(shard.path, ("column", "columns"), columns, KINDS, fields)


def _part(
    listed: Mapping[str, tuple[Shard, Fields]], path: str, opened: IO[bytes], size: int
) -> Part:
    """Raises SourceError and OSError."""
    return part_of(*listed[path], opened.fileno(), size)


def part_of(shard: Shard, fields: Fields, file: int, size: int) -> Part:
    """Where the images of an open shard lie, and their labels. Raises SourceError and OSError."""
    found = layout(shard, file, size)
    offset, sizes = found[fields.image]
    if len(wrong := np.flatnonzero(sizes == 0)):
        sample = int(wrong[0])
        raise SourceError(f"{shard.path}: sample {sample} has an empty image; {REMEDY}")
    if fields.label is None:
        return Part(offset, sizes, np.zeros_like(offset))
    kind = np.dtype(INTEGERS[shard.columns[fields.label][1]])
    values = gathered(shard.path, file, found[fields.label][0], kind.itemsize).view(kind)
    return Part(offset, sizes, values[:, 0].astype(np.int64))
