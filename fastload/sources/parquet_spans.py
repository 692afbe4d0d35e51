"""Images in Parquet files as spans: as they stand, or packed.

The index has of a packed image, as `offset` and `size`, the bytes to be read, and how many bytes of
what they unpack to come before it (`skip`), and its own (`unpacked`).

To whoever reads it, a packed image lies at an offset that no file has: a bit, and which row of its
file it is (kernels/engine/packed.h). The engine looks its place up in the index, block by block, as
the others' are here. So nothing of an image is in memory, and its offset is its own, and stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fastload import _native
from fastload.sources.base import Location
from fastload.sources.columns import Column, Numbers
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import COLUMNS, OFFSET, SIZE, Part, Spans
from fastload.spec import Longs
from fastload.system import limits

FEW = 256  # files that are kept open
SKIP, UNPACKED = map(COLUMNS.index, ("skip", "unpacked"))
PACKED, INSIDE = 1 << 62, 31  # the bit; bits of the byte inside of an image
ROWS = 1 << 31  # of a file, whose numbers have so many bits


@dataclass(frozen=True, eq=False)
class PackedSource(SpanSource):
    """Samples of which some are packed."""

    def _open(self) -> _native.Files:
        assert self.spans is not None
        few = len(self.paths) <= FEW
        packed = [(0, index_of(self.spans))] if has_packed(self.spans) else []
        return _native.Files(self.paths, keep_open=few, packed=packed)

    def locate(self, samples: Longs) -> Location:
        assert self.spans is not None
        seek = self.seek.locate(samples) if self.seek else None
        return Location(self.spans.part_of(samples), *places(self.spans, samples), None, seek)


def part_of(rows: Longs, label: Longs, texts: tuple[str, ...] = ()) -> Part:
    """rows: int64 [N, 4], of parquet_scan."""
    start, length, skip, size = map(np.ascontiguousarray, rows.T)
    packed = skip >= 0
    skip, size = np.where(packed, skip, 0), np.where(packed, size, 0)
    return Part(start, length, label, texts=texts, skip=skip, unpacked=size)


def opened(
    where: str, paths: Sequence[str], spans: Spans, labels: Numbers, classes: tuple[str, ...]
) -> PackedSource:
    """The images of these files. Raises SourceError where the index says what cannot be."""
    check(spans)
    sizes = spans.tables.high[:, (SIZE, UNPACKED)].max(initial=0)
    offset, size = (
        Column(len(spans), partial(_place, spans, number), 0, high)
        for number, high in enumerate(((1 << 63) - 1, int(sizes)))
    )
    return PackedSource(
        where, tuple(paths), spans.parts(), offset, size, labels, classes, spans=spans
    )


def check(spans: Spans) -> None:
    """Raise SourceError for tables that say of packed images what cannot be."""
    tables, two = spans.tables, (SKIP, UNPACKED)
    some = tables.rows > 0
    low, high = tables.low[some][:, two], tables.high[some][:, two]
    if (low < 0).any() or (high > limits.PAYLOAD).any() or (tables.rows > ROWS).any():
        raise spans.damaged(0, "a packed image that cannot be")


def has_packed(spans: Spans) -> bool:
    """Whether any image is."""
    return bool((spans.tables.high[spans.tables.rows > 0, UNPACKED] > 0).any())


def index_of(spans: Spans) -> _native.PackedIndex:
    """What the engine finds packed images by."""
    tables = spans.tables
    parts = np.column_stack([tables.rows, tables.at, tables.widths])
    return _native.PackedIndex(spans.where, spans.file, np.ascontiguousarray(parts, np.int64))


def places(spans: Spans, samples: Longs) -> tuple[Longs, Longs]:
    """Offsets and sizes: int64 [K]. Raises SourceError where the index says what cannot be."""
    start, length, skip, sizes = spans.take(samples, OFFSET, SIZE, SKIP, UNPACKED)
    packed = sizes > 0
    if not packed.any():
        return start, length
    good = (length > 0) & (sizes <= limits.PAYLOAD - skip)
    if not (good | ~packed).all():
        raise spans.damaged(0, "a packed image that cannot be")
    row = samples - spans.starts[spans.part_of(samples)]
    return np.where(packed, PACKED | row << INSIDE, start), np.where(packed, sizes, length)


def _place(spans: Spans, number: int, samples: Longs) -> Longs:
    return places(spans, samples)[number]


def first_bytes(path: str, row: Longs, most: int) -> bytes:
    """Of one image. row: int64 [4], of parquet_scan. Raises ValueError and OSError."""
    start, length, skip, size = row.tolist()
    if skip < 0:
        return _native.Files([path], keep_open=True).read(0, start, min(most, length))
    elements = _native.Files([path], keep_open=True).read(0, start, length)
    return _native.snappy_unpack(elements, skip, min(most, size))
