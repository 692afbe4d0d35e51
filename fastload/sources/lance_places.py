"""Where the values of a column of Lance's blobs lie, as its library tells it.

Each has a position and a size. In files of versions 2.0 and 2.1 they are of the data file. In those
of 2.2 there are kinds: inline ones lie there too; packed and dedicated ones in a file beside it,
which is called by their number. Whatever has its place by a URI is refused, and nothing follows it.
Source: pylance 14.0.2, lance.blob.BlobDescriptor, and files that it has written.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.files.names import problem, shown
from fastload.sources.span_index import Stamp
from fastload.spec import Longs

DATA = "data"  # the folder of all files
INLINE, PACKED, DEDICATED, EXTERNAL = range(4)
NUMBERS = 32  # bits of a blob's number
NUMERIC = {"uint8", "uint32", "uint64", "int32", "int64"}
BLOBS = 'the field metadata {"lance-encoding:blob": "true"}'
# How a column that has no blobs gets some
REWRITE = f"write it again with {BLOBS}, or write Parquet (docs/migrate/lance.md), and open that"


class Places(NamedTuple):
    """Of K values.

    Args:
        names: Files below the folder `data`.
        file: int64 [K], which of them.
        offset, size: int64 [K], bytes.
        missing: bool [K].
    """

    names: tuple[str, ...]
    file: Longs
    offset: Longs
    size: Longs
    missing: NDArray[np.bool_]


def places(where: str, column: str, array: Any, data_file: str, first: int) -> Places:
    """Of a pyarrow.StructArray. first: the number of its first row. Raises SourceError."""
    parts = _parts(where, column, array)
    position, size = parts["position"], parts["size"]
    kind = parts.get("kind", np.zeros_like(size))
    nulls = np.array(array.is_null().to_pylist() if array.null_count else [], np.bool_)
    missing = nulls if len(nulls) else np.zeros(len(size), np.bool_)
    # Version 2.0 has no nulls: it says them so
    missing |= (size == 0) & (position == 1) & ("kind" not in parts)
    kind = np.where(missing, INLINE, kind)
    if (other := (kind < INLINE) | (kind > DEDICATED)).any():
        row = int(np.argmax(other))
        raise _elsewhere(where, column, first + row, int(kind[row]))
    number = np.where(kind == INLINE, 0, parts.get("blob_id", np.zeros_like(size)))
    if (wrong := (kind != INLINE) & ((number <= 0) | (number >= 1 << NUMBERS))).any():
        row = first + int(np.argmax(wrong))
        raise SourceError(f"{where}: row {row} has its {column} in a file of no number; restore it")
    numbers, file = np.unique(number, return_inverse=True)
    checked(where, data_file)
    names = [beside(data_file, one) if one else data_file for one in numbers.tolist()]
    return Places(tuple(names), file.reshape(-1).astype(np.int64), position, size, missing)


def beside(data_file: str, number: int) -> str:
    """The file of a packed or dedicated blob: its number's bits, the lowest one first."""
    bits = f"{number:0{NUMBERS}b}"
    return f"{os.path.splitext(data_file)[0]}/{bits[::-1]}.blob"


def no_blobs(where: str, column: str) -> SourceError:
    return SourceError(
        f"{where}: column {column!r} is no column of blobs, and of others Lance does not tell "
        f"where their values lie; {REWRITE}"
    )


def checked(where: str, name: str) -> str:
    """The name of a file in the folder `data`. Raises SourceError for one that leads out of it."""
    if wrong := problem(name):
        raise SourceError(f"{where}: names a data file {shown(name)}, which {wrong}; restore it")
    return name


def file_at(where: str, name: str) -> tuple[str, Stamp]:
    """The path of a file below the folder `data`, and its facts. Raises SourceError."""
    folder = os.path.join(where, DATA)
    path = os.path.join(folder, checked(where, name))
    real = os.path.realpath(path)
    if not real.startswith(os.path.realpath(folder) + os.sep):
        raise SourceError(f"{path}: is a link out of {DATA}; put the file itself there")
    try:
        return path, Stamp.of(os.stat(path))
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror or error}); restore it, or make it readable"
        ) from error


def _parts(where: str, column: str, array: Any) -> dict[str, Longs]:
    """The numbers of a descriptor, by their names. Raises SourceError."""
    import pyarrow as pa

    found = dict[str, Longs]()
    if pa.types.is_struct(array.type):
        for field in array.type:
            if str(field.type) in NUMERIC:
                values = array.field(field.name).fill_null(0).to_numpy(zero_copy_only=False)
                if len(values) and int(values.max()) >= 1 << 63:
                    raise SourceError(
                        f"{where}: column {column!r} has a {field.name} of 2**63 or more; restore "
                        "it"
                    )
                found[field.name] = values.astype(np.int64)
    if not {"position", "size"} <= found.keys():
        raise no_blobs(where, column)
    return found


def _elsewhere(where: str, column: str, row: int, kind: int) -> SourceError:
    if kind == EXTERNAL:
        return SourceError(
            f"{where}: row {row} has its {column} at a URI, which is not followed; write the data "
            'set again with external_blob_mode="ingest"'
        )
    return SourceError(
        f"{where}: row {row} has its {column} in a blob of kind {kind} (want {INLINE}, "
        f"{PACKED} or {DEDICATED}); write it again with an older version of Lance"
    )
