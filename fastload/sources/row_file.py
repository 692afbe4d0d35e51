"""Files of rows: what an index says of each sample, read by blocks where it is used.

The rows lie part by part, as the data set's files do, each part's blocks (row_blocks.py) before the
names of its rows. Tables at the end say how each part lies; they alone are read at open and kept in
memory. So an open index costs memory by its parts and not by its rows, and all processes of a
machine share the rest in the system's page cache. Nothing is mapped: a mapped file that is cut off
ends the process. Where there are few rows, a batch takes them from memory: finding blocks costs
Python 3 us for each.

A file may come from anywhere: its tables are checked at open, a block at each read, and each value
against what the tables say of its part.
"""

import json
import os
import struct
import weakref
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import arrow, row_blocks
from fastload.sources.columns import Column
from fastload.sources.row_blocks import ROWS, Blocks, blocks_of, fill
from fastload.spec import Json, Longs
from fastload.system import limits

# Magic, version, XXH3-64 of the tables, where they begin, their bytes, those of the JSON in front
HEADER = struct.Struct("<8sQQQQQ")
MAGIC, VERSION = b"FASTROWS", 1
AT = 1  # column of the table: where a part lies
FIXED = 3  # columns of the table before those of widths, least and greatest values: see Tables
AT_ONCE = 1 << 16  # rows that are read together
RECENT = 64  # requests whose rows are kept: of batches that are read ahead, labels are asked later
SMALL = 1 << 12  # rows of such a request
NARROW = (np.int8, np.int16, np.int32, np.uint32, np.int64)
FEW = 1 << 21  # rows that are kept in memory once some are wanted: 8 to 24 bytes each


class Tables(NamedTuple):
    """How the parts lie: arrays [parts] and [parts, columns]."""

    rows: Longs
    at: Longs  # bytes before the first block
    bytes: Longs  # of blocks and names
    widths: Longs  # bytes of a value
    low: Longs  # the least value
    high: Longs  # the greatest
    facts: Longs  # [parts, …] what the writer has said of each


class Taken(NamedTuple):
    """Rows that were asked for: arrays [K]."""

    part: Longs
    values: tuple[Longs, ...]  # of each column


class Rows:
    """An open file of rows.

    Args:
        where: Its path, for messages.
        file: Its descriptor, which is closed with this.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no writer of ours wrote.
    """

    def __init__(self, where: str, file: int) -> None:
        self.where, self.file = where, file
        weakref.finalize(self, os.close, file).atexit = False
        self.checksum, self.told, self.tables = read_tables(file, os.fstat(file).st_size)
        self.columns: tuple[str, ...] = tuple(self.told["columns"])
        self.starts = np.cumsum([0, *self.tables.rows.tolist()], dtype=np.int64)
        self._layout = row_blocks.layout(self.tables.widths)
        # By a proxy: a circle would hold the descriptor until the collector comes
        self._recent = lru_cache(RECENT)(partial(_again, weakref.proxy(self)))

    def __len__(self) -> int:
        return int(self.starts[-1])

    def damaged(self, at: int, what: str) -> SourceError:
        """The error of what lies at a byte of the file."""
        return SourceError(f"{self.where}: is damaged ({what}, at byte {at}); restore it")

    def part_of(self, samples: Longs) -> Longs:
        """int64 [K]: the parts of these rows. Raises IndexError."""
        self._refuse_others(samples)
        return np.searchsorted(self.starts, samples, side="right") - 1

    def _refuse_others(self, samples: Longs) -> None:
        if len(samples) and not 0 <= samples.min() <= samples.max() < len(self):
            raise IndexError(
                f"index: rows {samples.min()}..{samples.max()} asked for (want 0..{len(self) - 1})"
                "; check the sampler"
            )

    def at(self, samples: Longs) -> Taken:
        """Rows int64 [K]. Others get the same arrays. Raises SourceError for damage."""
        if len(samples) <= SMALL:
            return self._recent(np.ascontiguousarray(samples, np.int64).tobytes())
        pieces = [self._read(samples[at : at + AT_ONCE]) for at in range(0, len(samples), AT_ONCE)]
        columns = zip(*(piece.values for piece in pieces), strict=True)
        return Taken(
            np.concatenate([piece.part for piece in pieces]),
            tuple(np.concatenate(column) for column in columns),
        )

    def take(self, samples: Longs, *numbers: int) -> list[Longs]:
        """Columns of these numbers at rows int64 [K], for the caller alone. Raises IndexError, and
        SourceError for damage.
        """
        if not 0 < len(self) <= FEW:
            values = self.at(samples).values
            return [values[number].copy() for number in numbers]
        self._refuse_others(samples)
        return [self._few[number][samples].astype(np.int64) for number in numbers]

    def look(self) -> None:
        """Read all rows now, where they will be kept in memory. Raises SourceError for damage."""
        if 0 < len(self) <= FEW:
            _ = self._few

    @cached_property
    def _few(self) -> list[NDArray[Any]]:
        """All rows, each column in the narrowest type that it fits."""
        parts = [self._of_part(part) for part in np.flatnonzero(self.tables.rows).tolist()]
        return [_narrow(np.concatenate(column)) for column in zip(*parts, strict=True)]

    def _of_part(self, part: int) -> list[Longs]:
        at, rows = int(self.tables.at[part]), int(self.tables.rows[part])
        size = int(self._layout.size[part])
        data = np.empty(int(blocks_of(rows)) * size, np.uint8)
        if not self._fill(at, data.data):
            raise self.damaged(at, "it was cut off")
        values = row_blocks.decode(data, rows, self.tables.widths[part].tolist())
        if isinstance(values, int):
            raise self.damaged(at + values * size, "checksum mismatch of rows")
        taken = Taken(np.full(rows, part, np.int64), tuple(values))
        self._check(taken, lambda row: at + row // ROWS * size)
        return values

    def column(self, name: str) -> Column:
        """One of the columns, for whoever wants an array."""
        number = self.columns.index(name)
        some = self.tables.rows > 0
        low, high = (table[some, number] for table in (self.tables.low, self.tables.high))
        ends = (int(low.min()), int(high.max())) if some.any() else (0, -1)
        return Column(len(self), partial(_values, self, number), *ends)

    def parts(self) -> Column:
        """The number of each row's part."""
        return Column(len(self), self.part_of, 0, max(0, len(self.tables.rows) - 1))

    def name(self, sample: int) -> str:
        """Of a row; empty: it has none. Raises SourceError for damage."""
        samples = np.array([sample], np.int64)
        part = self.part_of(samples)
        blocks, row = self._blocks(samples, part)
        at, size, checksum = blocks.names(0)
        begin, most = int(self.tables.at[part[0]]), int(self.tables.bytes[part[0]])
        if not size:
            return ""
        if at > most or size > most - at:
            raise self.damaged(int(blocks.places[0]), "names outside of their part")
        text = bytearray(size)
        if not self._fill(begin + at, memoryview(text)) or _native.xxh3(text) != checksum:
            raise self.damaged(begin + at, "checksum mismatch of names")
        lines = bytes(text).split(b"\n")
        if row[0] >= len(lines):
            raise self.damaged(begin + at, "a row without a name")
        return lines[int(row[0])].decode("utf-8", "surrogateescape")

    def bytes_of(self, part: int) -> bytes:
        """All that lies in the file of a part, for a copy. Raises SourceError."""
        out = bytearray(int(self.tables.bytes[part]))
        if not self._fill(int(self.tables.at[part]), memoryview(out)):
            raise self.damaged(int(self.tables.at[part]), "it was cut off")
        return bytes(out)

    def _read(self, samples: Longs) -> Taken:
        part = self.part_of(samples)
        blocks, row = self._blocks(samples, part)
        values = []
        for number in range(len(self.columns)):
            widths, begins = (each[part, number] for each in self._layout[:2])
            values.append(blocks.values(number, begins, widths, row))
        taken = Taken(part, tuple(values))
        self._check(taken, lambda row: int(blocks.places[blocks.of_row[row]]))
        return taken

    def _check(self, taken: Taken, place: Callable[[int], int]) -> None:
        """Raises SourceError. place: where the block of one of the rows lies."""
        outside = np.zeros(len(taken.part), np.bool_)
        for number, column in enumerate(taken.values):
            low, high = (table[taken.part, number] for table in (self.tables.low, self.tables.high))
            outside |= (column < low) | (column > high)
        if outside.any():
            where = place(int(np.argmax(outside)))
            raise self.damaged(where, "values outside of those of their part")

    def _blocks(self, samples: Longs, part: Longs) -> tuple[Blocks, Longs]:
        """The blocks that these rows lie in, and which of its block's each one is."""
        begins: Longs = self.starts[part]
        block: Longs = (samples - begins) // ROWS
        row: Longs = samples - begins - block * ROWS
        sizes: Longs = self._layout.size[part]
        try:
            blocks = Blocks(self.file, self.tables.at[part] + block * sizes, sizes)
        except OSError as error:
            raise self._unreadable(error) from error
        if blocks.bad >= 0:
            raise self.damaged(blocks.bad, "checksum mismatch of rows")
        return blocks, row

    def _fill(self, at: int, memory: memoryview) -> bool:
        try:
            return fill(self.file, at, memory)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> SourceError:
        why = error.strerror or error
        return SourceError(f"{self.where}: cannot be read ({why}); restore it")


def _values(rows: Rows, number: int, samples: Longs) -> Longs:
    return rows.take(samples, number)[0]


def _again(rows: Rows, samples: bytes) -> Taken:
    return rows._read(np.frombuffer(samples, np.int64))


def _narrow(column: Longs) -> NDArray[Any]:
    """The same numbers in less memory; of one value in none."""
    low, high = int(column.min()), int(column.max())
    if low == high:
        return np.broadcast_to(np.int64(low), column.shape)
    return column.astype(next(kind for kind in NARROW if _fits(kind, low, high)))


def _fits(kind: type[np.integer[Any]], low: int, high: int) -> bool:
    limits_of = np.iinfo(kind)
    return int(limits_of.min) <= low and high <= int(limits_of.max)


def read_tables(file: int, size: int) -> tuple[int, Json, Tables]:
    """The XXH3-64 of what they say, wherever the parts lie; what the JSON says; the arrays.

    Raises ValueError, and others of arrow.PARSE_ERRORS.
    """
    head = os.pread(file, HEADER.size, 0)
    magic, version, checksum, at, length, text = HEADER.unpack(head)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("is of another version")
    if length > min(size, limits.INDEX) or at > size - length or text > length:
        raise ValueError("is cut off")
    data = np.empty(length, np.uint8)
    if not fill(file, at, data.data) or _native.xxh3(data.data) != checksum:
        raise ValueError("is damaged")
    said = json.loads(arrow.small_json(data[:text].tobytes()))
    columns, facts, parts = said["columns"], said["facts"], said["parts"]
    wide = FIXED + 3 * len(columns) + facts
    if type(parts) is not int or type(facts) is not int or not 0 <= facts <= length:
        raise ValueError("a number is none")
    numbers = data[text:].view("<i8").astype(np.int64, copy=False)
    if not columns or len(numbers) != parts * wide:
        raise ValueError("tables of another size")
    numbers = numbers.reshape(parts, wide)
    tables = _checked(numbers, len(columns), at)
    # Who makes the same index at the same time writes its tables at other moments
    content = data[:text].tobytes() + np.delete(numbers, AT, axis=1).tobytes()
    return _native.xxh3(content), said, tables


def _checked(numbers: NDArray[np.int64], columns: int, end: int) -> Tables:
    """Raises ValueError for what cannot be. end: of the parts."""
    cuts = np.cumsum([FIXED, columns, columns, columns])
    fixed, widths, low, high, facts = np.split(numbers, cuts, axis=1)
    rows, at, size = (np.ascontiguousarray(column) for column in fixed.T)
    whole = (at >= HEADER.size) & (size >= 0) & (size <= end) & (at <= end - size.clip(0, end))
    good = whole & (rows >= 0) & ((widths >= 0) & (widths <= row_blocks.WIDE)).all(axis=1)
    # Compared as blocks that fit: a product of what a file says might overflow
    block = row_blocks.layout(widths.clip(0, row_blocks.WIDE)).size
    if not (good & (blocks_of(rows.clip(0)) <= size // block)).all():
        raise ValueError("a part lies outside of the file")
    others = (np.ascontiguousarray(each) for each in (widths, low, high, facts))
    return Tables(rows, at, size, *others)
