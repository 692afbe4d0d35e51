"""PNGs of every kind, written from their standard (W3C, third edition): Pillow writes few."""

import itertools
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
VALUES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # per pixel, by colour type
DEPTHS = {0: (1, 2, 4, 8), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# Top, left, down, across of each pass
ADAM7 = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)
Values = NDArray[np.uint16]
Chunk = tuple[bytes, bytes]


def chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


def header(height: int, width: int, depth: int, colour: int, interlaced: bool = False) -> bytes:
    return struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)


def written(
    values: Values,
    depth: int,
    colour: int,
    *,
    filters: Sequence[int] = (0,),
    interlaced: bool = False,
    palette: bytes = b"",
    before: Sequence[Chunk] = (),
    after: Sequence[Chunk] = (),
    parts: int = 1,
    level: int = 6,
) -> bytes:
    """A PNG of values uint16 [H, W, C].

    filters: of the rows, again from the first where they end; parts: chunks that the packed rows
    are cut into; before, after: chunks around them.
    """
    height, width = values.shape[:2]
    packed = zlib.compress(unpacked(values, depth, filters, interlaced), level)
    cuts = [len(packed) * part // parts for part in range(parts + 1)]
    chunks = [
        (b"IHDR", header(height, width, depth, colour, interlaced)),
        *([(b"PLTE", palette)] if palette else []),
        *before,
        *((b"IDAT", packed[a:b]) for a, b in itertools.pairwise(cuts)),
        *after,
        (b"IEND", b""),
    ]
    return SIGNATURE + b"".join(chunk(*one) for one in chunks)


def unpacked(values: Values, depth: int, filters: Sequence[int], interlaced: bool) -> bytes:
    """All rows, filtered, each behind the byte that names its filter."""
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    parts = (values[top::down, left::across] for top, left, down, across in passes)
    return b"".join(row for part in parts if part.size for row in _rows(part, depth, filters))


def _rows(values: Values, depth: int, filters: Sequence[int]) -> Iterator[bytes]:
    step = max(1, depth * values.shape[2] // 8)
    above: NDArray[Any] | None = None
    for y, row in enumerate(values):
        plain = _packed(row.reshape(-1), depth)
        name = filters[y % len(filters)]
        yield bytes([name]) + _filtered(name, plain, above, step)
        above = plain


def _packed(values: Values, depth: int) -> NDArray[np.uint8]:
    if depth == 16:
        return values.astype(">u2").view(np.uint8)
    if depth == 8:
        return values.astype(np.uint8)
    bits = (values[:, None] >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.astype(np.uint8).reshape(-1))


def _filtered(
    name: int, row: NDArray[np.uint8], above: NDArray[np.uint8] | None, step: int
) -> bytes:
    over = np.zeros_like(row) if above is None else above
    left, corner = (
        np.concatenate([np.zeros(step, np.uint8), it])[: len(row)] for it in (row, over)
    )
    a, b, c = (it.astype(np.int32) for it in (left, over, corner))
    distances = np.stack([abs(b - c), abs(a - c), abs(a + b - 2 * c)])
    nearest = np.choose(distances.argmin(0), [a, b, c])
    guess = [np.zeros_like(a), a, b, (a + b) // 2, nearest][name]
    return (row - guess).astype(np.uint8).tobytes()
