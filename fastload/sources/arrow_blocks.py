"""What an Arrow IPC file says of itself, looked at before Arrow takes memory for it: rows, and
bytes that would be unpacked.

Arrow believes the lengths in compressed buffers. Its metadata are FlatBuffers: a table is found by
offsets, its fields by a list of them.
Source: arrow/format/File.fbs, Message.fbs; flatbuffers.dev, internals.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastload.sources.checked_file import Checked
from fastload.system import limits

MAGIC, END = b"ARROW1", struct.Struct("<i6s")  # at the end: bytes of the footer, MAGIC
DICTIONARIES, BATCHES = 2, 3  # fields of the footer: vectors of Block
BLOCK = struct.Struct("<qi4xq")  # where a message is, bytes of its metadata, bytes of its body
HEADER_TYPE, HEADER, BODY = 1, 2, 3  # fields of a message
IS_DICTIONARY, IS_BATCH = 2, 3  # values of HEADER_TYPE
DATA = 1  # field of a dictionary batch: a record batch
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3  # fields of a record batch
# Offset in the body, bytes; what stands before a message's length
NUMBERS = {kind: struct.Struct(f"<{kind}") for kind in "BHIQiq"}
BUFFER, MARK = (struct.Struct("<qq"), 0xFFFFFFFF)


class Batch(NamedTuple):
    """A record batch, or the values of a dictionary."""

    rows: int
    stored: int  # bytes of its body in the file
    unpacked: int  # bytes in memory
    packed: bool


class Metadata:
    """FlatBuffers in the bytes of a file."""

    def __init__(self, data: Any) -> None:
        self.data = data if isinstance(data, Checked) else memoryview(data).cast("B")

    def number(self, kind: str, at: int) -> int:
        if not 0 <= at < len(self.data):
            raise ValueError(f"its metadata point to byte {at} of {len(self.data)}")
        one = NUMBERS[kind]
        return int(one.unpack(self.data[at : at + one.size])[0])

    def table(self, at: int) -> int:
        return at + self.number("I", at)

    def field(self, table: int, number: int) -> int:
        """Where a field of a table is; 0: left out."""
        fields = table - self.number("i", table)
        if 4 + 2 * number >= self.number("H", fields):
            return 0
        offset = self.number("H", fields + 4 + 2 * number)
        return table + offset if offset else 0

    def rows(self, table: int, number: int, kind: struct.Struct) -> Iterator[tuple[Any, ...]]:
        """A vector of structs."""
        if not (at := self.field(table, number)):
            return
        start = self.table(at)
        end = start + 4 + self.number("I", start) * kind.size
        if end > len(self.data):
            raise ValueError(f"its metadata end at byte {end} of {len(self.data)}")
        yield from kind.iter_unpack(self.data[start + 4 : end])


def batches(data: Any) -> list[Batch]:
    """Of a file, or of a stream. data: bytes-like, or an open file. Raises ValueError."""
    metadata = Metadata(data)
    try:
        messages = (
            _of_footer(metadata)
            if bytes(metadata.data[-len(MAGIC) :]) == MAGIC
            else _of_stream(metadata)
        )
        return [batch for at, body in messages if (batch := _batch(metadata, at, body))]
    except struct.error as error:
        raise ValueError(f"its metadata are cut off ({error})") from error


def check(data: Any, *, compressed: bool, most: int = limits.PARQUET_GROUP) -> int:
    """Rows in all. Raises ValueError for what would take more memory than the file and the limits
    allow.

    compressed: whether buffers may be; most: bytes of a batch.
    """
    rows = unpacked = 0
    for batch in batches(data):
        rows, unpacked = rows + batch.rows, unpacked + batch.packed * batch.unpacked
        if batch.packed and not compressed:
            raise ValueError("a record batch is compressed")
        if problem := limits.swollen(batch.unpacked, batch.stored) or limits.too_many(
            batch.unpacked, most
        ):
            raise ValueError(f"a record batch is too large when it is unpacked: {problem}")
    size = len(Metadata(data).data)
    if problem := limits.swollen(unpacked, size) or limits.too_many(unpacked, limits.INDEX):
        raise ValueError(f"it is too large when it is unpacked: {problem}")
    if not 0 <= rows <= size:
        raise ValueError(f"{rows} rows cannot lie in {size} bytes")
    return rows


def _of_footer(metadata: Metadata) -> Iterator[tuple[int, int]]:
    """Where the metadata and the body of each message begin."""
    size, _ = END.unpack(metadata.data[-END.size :])
    footer = metadata.table(len(metadata.data) - END.size - size)
    for number in (DICTIONARIES, BATCHES):
        for at, length, _ in metadata.rows(footer, number, BLOCK):
            yield at + (8 if metadata.number("I", at) == MARK else 4), at + length


def _of_stream(metadata: Metadata) -> Iterator[tuple[int, int]]:
    at, end = 0, len(metadata.data)
    while at + 8 <= end:
        mark = 4 * (metadata.number("I", at) == MARK)
        length = metadata.number("i", at + mark)
        if length <= 0:
            return
        start, body = at + mark + 4, at + mark + 4 + length
        yield start, body
        field = metadata.field(metadata.table(start), BODY)
        at = body + (metadata.number("Q", field) if field else 0)


def _batch(metadata: Metadata, at: int, body: int) -> Batch | None:
    message = metadata.table(at)
    kind = metadata.number("B", field) if (field := metadata.field(message, HEADER_TYPE)) else 0
    if kind not in (IS_DICTIONARY, IS_BATCH):
        return None
    batch = metadata.table(metadata.field(message, HEADER))
    if kind == IS_DICTIONARY:
        batch = metadata.table(metadata.field(batch, DATA))
    field = metadata.field(batch, LENGTH)
    rows, stored, unpacked = metadata.number("q", field) if field else 0, 0, 0
    packed = metadata.field(batch, COMPRESSION) > 0
    for offset, size in metadata.rows(batch, BUFFERS, BUFFER):
        stored += size
        said = metadata.number("q", body + offset) if packed and size > 0 else -1
        unpacked += size if said < 0 else said
    return Batch(rows, stored, unpacked, packed)
