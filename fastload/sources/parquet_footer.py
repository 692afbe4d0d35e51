"""What the footer of a Parquet file says, looked at before Arrow reads its columns: Arrow ends the
process where it does not fit.

It is a Thrift struct. Source: apache/parquet-format, parquet.thrift.
"""

import os
from collections.abc import Sequence
from reprlib import repr as short
from typing import Any

from fastload.errors import SourceError
from fastload.sources.thrift import BINARY, I32, I64, STRUCT, Thrift
from fastload.system import limits

TRAILER, MAGIC = 8, b"PAR1"  # bytes at the end: of the footer, u32; of a plain one
# Fields of the footer: its encryption_algorithm; of row_groups, of columns: crypto_metadata,
# encrypted_column_metadata
ENCRYPTED = {(8,), (4, 1, 8), (4, 1, 9)}
# Of row_groups: columns; of the size_statistics in their metadata: bytes of byte arrays, histograms
# of the levels at which values repeat, and are missing
CHUNKS, SIZES = (4, 1), (4, 1, 3, 16)
CODEC = (4, 1, 3, 4)  # of their metadata
CODECS = 8  # numbers of codecs begin at 0 (parquet.thrift, CompressionCodec)
ARRAYS = (*SIZES, 1)
LEVELS: dict[tuple[int, ...], str] = {(*SIZES, 2): "repetition", (*SIZES, 3): "definition"}
# Lists, what Arrow takes their items for, whatever the file says, and the fewest bytes of an item:
# it takes memory for all of them first. schema, row groups, key and values, orders of columns; of a
# row group its columns and their order; of a column's metadata encodings, path, key and values,
# statistics of encodings and sizes, kinds of geometries
LISTS: dict[tuple[int, ...], tuple[int, int]] = {
    (2,): (STRUCT, 3), (4,): (STRUCT, 7), (5,): (STRUCT, 3), (7,): (STRUCT, 1),
    CHUNKS: (STRUCT, 16), (4, 4): (STRUCT, 5),
    (4, 1, 3, 2): (I32, 1), (4, 1, 3, 3): (BINARY, 1), (4, 1, 3, 8): (STRUCT, 3),
    (4, 1, 3, 13): (STRUCT, 7), **dict.fromkeys(LEVELS, (I64, 1)), (4, 1, 3, 17, 2): (I32, 1),
}  # fmt: skip


def read(path: str, file: int) -> Thrift:
    """The footer of an open file, before Arrow takes memory for what it says. One that is not
    Parquet's is empty here, and Arrow tells why.

    Raises ValueError for one that is not read into memory, or is damaged; SourceError for encrypted
    columns, at the first look at which Arrow would end the process; OSError.
    """
    end = os.fstat(file).st_size
    trailer = os.pread(file, TRAILER, max(0, end - TRAILER))
    said = int.from_bytes(trailer[:4], "little")
    start, size = max(0, end - TRAILER - said), min(said, end)
    if problem := limits.unread(file, start, size, limits.PARQUET_FOOTER):
        raise ValueError(f"its footer is too large: {problem}")
    if trailer[4:] != MAGIC or said > end - TRAILER:
        return Thrift(b"\0")
    footer = Thrift(os.pread(file, size, start), {CHUNKS, CODEC, ARRAYS, *LEVELS}, LISTS)
    try:
        fields = footer.paths()
    except IndexError:
        raise ValueError("its footer is damaged") from None
    if ENCRYPTED & fields:
        raise SourceError(
            f"{path}: has encrypted columns (want plain ones); write it again without encryption"
        )
    return footer


def check(footer: Thrift, metadata: Any) -> None:
    """Raise ValueError for columns at which Arrow would end the process.

    metadata: Arrow's of the same file.
    """
    columns = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    _check_columns(footer.seen, columns)
    _check_names(metadata, [column.path for column in columns])


def _check_names(metadata: Any, names: Sequence[str]) -> None:
    """Raises ValueError for chunks that have other names than their columns: what is looked for by
    its name would not be found, nor checked.
    """
    for group in range(metadata.num_row_groups):
        said = metadata.row_group(group)
        for number, name in enumerate(names):
            found = said.column(number).path_in_schema
            if found != name:
                raise ValueError(
                    f"row group {group + 1} calls column {number + 1} {short(found)}, want "
                    f"{short(name)}"
                )


def _check_columns(seen: Sequence[tuple[tuple[int, ...], int]], columns: Sequence[Any]) -> None:
    """Raises ValueError for chunks whose statistics do not fit their columns, or whose codec there
    is not.

    seen: of the footer, in its order; columns: as its schema has them.
    """
    number = 0  # of the column, from 1 on
    for path, count in seen:
        if path == CHUNKS:
            number = 0 if count >= 0 else number + 1
            if count not in (-1, len(columns)):
                raise ValueError(f"a row group has {count} columns, want {len(columns)}")
        elif path == CODEC:
            if not 0 <= count < CODECS:
                raise ValueError(f"column {number} is packed by codec {count}, want 0 to 7")
        elif path == ARRAYS:
            if columns[number - 1].physical_type != "BYTE_ARRAY":
                raise ValueError(f"column {number} has sizes of byte arrays, and has none")
        elif count > 0:
            want = 1 + int(getattr(columns[number - 1], f"max_{LEVELS[path]}_level"))
            if count != want:
                raise ValueError(f"column {number} has {count} {LEVELS[path]} levels, want {want}")
