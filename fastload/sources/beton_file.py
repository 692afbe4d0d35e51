"""FFCV's file format (version 2, as FFCV 1.0.2 writes it), read without ffcv, Numba or OpenCV.

A file is: header, field descriptors, one row of fixed size per sample, pages with the payloads that
rows point to, and the table of those payloads. It may come from anywhere: every number is checked
before anything is read by it, and nothing is unpickled.
Source: libffcv/ffcv 1.0.2, types.py, writer.py, fields/.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.files.opening import no_wait
from fastload.sources.beton_fields import (
    DESCRIPTOR,
    KINDS,
    MOST_FIELDS,
    REMEDY,
    Field,
    Rows,
    read_fields,
)
from fastload.system import limits

VERSION = 2
HEADER = np.dtype(
    [
        ("version", "<u2"),
        ("num_fields", "<u2"),
        ("page_size", "<u4"),
        ("num_samples", "<u8"),
        ("alloc_table_ptr", "<u8"),
    ],
    align=True,
)
PAYLOAD = np.dtype([("sample_id", "<u8"), ("ptr", "<u8"), ("size", "<u8")])
IMAGE = np.dtype([("mode", "u1"), ("width", "<u2"), ("height", "<u2"), ("data_ptr", "<u8")])
SPAN = np.dtype([("ptr", "<u8"), ("size", "<u8")])
POINTER = np.dtype("<u8")
COLUMNS = (np.dtype("<f8"), np.dtype("<i8"), IMAGE, SPAN, POINTER, SPAN, POINTER)  # by type_id
JPEG, RAW = 0, 1  # an image's mode
MOST_ENTRIES = 2  # of the table for one value: the writer's second try, on a new page, adds one


@dataclass(frozen=True, eq=False)
class BetonFile:
    """An opened file. rows [N] has one column per field, by its position; ptrs and sizes are the
    payloads, by address.
    """

    where: str
    fields: tuple[Field, ...]
    rows: Rows
    ptrs: NDArray[np.uint64]
    sizes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, number: int) -> Rows:
        return self.rows[self.rows.dtype.names[number]]  # type: ignore[index]

    def size_at(self, ptr: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Bytes of the payloads at these addresses; -1 where there is none.

        Of several at one address (empty ones), the largest.
        """
        entry = np.searchsorted(self.ptrs, ptr, side="right") - 1
        known = (
            (entry >= 0) & (self.ptrs[entry] == ptr)
            if len(self.ptrs)
            else np.zeros(len(ptr), np.bool_)
        )
        return (
            np.where(known, self.sizes[entry].astype(np.int64), -1)
            if len(self.ptrs)
            else np.full(len(ptr), -1, np.int64)
        )

    def value(self, name: str, sample: int) -> Any:
        """One value: int, float, bytes, an array, what JSON says; an image as JPEG bytes, or uint8
        [H, W, 3] where it is raw.

        Raises KeyError, IndexError, OSError, and ValueError for JSON that is none.
        """
        number = [field.name for field in self.fields].index(name) if name in self.names else -1
        if number < 0:
            raise KeyError(name)
        field, cell = self.fields[number], self.column(number)[sample]
        if field.kind in ("int", "float"):
            return cell.item()
        if field.kind == "image":
            size = int(self.size_at(cell["data_ptr"].reshape(1))[0])
            height, width = int(cell["height"]), int(cell["width"])
            if cell["mode"] == JPEG:
                return self._read(int(cell["data_ptr"]), size)
            return np.frombuffer(
                self._read(int(cell["data_ptr"]), height * width * 3), np.uint8
            ).reshape(height, width, 3)
        if field.kind in ("array", "tensor"):
            return np.frombuffer(self._read(int(cell), field.array_bytes), field.dtype).reshape(
                field.shape
            )
        data = self._read(int(cell["ptr"]), int(cell["size"]))
        return json.loads(data.partition(b"\0")[0]) if field.kind == "json" else data

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def _read(self, at: int, size: int) -> bytes:
        with open(self.where, "rb", opener=no_wait) as file:
            if problem := limits.unread(file.fileno(), at, size, limits.PAYLOAD):
                raise OSError(f"{self.where}: a value takes more than it can ({problem}); {REMEDY}")
            data = os.pread(file.fileno(), size, at)
        if len(data) != size:
            raise OSError(
                f"{self.where}: was cut off while in use (got {len(data)} of {size} bytes at "
                f"{at}); {REMEDY}"
            )
        return data


def read(where: str) -> BetonFile:
    """Read and check header, rows and table; no payload is read.

    Raises SourceError with every problem of the rows.
    """
    try:
        with open(where, "rb", opener=no_wait) as file:
            return _read(where, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise SourceError(
            f"{where}: cannot be read ({error.strerror or error}); make it readable"
        ) from error


def _read(where: str, file: BinaryIO, length: int) -> BetonFile:
    if length < HEADER.itemsize:
        raise SourceError(
            f"{where}: is no FFCV file (got {length} bytes, want at least {HEADER.itemsize}); "
            f"{REMEDY}"
        )
    header = np.frombuffer(file.read(HEADER.itemsize), HEADER)[0]
    _check_header(where, header, length)
    fields = read_fields(
        where, np.frombuffer(file.read(int(header["num_fields"]) * DESCRIPTOR.itemsize), DESCRIPTOR)
    )
    of_row = np.dtype([("", COLUMNS[KINDS.index(field.kind)]) for field in fields], align=True)
    count, table = int(header["num_samples"]), int(header["alloc_table_ptr"])
    start = HEADER.itemsize + len(fields) * DESCRIPTOR.itemsize
    if count > (table - start) // of_row.itemsize:
        raise SourceError(
            f"{where}: {count} samples do not fit before byte {table}, where its table begins; "
            f"{REMEDY}"
        )
    _check_sizes(
        where,
        file.fileno(),
        (start, count * of_row.itemsize),
        (table, length - table),
        count * len(fields),
    )
    rows = np.frombuffer(file.read(count * of_row.itemsize), of_row)
    file.seek(table)
    payloads = np.frombuffer(file.read(length - table), PAYLOAD)
    order = np.lexsort((payloads["size"], payloads["ptr"]))
    beton = BetonFile(where, fields, rows, payloads["ptr"][order], payloads["size"][order])
    if problems := list(_problems(beton, start + count * of_row.itemsize, table)):
        raise SourceError("\n".join(f"{where}: {problem}; {REMEDY}" for problem in problems))
    return beton


def _check_sizes(
    where: str, file: int, rows: tuple[int, int], table: tuple[int, int], values: int
) -> None:
    """Before memory is taken. rows, table: where they begin, and their bytes; values: as many as
    the file can hold.
    """
    if (payloads := table[1] // PAYLOAD.itemsize) > MOST_ENTRIES * values:
        raise SourceError(
            f"{where}: its table has {payloads} payloads (want at most {MOST_ENTRIES} for each of "
            f"{values} values); {REMEDY}"
        )
    for name, (start, size) in (("rows", rows), ("table", table)):
        if problem := limits.unread(file, start, size, limits.TABLES):
            raise SourceError(f"{where}: its {name} take more than they can ({problem}); {REMEDY}")


def _check_header(where: str, header: Any, length: int) -> None:
    version, fields, samples, table = (
        int(header[name]) for name in ("version", "num_fields", "num_samples", "alloc_table_ptr")
    )
    if version != VERSION:
        raise SourceError(
            f"{where}: FFCV format version is {version}, this fastload reads {VERSION}; {REMEDY}"
        )
    if not table:
        raise SourceError(
            f"{where}: has no table of payloads, so its writer did not finish; {REMEDY}"
        )
    if not 1 <= fields <= MOST_FIELDS:
        raise SourceError(f"{where}: has {fields} fields, want 1 to {MOST_FIELDS}; {REMEDY}")
    if not samples:
        raise SourceError(f"{where}: holds no samples; {REMEDY}")
    if not HEADER.itemsize + fields * DESCRIPTOR.itemsize <= table <= length:
        raise SourceError(
            f"{where}: its table begins at byte {table} of {length}, so it was cut off or damaged; "
            f"{REMEDY}"
        )
    if (length - table) % PAYLOAD.itemsize:
        raise SourceError(
            f"{where}: its table is cut off in the middle of a row (it has {length - table} "
            f"bytes); {REMEDY}"
        )


def _problems(file: BetonFile, start: int, end: int) -> Iterator[str]:
    """What is wrong with table and rows. start, end: bytes between which payloads may lie."""
    inside = (
        (file.ptrs >= start) & (file.ptrs <= end) & (file.sizes <= end - np.minimum(file.ptrs, end))
    )
    if not inside.all():
        yield (
            f"{np.count_nonzero(~inside)} of {len(inside)} payloads lie outside of bytes "
            f"{start} to {end}"
        )
        return
    for number, field in enumerate(file.fields):
        cells = file.column(number)
        good = _good(file, field, cells, start, end)
        if not good.all():
            yield (
                f"field {number + 1} ({field.name!r}): {np.count_nonzero(~good)} of {len(good)} "
                f"samples (first: {np.argmin(good)}) "
                + (
                    "are no images, or their bytes are not in the file"
                    if field.kind == "image"
                    else "have bytes that are not in the file"
                )
            )


def _good(file: BetonFile, field: Field, cells: Rows, start: int, end: int) -> NDArray[np.bool_]:
    """bool [N]: whether what the cells say about their payload is so."""
    good = np.ones(len(cells), np.bool_)
    if field.kind == "image":
        size, pixels = (
            file.size_at(cells["data_ptr"]),
            cells["height"].astype(np.int64) * cells["width"] * 3,
        )
        good &= (pixels > 0) & np.where(
            cells["mode"] == RAW, size == pixels, (cells["mode"] == JPEG) & (size > 0)
        )
    elif field.kind in ("bytes", "json"):
        ptr, length = cells["ptr"], cells["size"]
        good &= (ptr >= start) & (ptr <= end) & (length <= end - np.minimum(ptr, end))
    elif field.array_bytes:
        good &= file.size_at(cells) >= field.array_bytes
    return good
