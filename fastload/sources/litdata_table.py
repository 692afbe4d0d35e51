"""The table of Arrow behind a chunk of LitData, read where it lies, without pyarrow.

LitData writes dicts of plain values (bytes, numbers, text) so: the chunk's samples are empty, and
the columns of an Arrow IPC file have the values. A chunk ends with that file, its length (uint32)
and 8 bytes that say so. A column of bytes lies in one piece for each record batch, so a value
is a span of the chunk. Sources: Lightning-AI/litData 0.2.76, streaming/item_loader.py;
arrow/format/{File,Schema,Message}.fbs.
"""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastload.errors import SourceError
from fastload.files.names import shown
from fastload.sources.arrow_blocks import (
    BATCHES,
    BLOCK,
    BUFFER,
    BUFFERS,
    COMPRESSION,
    END,
    HEADER,
    HEADER_TYPE,
    IS_BATCH,
    LENGTH,
    MAGIC,
    MARK,
    Metadata,
)
from fastload.sources.span_index import Part
from fastload.spec import Array, Longs
from fastload.system import limits

TAIL = struct.Struct("<I8s")  # at the end of a chunk: bytes of the table, THERE
THERE = b"LDARW01\0"
SCHEMA, FIELDS, NODES = 1, 1, 1  # fields of the footer, of a schema, of a record batch
NAME, TYPE_OF, TYPE, CHILDREN = 0, 2, 3, 5  # fields of a column's description
NODE = struct.Struct("<qq")  # rows, nulls
INTEGER, FLOAT, BINARY, TEXT = 2, 3, 4, 5  # types of columns
NAMES = {INTEGER: "int64", FLOAT: "float64", BINARY: "bytes", TEXT: "text"}
# Type and bits of what fields.py calls so
TYPES = {
    "bytes": (BINARY, 0), "text": (TEXT, 0), "number <i8": (INTEGER, 64), "number <f8": (FLOAT, 64),
}  # fmt: skip
# Buffers of the types that a plain value becomes: Null, Int, FloatingPoint, Binary, Utf8, Bool,
# List, Struct, LargeBinary, LargeUtf8, LargeList. Of the nested ones come those of their values
PARTS = {1: 0, INTEGER: 2, FLOAT: 2, BINARY: 3, TEXT: 3, 6: 2, 12: 2, 13: 1, 19: 3, 20: 3, 21: 2}
DEEPEST, MOST_COLUMNS = 16, 1 << 10
REMEDY = "write the data set again"
Wanted: TypeAlias = tuple[str, int, int]  # a column's name, type and bits


class Column(NamedTuple):
    """A column, and which of a record batch's nodes and buffers are its first."""

    type: int
    bits: int  # of numbers; integers without a sign have 0
    node: int
    buffer: int


class Place(NamedTuple):
    """A part of a file."""

    start: int  # bytes
    size: int


class Batch(NamedTuple):
    """A record batch."""

    file: int
    body: Place
    table: Place
    rows: int
    buffers: list[Place]


Read: TypeAlias = Callable[..., Part]  # of a batch, and of the columns that are wanted


def is_there(file: int) -> bool:
    """Whether an open chunk ends with a table."""
    size = os.fstat(file).st_size
    return os.pread(file, len(THERE), max(0, size - len(THERE))) == THERE


def spans(path: str, file: int, samples: int, image: str, label: str | None) -> Part:
    """The samples; image, label: names of columns. Raises SourceError and OSError."""
    wanted = [(image, *TYPES["bytes"])]
    if label is not None:
        wanted.append((label, *TYPES["number <i8"]))
    return _joined(path, file, samples, wanted, _sample)


def values(path: str, file: int, samples: int, name: str, kind: str) -> Part:
    """The values of a column; kind: as fields.py calls it. Raises SourceError and OSError."""
    return _joined(path, file, samples, [(name, *TYPES[kind])], _value)


def _joined(path: str, file: int, samples: int, wanted: Sequence[Wanted], read: Read) -> Part:
    """What `read` gives for each record batch. Raises SourceError and OSError."""
    try:
        table = _table(file)
        parts = [part for part in _parts(file, table, wanted, read) if len(part.size)]
    except (ValueError, struct.error) as error:
        raise SourceError(f"{path}: its table of Arrow is no good ({error}); {REMEDY}") from error
    count = sum(len(part.size) for part in parts)
    if count != samples:
        raise SourceError(f"{path}: has {count} samples, want {samples}; {REMEDY}")
    return Part(
        np.concatenate([part.offset for part in parts]),
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.label for part in parts]),
    )


def _table(file: int) -> Place:
    """Where the Arrow file is. Raises ValueError."""
    size = os.fstat(file).st_size
    length, _ = TAIL.unpack(os.pread(file, TAIL.size, size - TAIL.size))
    if not END.size < length <= size - TAIL.size:
        raise ValueError(f"it has {length} bytes in {size}")
    return Place(size - TAIL.size - length, length)


def _parts(file: int, table: Place, wanted: Sequence[Wanted], read: Read) -> Iterator[Part]:
    """Of each record batch. Raises ValueError, struct.error and OSError."""
    length, magic = END.unpack(_read(file, table, table.size - END.size, END.size))
    if magic != MAGIC:
        raise ValueError("it does not end as an Arrow file")
    footer = Metadata(_read(file, table, table.size - END.size - length, length))
    top = footer.table(0)
    columns = _columns(footer, _below(footer, top, SCHEMA))
    chosen = []
    for name, type_, bits in wanted:
        column = columns.get(name)
        if column is None or (column.type, column.bits) != (type_, bits):
            has = ", ".join(map(shown, columns))
            what = NAMES[type_]
            raise ValueError(f"it has no column {shown(name)} of {what}, has {has}")
        chosen.append(column)
    for at, length, size in footer.rows(top, BATCHES, BLOCK):
        message = Metadata(_read(file, table, at, length))
        body = Place(table.start + at + length, size)
        yield read(_batch(file, body, table, message, chosen), *chosen)


def _columns(data: Metadata, schema: int) -> dict[str, Column]:
    """Those of the table by name; of nested ones the place only."""
    found, node, buffer, left = dict[str, Column](), 0, 0, iter(range(MOST_COLUMNS))
    for at in _tables(data, schema, FIELDS):
        start = _below(data, at, NAME)
        size = data.number("I", start)
        name = bytes(data.data[start + 4 : start + 4 + size]).decode()
        kind = data.number("B", _field(data, at, TYPE_OF))
        found[name] = Column(kind, _bits(data, at, kind), node, buffer)
        nodes, buffers = _parts_of(data, at, DEEPEST, left)
        node, buffer = node + nodes, buffer + buffers
    return found


def _bits(data: Metadata, at: int, kind: int) -> int:
    """Of a column of numbers. Raises ValueError."""
    if kind not in (INTEGER, FLOAT):
        return 0
    type_ = _below(data, at, TYPE)
    if kind == FLOAT:
        precision = data.field(type_, 0)
        return 16 << min(data.number("H", precision), 3) if precision else 16
    signed = data.field(type_, 1)
    return data.number("i", _field(data, type_, 0)) if signed and data.number("B", signed) else 0


def _parts_of(data: Metadata, at: int, deepest: int, left: Iterator[int]) -> tuple[int, int]:
    """How many nodes and buffers a column has, with those in it. left: an item for each that may
    still come. Raises ValueError.
    """
    kind = data.number("B", _field(data, at, TYPE_OF))
    if kind not in PARTS or not deepest or next(left, None) is None:
        raise ValueError(f"it has a column of type {kind}, too many columns, or too deep ones")
    below = [_parts_of(data, child, deepest - 1, left) for child in _tables(data, at, CHILDREN)]
    return 1 + sum(nodes for nodes, _ in below), PARTS[kind] + sum(each for _, each in below)


def _field(data: Metadata, at: int, number: int) -> int:
    """Where a field of a table is. Raises ValueError."""
    if not (field := data.field(at, number)):
        raise ValueError("its metadata lack a field")
    return field


def _below(data: Metadata, at: int, number: int) -> int:
    """Where the table or text is that a field of a table names. Raises ValueError."""
    return data.table(_field(data, at, number))


def _tables(data: Metadata, at: int, number: int) -> Iterator[int]:
    """A vector of tables. Raises ValueError."""
    if not (field := data.field(at, number)):
        return
    start = data.table(field)
    count = data.number("I", start)
    if count > MOST_COLUMNS:
        raise ValueError(f"it has {count} columns")
    for place in range(start + 4, start + 4 + 4 * count, 4):
        yield data.table(place)


def _batch(
    file: int, body: Place, table: Place, message: Metadata, columns: Sequence[Column]
) -> Batch:
    """A record batch that has these columns. Raises ValueError, struct.error and OSError."""
    top = message.table(8 if message.number("I", 0) == MARK else 4)
    batch = _below(message, top, HEADER)
    rows = message.number("q", _field(message, batch, LENGTH))
    nodes = list(message.rows(batch, NODES, NODE))
    buffers = [Place(*one) for one in message.rows(batch, BUFFERS, BUFFER)]
    if message.number("B", _field(message, top, HEADER_TYPE)) != IS_BATCH:
        raise ValueError("it has a message that is no record batch")
    if message.field(batch, COMPRESSION):
        raise ValueError("its record batches are compressed, want optimize(…, compression=None)")
    for column in columns:
        if column.node >= len(nodes) or column.buffer + PARTS[column.type] > len(buffers):
            raise ValueError("it has too few buffers")
        if nulls := nodes[column.node][1]:
            raise ValueError(f"{nulls} values are missing")
    if not 0 <= rows <= table.size:
        raise ValueError(f"{rows} rows cannot lie in {table.size} bytes")
    return Batch(file, body, table, rows, buffers)


def _sample(batch: Batch, image: Column, label: Column | None = None) -> Part:
    """Raises ValueError and OSError."""
    offset, sizes = _pieces(batch, image)
    if not sizes.all():
        raise ValueError("it has images that are empty")
    labels = np.zeros_like(sizes)
    if label is not None:
        labels = _numbers(batch, batch.buffers[label.buffer + 1], batch.rows, "<i8")
    return Part(offset, sizes, labels)


def _value(batch: Batch, column: Column) -> Part:
    """Raises ValueError and OSError."""
    if column.type not in (INTEGER, FLOAT):
        return Part(*_pieces(batch, column), np.zeros(batch.rows, np.int64))
    part, size = batch.buffers[column.buffer + 1], column.bits // 8
    at = batch.body.start - batch.table.start + part.start
    if at < 0 or part.size < batch.rows * size or at + batch.rows * size > batch.table.size:
        raise ValueError(f"a column has {part.size} bytes at {at}, want {batch.rows * size} inside")
    offset = batch.table.start + at + size * np.arange(batch.rows, dtype=np.int64)
    return Part(offset, np.full_like(offset, size), np.zeros_like(offset))


def _pieces(batch: Batch, column: Column) -> tuple[Longs, Longs]:
    """Offset and size of the values of a column of bytes or text. Raises ValueError, OSError."""
    table = batch.table
    edges = _numbers(batch, batch.buffers[column.buffer + 1], batch.rows + 1, "<i4")
    sizes = np.diff(edges)
    start = batch.body.start + batch.buffers[column.buffer + 2].start
    if batch.rows and (edges[0] < 0 or sizes.min() < 0 or start < table.start):
        raise ValueError("it has values that are not in their order")
    if batch.rows and start + int(edges[-1]) > table.start + table.size:
        raise ValueError("it has values outside of the file")
    return start + edges[:-1], sizes


def _numbers(batch: Batch, part: Place, count: int, kind: str) -> Longs:
    """int64 [count]. Raises ValueError and OSError."""
    item = np.dtype(kind)
    if part.size < count * item.itemsize:
        raise ValueError(f"a column has {part.size} bytes, want {count * item.itemsize}")
    at = batch.body.start - batch.table.start + part.start
    numbers: Array = np.frombuffer(_read(batch.file, batch.table, at, count * item.itemsize), item)
    return numbers.astype(np.int64)


def _read(file: int, table: Place, at: int, size: int) -> Any:
    """Bytes of the Arrow file. Raises ValueError and OSError."""
    if at < 0 or size < 0 or at + size > table.size:
        raise ValueError(f"it points to bytes {at} to {at + size} of {table.size}")
    if wrong := limits.too_many(size, limits.METADATA):
        raise ValueError(wrong)
    data = os.pread(file, size, table.start + at)
    if len(data) != size:
        raise ValueError("it was cut off while it was read")
    return data
