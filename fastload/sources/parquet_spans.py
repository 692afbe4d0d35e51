"""Images in Parquet files as spans: as they stand, or packed.

What is kept of a packed image: in `Part.offset` and `size` the bytes to be read, and in its line of
`names` how many bytes of what they unpack to come before it, and its size: 8 hexadecimal digits
each. Of an image that stands in the file as it is, the line is zeros.

To whoever reads it, a packed image lies behind the end of its file: there all packed images of the
file follow each other, unpacked (kernels/engine/packed.h). So its place is its own, and stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Part
from fastload.spec import Longs
from fastload.system import limits

DIGITS = 16
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


class Spans(NamedTuple):
    """Of the images of all files: int64 [N], and the packed ones [K, 6]."""

    file: Longs
    offset: Longs
    size: Longs
    packed: Longs


def part_of(rows: Longs, label: Longs, texts: tuple[str, ...] = ()) -> Part:
    """rows: int64 [N, 4], of parquet_scan."""
    start, length, skip, size = rows.T
    packed = skip >= 0
    numbers = np.where(packed, np.stack([skip, size]), 0).T.astype(">u4")
    lines = np.full((len(rows), DIGITS + 1), ord("\n"), np.uint8)
    digits = np.frombuffer(np.ascontiguousarray(numbers).tobytes().hex().encode(), np.uint8)
    lines[:, :DIGITS] = digits.reshape(len(rows), DIGITS)
    # Copies: the rows are let go
    return Part(start.copy(), length.copy(), label, lines.tobytes()[:-1], texts)


def is_whole(part: Part) -> bool:
    """Whether its lines are such, as those of an index that was kept need not be."""
    try:
        skip, size = _lines(part)
    except ValueError:
        return False
    return bool((skip + size <= limits.PAYLOAD).all() and (part.size[size > 0] > 0).all())


def _lines(part: Part) -> Longs:
    """int64 [2, N]: skip and size. Raises ValueError."""
    count, width = len(part.size), DIGITS + 1
    text = np.frombuffer(part.names + b"\n" if count else b"", np.uint8).reshape(count, width)
    digits = np.ascontiguousarray(text[:, :DIGITS]).tobytes().decode()
    values = np.frombuffer(bytes.fromhex(digits), ">u4").astype(np.int64)
    out: Longs = values.reshape(count, 2).T
    return out


def of_parts(parts: Sequence[Part]) -> Spans:
    """Those of all files, of which there is one at least."""
    found = [_of_part(number, part) for number, part in enumerate(parts)]
    return Spans(*map(np.concatenate, zip(*found, strict=True)))


def _of_part(number: int, part: Part) -> Spans:
    skip, sizes = _lines(part)
    packed = sizes > 0
    ends = np.cumsum(sizes) + part.stamp.size
    at = ends - sizes
    file = np.full(len(part.size), number, np.int64)
    rows = np.stack([file, at, sizes, part.offset, part.size, skip], 1)[packed]
    return Spans(
        file,
        np.where(packed, at, part.offset),
        np.where(packed, sizes, part.size),
        np.ascontiguousarray(rows),
    )
