"""Whether spans lie in the files, as every target of spans.py and parts.py wants it."""

import contextlib
import os

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.sources.base import Source
from fastload.sources.parquet_spans import INSIDE, PACKED, check, index_of
from fastload.sources.span_index import Part, Spans
from fastload.system import limits

FEW = 8  # samples that are looked up, or whose values are read
MOST_UNPACKED = 1 << 18  # bytes
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


def within(part: Part, data: bytes, what: str) -> None:
    """Columns are as long as each other, spans and what packed ones are unpacked from lie in the
    file, labels among the texts.
    """
    packing = [] if part.skip is None else [part.skip, part.unpacked]
    for column in (part.size, part.label, *packing):
        if column.dtype != np.int64 or column.shape != part.offset.shape:
            raise AssertionError(f"{what}: columns of other lengths")
    start, size, length = part.offset, part.size, len(data)
    if not ((start >= 0) & (size >= 0) & (size <= length) & (start <= length - size)).all():
        raise AssertionError(f"{what} outside of the file")
    if part.texts and not ((part.label >= -1) & (part.label < len(part.texts))).all():
        raise AssertionError(f"{what}: labels without a text")
    if part.names and part.names.count(b"\n") + 1 != len(part.size):
        raise AssertionError(f"{what}: names of others")
    for row in packing and np.flatnonzero(part.unpacked)[:FEW].tolist():
        elements = data[int(start[row]) : int(start[row] + size[row])]
        skip, want = int(part.skip[row]), int(part.unpacked[row])
        if skip < 0 or want < 0 or not elements or max(skip, want) > limits.PAYLOAD:
            raise AssertionError(f"{what}: a packed one that cannot be")
        if want <= MOST_UNPACKED and len(_native.snappy_unpack(elements, skip, want)) != want:
            raise AssertionError(f"{what}: unpacks to another size")


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
