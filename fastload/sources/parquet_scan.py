"""Where the images of a Parquet file lie: page after page of a column of byte arrays.

Pages say their sizes; the native engine looks into them (kernels/parquet/page.h). What another
codec has packed, or another encoding has written, is refused.
"""

import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.sources import parquet_pages
from fastload.sources.parquet_pages import DATA, DATA_2, DICTIONARY_PAGE, Page
from fastload.spec import Longs
from fastload.system import limits

PLAIN, INDICES = (0,), (2, 8)  # as in parquet_pages.py
# Names of other encodings, for messages
ENCODINGS = {
    3: "RLE", 5: "DELTA_BINARY_PACKED", 6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY",
    9: "BYTE_STREAM_SPLIT",
}  # fmt: skip
CODECS = {"UNCOMPRESSED": False, "SNAPPY": True}
COLUMNS = 4  # of rows: start, length, skip and size, as parquet_page gives them
LARGE = 64 * limits.MIB  # a page: two are not unpacked at the same time
_one_at_a_time = threading.Lock()


class Leaf(NamedTuple):
    """A column of byte arrays, as the footer describes it."""

    name: str
    number: int
    depth: int  # levels that may be missing


class RefusedError(ValueError):
    """It is not read in place; converting may do."""


def leaf_of(metadata: Any, name: str) -> Leaf | None:
    """metadata: pyarrow's of a file; name: with dots. None: there is none of byte arrays."""
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        if column.path != name:
            continue
        if column.physical_type != "BYTE_ARRAY" or column.max_repetition_level:
            return None
        return Leaf(name, number, column.max_definition_level)
    return None


def rows(file: int, metadata: Any, leaf: Leaf, group: int) -> Iterator[Longs]:
    """int64 [N, 4] of each page of a row group in an open file.

    Raises ValueError for what is damaged, RefusedError for what is not read, OSError.
    """
    said = metadata.row_group(group)
    column = said.column(leaf.number)
    place = parquet_pages.bounds(file, column)
    return of_chunk(file, *place, column.compression, said.num_rows, leaf)


def of_chunk(
    file: int, start: int, stop: int, compression: str, count: int, leaf: Leaf
) -> Iterator[Longs]:
    """The same of the chunk in these bytes, whose codec and number of rows the footer says."""
    if compression not in CODECS:
        raise RefusedError(f"is packed by {compression}")
    left, dictionary = count, None
    for page in parquet_pages.pages(file, start, stop):
        packed = CODECS[compression] and page.packed
        if page.kind == DICTIONARY_PAGE:
            _check(page, (0, 2), count)
            dictionary = _look(file, page, Leaf(leaf.name, leaf.number, 0), packed, False)
        elif page.kind in (DATA, DATA_2):
            indices = page.encoding in INDICES
            _check(page, (*PLAIN, *INDICES), left)
            found = _look(file, page, leaf, packed, indices, count - left)
            yield _meant(dictionary, found) if indices else found
            left -= page.values
    if left:
        raise ValueError(f"its pages hold {count - left} values, want {count}")


def _check(page: Page, encodings: tuple[int, ...], most: int) -> None:
    if page.encoding not in encodings:
        name = ENCODINGS.get(page.encoding, str(page.encoding))
        raise RefusedError(f"is encoded as {name}")
    if page.values > most:
        raise ValueError(f"its page at byte {page.at} has {page.values} values, want {most}")
    parquet_pages.check_page(page.unpacked, page.size)


def _look(file: int, page: Page, leaf: Leaf, packed: bool, indices: bool, first: int = 0) -> Longs:
    """first: the page's first row in its group, for messages."""
    large = max(page.unpacked, page.size) > LARGE
    try:
        if large:
            _one_at_a_time.acquire()
        missing, found = _native.parquet_page(
            file, page.offset, page.size, page.unpacked, page.values, leaf.depth, page.levels,
            packed, indices,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"its page at byte {page.at} is damaged: {error}") from error
    finally:
        if large:
            _one_at_a_time.release()
    if missing >= 0:
        raise MissingError(first + missing)
    return found


class MissingError(ValueError):
    """A row has no image."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} is null")
        self.row = row


def _meant(dictionary: Longs | None, indices: Longs) -> Longs:
    """The values of a dictionary, by their numbers."""
    if dictionary is None:
        raise ValueError("a page has indices, and there is no dictionary before it")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < len(dictionary):
        raise ValueError(f"an index leaves the dictionary, which has {len(dictionary)} values")
    return dictionary[indices]


def of_group(file: int, metadata: Any, leaf: Leaf, group: int) -> Longs:
    """int64 [N, 4] of all rows of a group. Raises as `rows`."""
    every = list(rows(file, metadata, leaf, group))
    return np.concatenate(every) if every else np.zeros((0, COLUMNS), np.int64)
