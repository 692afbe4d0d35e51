"""Whether spans lie in the files of a data set, as every target of spans.py wants it."""

import contextlib
import os

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.sources.base import Source
from fastload.sources.parquet_spans import INSIDE, PACKED, check, index_of
from fastload.sources.span_index import Spans

FEW = 8  # packed samples that are looked up
MOST = 1 << 31  # bytes of a packed sample, and of what it is unpacked from


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


def as_the_engine_reads(spans: Spans) -> None:
    """Whatever the index says: places of packed samples that can be, or an error."""
    with contextlib.suppress(SourceError, OSError, ValueError):
        check(spans)
        parts = range(min(len(spans.tables.rows), FEW))
        files = _native.Files(["x"] * len(spans.tables.rows), True, [(0, index_of(spans))])
        for part, row in ((part, row) for part in parts for row in (0, 1, 255, 256, 1 << 30)):
            with contextlib.suppress(OSError):
                start, length = files.place(part, PACKED | row << INSIDE, -1)
                if start < 0 or not 0 < length <= MOST:
                    raise AssertionError("a packed sample that cannot be")
