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

TRAILER = 8  # bytes at the end: of the footer, u32; "PAR1"
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
# Lists, and what Arrow takes their items for, whatever the file says: schema, row groups, key and
# values, orders of columns; of a row group its columns and their order; of a column's metadata
# encodings, path, key and values, statistics of encodings and sizes, kinds of geometries
LISTS: dict[tuple[int, ...], int] = {
    (2,): STRUCT, (4,): STRUCT, (5,): STRUCT, (7,): STRUCT,
    CHUNKS: STRUCT, (4, 4): STRUCT,
    (4, 1, 3, 2): I32, (4, 1, 3, 3): BINARY, (4, 1, 3, 8): STRUCT, (4, 1, 3, 13): STRUCT,
    **dict.fromkeys(LEVELS, I64), (4, 1, 3, 17, 2): I32,
}  # fmt: skip


def check_footer(file: int) -> None:
    """Raise ValueError for a footer that is not read into memory; OSError."""
    _footer(file)


def _footer(file: int) -> tuple[int, int]:
    """Where it lies, and its bytes. Raises ValueError and OSError."""
    end = os.fstat(file).st_size
    trailer = os.pread(file, TRAILER, max(0, end - TRAILER))
    said = int.from_bytes(trailer[:4], "little")
    start, size = max(0, end - TRAILER - said), min(said, end)
    if problem := limits.unread(file, start, size, limits.PARQUET_FOOTER):
        raise ValueError(f"its footer is too large: {problem}")
    return start, size


def check_plain(path: str, file: int, metadata: Any) -> None:
    """Raise SourceError for encrypted columns: Arrow, which has taken the footer, would end the
    process at the first look at one. Raises ValueError for others at which it would, and OSError.

    metadata: Arrow's of the open file.
    """
    start, size = _footer(file)
    footer = Thrift(os.pread(file, size, start), {CHUNKS, CODEC, ARRAYS, *LEVELS}, LISTS)
    try:
        fields = footer.paths()
    except IndexError:
        raise ValueError("its footer is damaged") from None
    if ENCRYPTED & fields:
        raise SourceError(
            f"{path}: has encrypted columns (want plain ones); write it again without encryption"
        )
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
