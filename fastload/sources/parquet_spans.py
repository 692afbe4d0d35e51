"""Images in Parquet files as spans: as they stand, or packed.

The index has of a packed image, as `offset` and `size`, the bytes to be read, and how many bytes of
what they unpack to come before it (`skip`), and its own (`unpacked`).

To whoever reads it, a packed image lies behind the end of its file: there all packed images of the
file follow each other, unpacked (kernels/engine/packed.h). So its place is its own, and stays.
"""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Part, Spans
from fastload.spec import Longs
from fastload.system import limits

FEW = 256  # files that are kept open


@dataclass(frozen=True, eq=False)
class PackedSource(SpanSource):
    """Samples of which some are packed.

    Args:
        packed: int64 [K, 6], as _native.Files takes them.
    """

    packed: Longs = field(kw_only=True)

    @cached_property
    def files(self) -> _native.Files:
        return _native.Files(self.paths, keep_open=len(self.paths) <= FEW, packed=self.packed)


class Places(NamedTuple):
    """Of the images of all files: int64 [N], and the packed ones [K, 6]."""

    file: Longs
    offset: Longs
    size: Longs
    packed: Longs


def part_of(rows: Longs, label: Longs, texts: tuple[str, ...] = ()) -> Part:
    """rows: int64 [N, 4], of parquet_scan."""
    start, length, skip, size = map(np.ascontiguousarray, rows.T)
    packed = skip >= 0
    skip, size = np.where(packed, skip, 0), np.where(packed, size, 0)
    return Part(start, length, label, texts=texts, skip=skip, unpacked=size)


def places(spans: Spans) -> Places:
    """Of all files. Raises SourceError where the index says what cannot be."""
    start, length, skip, sizes = (
        np.asarray(spans.column(name)) for name in ("offset", "size", "skip", "unpacked")
    )
    file, packed = np.asarray(spans.parts()), sizes > 0
    most = limits.PAYLOAD
    good = (skip >= 0) & (skip <= most) & (sizes >= 0) & (sizes <= most - skip.clip(0, most))
    if not (good & (~packed | (length > 0))).all():
        raise spans.damaged(0, "a packed image that cannot be")
    # The files' packed images follow each other, from the end of each on
    sums = np.cumsum([0, *sizes.tolist()], dtype=np.int64)
    begins = sums[:-1] - sums[spans.starts[file]]
    at = begins + spans.stamps()[file, 0]
    rows = np.stack([file, at, sizes, start, length, skip], 1)[packed]
    return Places(
        file,
        np.where(packed, at, start),
        np.where(packed, sizes, length),
        np.ascontiguousarray(rows),
    )


def first_bytes(path: str, row: Longs, most: int) -> bytes:
    """Of one image. row: int64 [4], of parquet_scan. Raises ValueError and OSError."""
    start, length, skip, size = row.tolist()
    if skip < 0:
        return _native.Files([path], keep_open=True).read(0, start, min(most, length))
    behind = os.stat(path).st_size
    packed = np.array([[0, behind, size, start, length, skip]], np.int64)
    return _native.Files([path], keep_open=True, packed=packed).read(0, behind, min(most, size))
