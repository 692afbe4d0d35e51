"""Whether spans lie in the files of a data set, as every target of spans.py wants it."""

import os

import numpy as np

from fastload.sources.base import Source
from fastload.sources.parquet_spans import PACKED

FEW = 8  # packed samples that are looked up


def inside(source: Source, place: tuple[object, ...], what: str) -> None:
    """All spans lie in the files, and so do the elements of packed ones."""
    file, offset, size = (np.asarray(each) for each in place)
    sizes = np.array([os.path.getsize(path) for path in source.paths], np.int64)
    packed = offset >= PACKED
    plain = (offset >= 0) & (size >= 0) & (offset + size <= sizes[file])
    if not (plain | packed).all():
        raise AssertionError(f"{what} outside of the files")
    for one in np.flatnonzero(packed)[:FEW].tolist():
        start, length = source.files.place(int(file[one]), int(offset[one]), int(size[one]))
        if start < 0 or length < 1 or start + length > sizes[file[one]]:
            raise AssertionError(f"{what} packed outside of the files")
