"""What the pages of a Parquet file say of themselves, looked at before Arrow unpacks them: it
believes their sizes.

A page may be packed a thousand times; a value may stand in a dictionary once and be meant a million
times. Headers are Thrift structs. Source: apache/parquet-format, parquet.thrift.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastload.sources.thrift import Thrift
from fastload.system import limits

HEADER = 1 << 16  # bytes of a page's header; more only where its statistics hold large values
PLAIN = (0, 6)  # PLAIN, DELTA_LENGTH_BYTE_ARRAY: each value's bytes stand in the page
DICTIONARY = (2, 8)  # PLAIN_DICTIONARY, RLE_DICTIONARY: they stand in the chunk's dictionary
UNPACKED, PACKED = 2, 3  # fields of a page's header: bytes
# The header's structs for data and for data of version 2, and their field for the encoding
VALUES = {5: 2, 8: 4}
# Kinds of pages; the struct of each, and in it the field of its encoding
DATA, DICTIONARY_PAGE, DATA_2 = 0, 2, 3
STRUCTS = {DATA: (5, 2), DICTIONARY_PAGE: (7, 2), DATA_2: (8, 4)}
VALUE = 128  # bytes of a value of a list in Python, about


class Page(NamedTuple):
    """One page of a chunk, as its header says it.

    Args:
        at: Its header's first byte in the file.
        offset: Its own first byte.
        kind: DATA, DICTIONARY_PAGE, DATA_2, or another.
        size: Bytes in the file.
        unpacked: Bytes.
        values: With those that are missing.
        encoding: -1: it says none.
        levels: Of DATA_2, bytes before its values; of others -1.
        packed: Whether it is, where the chunk is.
    """

    at: int
    offset: int
    kind: int
    size: int
    unpacked: int
    values: int
    encoding: int
    levels: int
    packed: bool


class Chunk(NamedTuple):
    """The values of one column in one row group."""

    unpacked: int  # bytes of its pages
    # Bytes that a value may have which the pages hold once and mean often; 0: there is none
    longest: int


def check_rows(path: str, rows: int) -> None:
    """Raise ValueError for more rows than images can be there."""
    size = os.stat(path).st_size
    if not 0 <= rows <= size:
        raise ValueError(f"{rows} rows cannot lie in {size} bytes")


def bounds(file: int, column: Any) -> tuple[int, int]:
    """A chunk's first byte, and the one behind its last. column: as in `check`.

    Raises ValueError, OSError.
    """
    starts = (column.data_page_offset, column.dictionary_page_offset or 0)
    start, packed = min((at for at in starts if at > 0), default=0), column.total_compressed_size
    end = os.fstat(file).st_size
    if not 0 <= start <= start + packed <= end:
        raise ValueError(
            f"its bytes {start}..{start + packed} are not in the file, which has {end}"
        )
    return start, start + packed


def check(file: int, column: Any) -> Chunk:
    """Of an open file. column: what Arrow's metadata say of a chunk.

    Raises ValueError for what would take more memory than the limits allow; OSError.
    """
    return check_chunk(file, *bounds(file, column))


def check_chunk(file: int, start: int, stop: int) -> Chunk:
    """The same of the chunk in these bytes of an open file."""
    unpacked = dictionary = longest = 0
    for size, stored, encoding in _pages(file, start, stop):
        check_page(size, stored)
        unpacked += size
        if encoding is None:
            dictionary = max(dictionary, size)
        elif encoding not in PLAIN:
            longest = max(longest, dictionary if encoding in DICTIONARY else size)
    if problem := limits.too_many(unpacked, limits.PARQUET_GROUP) or limits.swollen(
        unpacked, stop - start
    ):
        raise ValueError(f"its pages would be unpacked too far: {problem}")
    return Chunk(unpacked, longest)


def check_values(file: int, column: Any) -> None:
    """The same for a column that is read whole, of lists: an empty value takes no byte of a page.

    Raises ValueError, OSError.
    """
    longest, count = check(file, column).longest, 0
    for _, _, header in _headers(file, *bounds(file, column)):
        structs = (header.get(kind) for kind in VALUES)
        inner = next((one for one in structs if type(one) is dict), None)
        values = inner.get(1, 0) if inner else 0
        if type(values) is not int or values < 0:
            raise ValueError("the header of a page is damaged")
        count += values
    if problem := limits.too_many(count * VALUE, limits.PARQUET_GROUP):
        raise ValueError(f"{count} values of a row group take too much memory ({problem})")
    if problem := limits.too_many(count * longest, limits.PARQUET_GROUP):
        raise ValueError(
            f"{count} values of its dictionary may take too much memory ({problem}); write smaller "
            "row groups"
        )


def check_page(unpacked: int, stored: int) -> None:
    """Raises ValueError for a page that would take more memory than the limits allow."""
    problem = limits.too_many(unpacked, limits.SAMPLE + HEADER) or limits.swollen(unpacked, stored)
    if problem:
        raise ValueError(f"a page would be unpacked too far: {problem}")


def pages(file: int, start: int, end: int) -> Iterator[Page]:
    """Those of a chunk. Raises ValueError, OSError."""
    for at, length, header in _headers(file, start, end):
        kind = header[1] if type(header.get(1)) is int else -1
        struct, field = STRUCTS.get(kind, (0, 0))
        inner = header.get(struct)
        inner = inner if type(inner) is dict else {}
        values, encoding = inner.get(1, -1), inner.get(field, -1)
        levels = inner.get(5, -1) if kind == DATA_2 else -1
        numbers = (values, encoding, levels)
        if any(type(one) is not int for one in numbers) or (struct and min(values, encoding) < 0):
            raise ValueError(f"the header of its page at byte {at} is damaged")
        if kind == DATA_2 and (levels < 0 or inner.get(6, 0) != 0):
            raise ValueError(f"the header of its page at byte {at} is damaged, or it holds lists")
        if at + length + header[PACKED] > end:
            raise ValueError(f"its page at byte {at} leaves it")
        yield Page(
            at, at + length, kind, header[PACKED], header[UNPACKED], values, encoding, levels,
            kind != DATA_2 or inner.get(7, True) is True,
        )  # fmt: skip


def _pages(file: int, at: int, end: int) -> Iterator[tuple[int, int, int | None]]:
    """Bytes in memory, bytes in the file, and the encoding, of each page; None: it holds no data
    but a dictionary.
    """
    for _, _, header in _headers(file, at, end):
        inner = next(
            (
                header[kind].get(field, -1)
                for kind, field in VALUES.items()
                if type(header.get(kind)) is dict
            ),
            None,
        )
        yield header[UNPACKED], header[PACKED], inner


def _headers(file: int, at: int, end: int) -> Iterator[tuple[int, int, dict[int, Any]]]:
    """Each page's first byte, the bytes of its header, and that."""
    while at < end:
        try:
            header, length = Thrift(os.pread(file, min(HEADER, end - at), at)).struct(0, 0)
        except IndexError:
            raise ValueError(
                f"the header of its page at byte {at} is damaged, or longer than {HEADER} bytes"
            ) from None
        unpacked, stored = header.get(UNPACKED), header.get(PACKED)
        if type(unpacked) is not int or type(stored) is not int or min(unpacked, stored) < 0:
            raise ValueError(f"the header of its page at byte {at} is damaged")
        yield at, length, header
        at += length + stored
