"""Arrow IPC files, read whole and checked: what the metadata of shards and of seek indexes is kept
in.

Such a file may come from anywhere: its checksum, schema and lengths are checked before a number of
it is used. It is read, not mapped:
touching a map of a file that was cut off meanwhile ends the process (SIGBUS). About 100 bytes per
sample; forked processes share them.
"""

import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import FastloadError, SourceError
from fastload.files.opening import NO_WAIT
from fastload.sources import arrow_blocks, sums
from fastload.sources.sums import line as sum_line
from fastload.spec import Json, Longs
from fastload.system import limits

Bytes = NDArray[np.uint8]

BATCH = 4096  # rows of each record batch but the last
SUFFIX = ".xxh3"  # of the file beside it that holds its checksum: sums.py
REPLACED = 100  # times that a file may be replaced while it is opened
# What Arrow, beside its own exceptions, and the JSON reader raise on bytes that some other program,
# or an attacker, wrote.
PARSE_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    AttributeError,
)


class Rows(NamedTuple):
    """Rows of a file: the record batch of each, and which of its rows.

    All batches but the last have BATCH rows.
    """

    batch: Longs
    inside: Longs


def in_batches(rows: Longs, count: int) -> Rows:
    """Rows [K] of a file that has `count`. Raises IndexError."""
    if len(rows) and (rows.min() < 0 or rows.max() >= count):
        raise IndexError(
            f"index: rows {rows.min()}..{rows.max()} asked for (want 0..{count - 1}); check the "
            "sampler"
        )
    return Rows(*np.divmod(rows, BATCH))


class Column:
    """Numbers of one column."""

    def __init__(self, items: NDArray[Any], first: Longs, rows: int) -> None:
        self.items, self.first, self.rows = items, first, rows

    def __getitem__(self, rows: Longs) -> NDArray[Any]:
        """Values [K] at `rows` [K]."""
        return self.at(in_batches(rows, self.rows))

    def at(self, rows: Rows) -> NDArray[Any]:
        values: NDArray[Any] = self.items[self.first[rows.batch] + rows.inside]
        return values

    def all(self) -> NDArray[Any]:
        """A copy of the whole column."""
        ends = [min(BATCH, self.rows - batch * BATCH) for batch in range(len(self.first))]
        return np.concatenate(
            [
                self.items[at : at + count]
                for at, count in zip(self.first.tolist(), ends, strict=True)
            ]
        )


class Table(NamedTuple):
    """The rows of a file."""

    batches: tuple[Any, ...]  # pyarrow record batches
    columns: dict[str, Column]  # those of numbers


def import_arrow(
    where: str, error: type[FastloadError] = SourceError, what: str = "shards need"
) -> ModuleType:
    """pyarrow, which only indexes need. Raises `error` if it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError as missing:
        raise error(
            f"{where}: {what} pyarrow (not installed); pip install 'fastload-torch[convert]'"
        ) from missing
    module: ModuleType = pa
    return module


def open_checked(path: str, remedy: str) -> tuple[Bytes, int]:
    """Read a file and compare its checksum with the one beside it.

    Raises SourceError; remedy: what makes the file anew.
    """
    said = _said_beside(path + SUFFIX, remedy)
    for _ in range(REPLACED):
        try:
            return _compared(path, said, remedy)
        except SourceError:
            before, said = said, _said_beside(path + SUFFIX, remedy)
            if said == before:
                raise
    return _compared(path, said, remedy)


def _said_beside(beside: str, remedy: str) -> bytes:
    """What the file with the checksum says. Raises SourceError."""
    try:
        with open(beside, "rb", opener=_no_wait) as file:
            return file.read(sums.MOST)
    except OSError as error:
        raise SourceError(
            f"{beside}: cannot be read ({error.strerror}); restore it, or {remedy}"
        ) from error


def _compared(path: str, said: bytes, remedy: str) -> tuple[Bytes, int]:
    """said: by the file with the checksum. Raises SourceError."""
    beside, parsed = path + SUFFIX, sums.parse(said)
    data = _read(path, remedy, len(parsed.blocks) * sums.BLOCK if parsed else 0)
    checksum = _native.xxh3(data)
    if parsed and checksum in parsed.whole:
        return data, checksum
    shown = sum_line(parsed.whole[0]) if parsed and parsed.blocks else said[:64]
    text, name = shown.decode("ascii", "backslashreplace").rstrip("\n"), os.path.basename(beside)
    raise SourceError(
        f"{path}: is damaged (checksum got {checksum:016x}, {name} says {text!r}); restore both, "
        f"or {remedy}"
    )


def _read(path: str, remedy: str, most: int) -> Bytes:
    """most: bytes that its blocks take, as the file beside it says; 0: it does not say."""
    try:
        with open(path, "rb", buffering=0, opener=_no_wait) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise SourceError(f"{path}: is empty (0 bytes); {remedy}")
            if problem := limits.unread(
                file.fileno(), 0, size, min(most or limits.INDEX, limits.INDEX)
            ):
                raise SourceError(
                    f"{path}: is larger than it can be ({problem}); restore it, or {remedy}"
                )
            data = np.empty(size, np.uint8)  # aligned, as Arrow wants it
            done = 0
            while done < size and (count := file.readinto(data.data[done:])):
                done += count
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from error
    except MemoryError as error:
        raise SourceError(
            f"{path}: does not fit into memory (needs {size} bytes); free some, or split the data "
            "set"
        ) from error
    if done < size:
        raise SourceError(
            f"{path}: was cut off while it was read (got {done} of {size} bytes); {remedy}"
        )
    return data


def _no_wait(path: str, flags: int) -> int:
    """A named pipe in a file's place is not waited for."""
    return os.open(path, flags | NO_WAIT)


def small_json(text: bytes) -> bytes:
    """JSON in a schema, before it is parsed. Raises ValueError."""
    if problem := limits.too_many(len(text), limits.METADATA):
        raise ValueError(f"its metadata are too large: {problem}")
    return text


def read_table(
    pa: ModuleType, path: str, data: Bytes, schema: Any, rows: int, remedy: str
) -> Table:
    """The columns of a file that must have this schema.

    Raises SourceError, and others for what no writer of ours wrote.
    """
    whole = pa.py_buffer(data)
    arrow_blocks.check(data, compressed=False)
    reader = pa.ipc.open_file(whole)
    wanted = -(-rows // BATCH)
    if reader.num_record_batches != wanted:  # compared first: a list of 2^60 lengths would not end
        raise SourceError(
            f"{path}: has {reader.num_record_batches} record batches, want {wanted} for {rows} "
            f"samples; {remedy}"
        )
    batches = tuple(whole_batch(path, reader, number, rows, remedy) for number in range(wanted))
    numbers = [field for field in schema if pa.types.is_integer(field.type)]
    columns = {
        field.name: _column(batches, field.name, str(field.type), data, whole.address)
        for field in numbers
    }
    return Table(batches, columns)


def whole_batch(path: str, reader: Any, number: int, rows: int, remedy: str) -> Any:
    """A record batch of an open file that has so many rows in all, looked at whole.

    Raises SourceError, and others for what no writer of ours wrote.
    """
    batch, length = reader.get_batch(number), min(BATCH, rows - number * BATCH)
    batch.validate(full=True)
    nulls = sum(batch.column(field.name).null_count for field in reader.schema)
    if batch.num_rows != length or nulls:
        raise SourceError(
            f"{path}: a record batch has {batch.num_rows} rows and {nulls} nulls, want "
            f"{length} and 0; {remedy}"
        )
    return batch


def _column(batches: tuple[Any, ...], name: str, kind: str, data: Bytes, base: int) -> Column:
    """A column's numbers as a view of the file's bytes.

    Raises ValueError for a column that is not stored plainly in them.
    """
    dtype = np.dtype(kind)
    items = np.frombuffer(data, dtype, count=len(data) // dtype.itemsize)
    offsets = np.array(
        [batch.column(name).buffers()[1].address - base for batch in batches], np.int64
    )
    rows = sum(batch.num_rows for batch in batches)
    ends = offsets + np.array([batch.num_rows for batch in batches], np.int64) * dtype.itemsize
    plain = (offsets >= 0) & (offsets % dtype.itemsize == 0) & (ends <= len(items) * dtype.itemsize)
    if not plain.all():
        raise ValueError(f"column {name} is compressed or not aligned")
    return Column(items, offsets // dtype.itemsize, rows)


def encode(pa: ModuleType, schema: Any, arrays: Json) -> memoryview:
    """An Arrow IPC file of `arrays` in record batches of BATCH rows; the same for the same input
    and pyarrow.
    """
    table = pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(table, max_chunksize=BATCH)
    return memoryview(sink.getvalue())


def encode_batches(pa: ModuleType, schema: Any, batches: Iterable[Json]) -> memoryview:
    """The same for arrays that come BATCH rows at a time, so that they never exist all at once."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        for arrays in batches:
            writer.write_batch(
                pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)
            )
    return memoryview(sink.getvalue())


def write_tables(pa: ModuleType, schema: Any, tables: Iterable[Any], file: Any) -> None:
    """The same of pyarrow's tables of any lengths, to a file that is open for Arrow."""
    with pa.ipc.new_file(pa.PythonFile(file, mode="w"), schema) as writer:
        waiting = schema.empty_table()
        for table in tables:
            waiting = pa.concat_tables([waiting, table]).combine_chunks()
            whole = waiting.num_rows // BATCH * BATCH
            writer.write_table(waiting.slice(0, whole), max_chunksize=BATCH)
            waiting = waiting.slice(whole)
        writer.write_table(waiting, max_chunksize=BATCH)


def inside(offset: Longs, size: Longs, limit: Longs) -> NDArray[np.bool_]:
    """Which ranges, of at least one byte, lie in files of `limit` bytes."""
    # Subtractions only, on values already known to be in range: nothing can overflow.
    return (
        (offset >= 0) & (size > 0) & (size <= limit) & (offset <= limit - np.clip(size, 0, limit))
    )
