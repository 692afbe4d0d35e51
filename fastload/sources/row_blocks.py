"""Rows of numbers in blocks of bytes, so that any row is found without reading the others.

A block has the XXH3-64 of all that follows in it, where the names of its rows lie, a base for each
column, and the columns one after another: of each value how far it is above its column's base, in
as many bytes as the widest of the part needs. Offsets in a file grow and lie close together, so
four bytes say what takes eight; a column of one value takes none. All arithmetic is modulo 2^64.
"""

import os
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.spec import Longs

ROWS = 256  # in a block; the last one of a part is filled up
HEAD = struct.Struct("<QQQQ")  # XXH3-64 of what follows; of its names: where, bytes, XXH3-64
NO_WAIT = getattr(os, "RWF_NOWAIT", 0)  # Linux reads what is there, or refuses
WIDE = 8  # bytes of the widest value, and of a base


class Layout(NamedTuple):
    """How blocks of some parts are made: arrays [parts, columns] and [parts]."""

    widths: Longs  # bytes of a value
    begins: Longs  # bytes before a column in its block
    size: Longs  # bytes of a block


def layout(widths: Longs) -> Layout:
    columns = widths.shape[1]
    ends = HEAD.size + WIDE * columns + np.cumsum(ROWS * widths, axis=1)
    return Layout(widths, ends - ROWS * widths, ends[:, -1])


def blocks_of(rows: Any) -> Any:
    """How many blocks so many rows take; of numbers or arrays."""
    return -(-rows // ROWS)


def encode(columns: Sequence[Longs], names: Sequence[bytes] = ()) -> tuple[bytes, list[int]]:
    """What lies in a file of one part, and the widths of its columns. columns: [N] each.

    names: of the rows, UTF-8; none, or N.
    """
    count = int(blocks_of(len(columns[0])))
    squares = [_square(column, count) for column in columns]
    bases = [square.min(axis=1) for square in squares]
    above = [
        square.view(np.uint64) - base.view(np.uint64)[:, None]
        for square, base in zip(squares, bases, strict=True)
    ]
    widths = [_width(int(one.max(initial=0))) for one in above]
    how = layout(np.array([widths], np.int64))
    out = np.zeros((count, int(how.size[0])), np.uint8)
    for number, (base, one, width) in enumerate(zip(bases, above, widths, strict=True)):
        at, begin = HEAD.size + WIDE * number, int(how.begins[0, number])
        out[:, at : at + WIDE] = base.astype("<i8").view(np.uint8).reshape(count, WIDE)
        parts = one.astype("<u8").view(np.uint8).reshape(count, ROWS, WIDE)[:, :, :width]
        out[:, begin : begin + ROWS * width] = parts.reshape(count, ROWS * width)
    texts = [b"\n".join(names[at : at + ROWS]) for at in range(0, len(names), ROWS)]
    at = out.size
    for number, block in enumerate(out):
        text = texts[number] if texts else b""
        HEAD.pack_into(block.data, 0, 0, at, len(text), _native.xxh3(text))
        block[:WIDE] = np.frombuffer(_native.xxh3(block[WIDE:].data).to_bytes(WIDE, "little"), "u1")
        at += len(text)
    return b"".join([out.tobytes(), *texts]), widths


def decode(data: NDArray[np.uint8], rows: int, widths: Sequence[int]) -> list[Longs] | int:
    """The columns of a part, [rows] each; or the first of its blocks that is damaged.

    data: its blocks. widths: of its columns.
    """
    how = layout(np.array([widths], np.int64))
    blocks = data.reshape(int(blocks_of(rows)), int(how.size[0]))
    sums = np.array([_native.xxh3(block[WIDE:].data) for block in blocks], np.uint64)
    if (wrong := np.flatnonzero(_words(blocks[:, :WIDE]) != sums)).size:
        return int(wrong[0])
    columns = list[Longs]()
    for number, (width, begin) in enumerate(zip(widths, how.begins[0].tolist(), strict=True)):
        at = HEAD.size + WIDE * number
        above = np.zeros((len(blocks) * ROWS, WIDE), np.uint8)
        above[:, :width] = blocks[:, begin : begin + ROWS * width].reshape(len(above), width)
        bases = np.repeat(_words(blocks[:, at : at + WIDE]), ROWS)
        columns.append((bases + _words(above)).view(np.int64)[:rows])
    return columns


def _words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """What the WIDE bytes of each row say."""
    return np.ascontiguousarray(rows).view("<u8")[:, 0].astype(np.uint64, copy=False)


def _square(column: Longs, count: int) -> Longs:
    """int64 [blocks, ROWS]; the last value fills it up, which widens nothing."""
    out = np.empty(count * ROWS, np.int64)
    out[: len(column)] = column
    out[len(column) :] = column[-1] if len(column) else 0
    return out.reshape(count, ROWS)


def _width(most: int) -> int:
    """Bytes that a number needs; 0 for 0."""
    return -(-most.bit_length() // 8)


class Blocks:
    """Blocks that were read: each once, whichever rows of it are wanted."""

    def __init__(self, file: int, at: Longs, sizes: Longs) -> None:
        """file: a descriptor. at: where the block of each wanted row lies; sizes: and its bytes.

        Raises OSError; where there is damage, `bad` says.
        """
        self.places, first, self.of_row = np.unique(at, return_index=True, return_inverse=True)
        self.stride = int(sizes.max(initial=0)) + WIDE  # the last value is read as WIDE bytes
        self.data = np.zeros(len(self.places) * self.stride, np.uint8)
        memory, self.bad = memoryview(self.data.data), -1
        begins = range(0, len(self.data), self.stride)
        ends = map(int.__add__, begins, sizes[first].tolist())
        pieces = [memory[begin:end] for begin, end in zip(begins, ends, strict=True)]
        for place, piece in _at_once(file, list(zip(self.places.tolist(), pieces, strict=True))):
            if not fill(file, place, piece):
                self.bad = place
                return
        sums = [_native.xxh3(piece[WIDE:]) for piece in pieces]
        wrong = np.flatnonzero(self._heads() != np.array(sums, np.uint64))
        if len(wrong):
            self.bad = int(self.places[wrong[0]])

    def _heads(self) -> NDArray[np.uint64]:
        """[blocks]: what each says of its XXH3-64."""
        return _words(self.data.reshape(len(self.places), self.stride)[:, :WIDE])

    def names(self, row: int) -> tuple[int, int, int]:
        """Of the block of a wanted row: where its names lie, their bytes and their XXH3-64."""
        place = int(self.of_row[row]) * self.stride
        _, at, size, checksum = HEAD.unpack(self.data[place : place + HEAD.size].tobytes())
        return at, size, checksum

    def values(self, column: int, begins: Longs, widths: Longs, rows: Longs) -> Longs:
        """int64 [K]: of the wanted rows. rows: which of their block's; begins, widths: of the
        column in their blocks.
        """
        starts = self.of_row * self.stride
        bases = self._numbers(starts + HEAD.size + WIDE * column)
        above = self._numbers(starts + begins + rows * widths) & _MASKS[widths]
        out: Longs = (bases + above).view(np.int64)
        return out

    def _numbers(self, at: Longs) -> NDArray[np.uint64]:
        """What WIDE bytes from each place on say."""
        return _words(self.data[at[:, None] + np.arange(WIDE)])


_MASKS = np.array([(1 << 8 * width) - 1 for width in range(WIDE + 1)], np.uint64)


def fill(file: int, at: int, memory: memoryview) -> bool:
    """Read from a place of a file; whether all was there. Raises OSError."""
    done = 0
    while done < len(memory) and (more := os.preadv(file, [memory[done:]], at + done)):
        done += more
    return done == len(memory)


Piece = tuple[int, memoryview]  # a place of a file, and what is to be filled from there on


def _at_once(file: int, pieces: list[Piece]) -> list[Piece]:
    """Fill what the page cache has; the system is asked for all others before one is waited for.

    Returns those. Raises nothing: what cannot be read is among them.
    """
    later, flags, read = list[Piece](), NO_WAIT, os.preadv
    for place, piece in pieces:
        try:
            if read(file, (piece,), place, flags) == len(piece):
                continue
        except BlockingIOError:
            os.posix_fadvise(file, place, len(piece), os.POSIX_FADV_WILLNEED)
        except OSError:  # a file system without such reads, or an error that comes again
            flags = 0
        later.append((place, piece))
    return later
