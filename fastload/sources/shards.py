"""Converted data sets: WebDataset tar shards and one Arrow index, memory-mapped. docs/formats.md describes the format.

The index may come from anywhere, so nothing in it is believed: checksum, version, schema and every offset are checked at open.
"""

import json
import mmap
import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import FastloadError, SourceError
from fastload.sources.base import Location
from fastload.spec import Longs

INDEX = "index.arrow"
SUM = "index.arrow.xxh3"  # one line: XXH3-64 of INDEX, 16 hexadecimal digits
BAD = "bad_samples.jsonl"  # what the conversion left out, if anything
TEMPORARY = ".fastload-"  # how names start that a conversion has not committed
VERSION = 1
BATCH = 4096  # rows of each record batch but the last
METADATA = b"fastload"  # key of the JSON in the schema's metadata
SHARD_NAME = re.compile(r"shard-[0-9]{6,9}\.tar")
NUMBERS = {
    "shard": "int32", "offset": "int64", "size": "int64", "label": "int64", "height": "int32", "width": "int32", "checksum": "uint64",
}  # fmt: skip
# What Arrow, beside its own exceptions, and the JSON reader raise on bytes that some other program, or an attacker, wrote.
PARSE_ERRORS = (OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RuntimeError, AttributeError)


class Shard(NamedTuple):
    """One tar file of the data set."""

    name: str
    bytes: int
    checksum: int  # XXH3-64 of the whole file


class Column:
    """Numbers of one index column. Batches have a fixed length, so a row's place in the map is computed, not looked up."""

    def __init__(self, items: NDArray[Any], first: Longs, rows: int) -> None:
        self.items, self.first, self.rows = items, first, rows

    def __getitem__(self, rows: Longs) -> NDArray[Any]:
        """Values [K] at `rows` [K]."""
        if len(rows) and (rows.min() < 0 or rows.max() >= self.rows):
            raise IndexError(f"index: rows {rows.min()}..{rows.max()} asked for (want 0..{self.rows - 1}); check the sampler")
        values: NDArray[Any] = self.items[self.first[rows // BATCH] + rows % BATCH]
        return values

    def all(self) -> NDArray[Any]:
        """A copy of the whole column."""
        ends = [min(BATCH, self.rows - batch * BATCH) for batch in range(len(self.first))]
        return np.concatenate([self.items[at : at + count] for at, count in zip(self.first.tolist(), ends, strict=True)])


@dataclass(frozen=True, eq=False)
class Index:
    """An opened index: its checksum and schema are right; whether it fits the shards, `problems` tells."""

    where: str  # the folder
    checksum: int
    classes: tuple[str, ...]
    shards: tuple[Shard, ...]
    batches: tuple[Any, ...]  # pyarrow record batches
    columns: dict[str, Column]  # see NUMBERS

    def __len__(self) -> int:
        return self.columns["size"].rows

    def key(self, row: int) -> str:
        return str(self.batches[row // BATCH].column("key")[row % BATCH].as_py())

    def format(self, row: int) -> str:
        return str(self.batches[row // BATCH].column("format")[row % BATCH].as_py())

    def file_problems(self) -> list[str]:
        """Shards that are missing or of another size."""
        found = []
        for shard in self.shards:
            path = os.path.join(self.where, shard.name)
            try:
                size = os.stat(path).st_size
            except OSError as error:
                found.append(f"{path}: cannot be opened ({error.strerror}); restore it, or convert again")
                continue
            if size != shard.bytes:
                found.append(f"{path}: size differs (got {size} bytes, want {shard.bytes}); restore it, or convert again")
        return found

    def row_problems(self) -> list[str]:
        """Samples that lie outside their shard or have no class."""
        shard, offset, size, label = (self.columns[name].all() for name in ("shard", "offset", "size", "label"))
        bytes_of = np.array([shard.bytes for shard in self.shards], np.int64)
        known = (shard >= 0) & (shard < len(bytes_of))
        limit = bytes_of[np.where(known, shard, 0)]
        # Subtractions only, on values already known to be in range: nothing can overflow.
        inside = known & (offset >= 0) & (size > 0) & (size <= limit) & (offset <= limit - np.clip(size, 0, limit))
        classed = (label >= 0) & (label < len(self.classes))
        path = os.path.join(self.where, INDEX)
        return [
            f"{path}: {what} in {np.count_nonzero(~good)} of {len(self)} rows (first: row {np.argmin(good)}); convert again"
            for good, what in ((inside, "bytes outside the shard"), (classed, f"label outside 0..{len(self.classes) - 1}"))
            if not good.all()
        ]


@dataclass(frozen=True, eq=False)
class ShardSource:
    """Samples in shards. A `Source`; pickling keeps the path only, and the other process opens it again."""

    where: str
    index: Index

    def __len__(self) -> int:
        return len(self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return reopen, (self.where, self.index.checksum)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.index.classes

    @cached_property
    def labels(self) -> Longs:
        return self.index.columns["label"].all()

    @cached_property
    def files(self) -> _native.Files:
        return _native.Files([os.path.join(self.where, shard.name) for shard in self.index.shards], keep_open=True)

    def locate(self, samples: Longs) -> Location:
        shard, offset, size, checksum = (self.index.columns[name][samples] for name in ("shard", "offset", "size", "checksum"))
        return Location(shard.astype(np.int64), offset, size, checksum)

    def name(self, sample: int) -> str:
        shard = self.index.shards[int(self.index.columns["shard"][np.array([sample])][0])]
        return f"{os.path.join(self.where, shard.name)}:{self.index.key(sample)}"


def load(where: str) -> ShardSource:
    """The data set in the folder `where`. Raises SourceError with every problem found."""
    index = read_index(where)
    if problems := index.row_problems() + index.file_problems():
        raise SourceError("\n".join(problems))
    return ShardSource(where, index)


def reopen(where: str, checksum: int) -> ShardSource:
    """`load` in another process; raises SourceError if the data set was replaced meanwhile."""
    source = load(where)
    if source.index.checksum != checksum:
        raise SourceError(f"{where}: was replaced while in use (index {source.index.checksum:016x}, want {checksum:016x}); open it again")
    return source


def looks_unfinished(where: str) -> bool:
    """Whether a conversion into this folder began and was not committed."""
    try:
        names = os.listdir(where)
    except OSError:
        return False
    return INDEX not in names and (SUM in names or any(name.startswith(TEMPORARY) for name in names))


def import_arrow(where: str, error: type[FastloadError] = SourceError) -> Any:
    """pyarrow, which only shards need. Raises `error` if it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
    except ImportError as missing:
        raise error(f"{where}: shards need pyarrow (not installed); pip install 'fastload-torch[convert]'") from missing
    return pa


def arrow_schema(pa: Any) -> Any:
    """The index's columns, without metadata."""
    fields = [pa.field(name, getattr(pa, kind)(), nullable=False) for name, kind in NUMBERS.items()]
    fields += [
        pa.field("key", pa.string(), nullable=False),
        pa.field("format", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("index_offset", pa.int64()),  # place in the seek-index sidecar, null without one
        pa.field("index_size", pa.int64()),
    ]
    return pa.schema(fields)


def read_index(where: str) -> Index:
    """Map, verify and parse the index; the shards are not looked at. Raises SourceError."""
    path = os.path.join(where, INDEX)
    pa = import_arrow(where)
    data = _map(path)
    checksum = _verify_sum(where, data)
    try:
        return _parse(pa, where, checksum, data)
    except (pa.ArrowException, *PARSE_ERRORS) as error:
        if isinstance(error, SourceError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: is not a fastload index ({reason}); convert again") from error


def _map(path: str) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise SourceError(f"{path}: is empty (0 bytes); convert again")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from error


def _verify_sum(where: str, data: mmap.mmap) -> int:
    """The index's checksum, which must be the text in SUM to the last byte."""
    path = os.path.join(where, SUM)
    try:
        with open(path, "rb") as file:
            said = file.read(64)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}); restore it, or convert again") from error
    checksum = _native.xxh3(data)
    if said != sum_line(checksum):
        text = said.decode("ascii", "backslashreplace").rstrip("\n")
        raise SourceError(
            f"{os.path.join(where, INDEX)}: is damaged (checksum got {checksum:016x}, {SUM} says {text!r}); restore both, or convert again"
        )
    return checksum


def sum_line(checksum: int) -> bytes:
    """The content of SUM."""
    return b"%016x\n" % checksum


def _parse(pa: Any, where: str, checksum: int, data: mmap.mmap) -> Index:
    path = os.path.join(where, INDEX)
    whole = pa.py_buffer(data)
    reader = pa.ipc.open_file(whole)
    rows, classes, shards = _metadata(path, (reader.schema.metadata or {}).get(METADATA))
    if not reader.schema.equals(arrow_schema(pa)):
        raise SourceError(f"{path}: has other columns than version {VERSION} of the format; convert again")
    wanted = -(-rows // BATCH)
    if reader.num_record_batches != wanted:  # compared first: a list of 2^60 lengths would not end
        raise SourceError(f"{path}: has {reader.num_record_batches} record batches, want {wanted} for {rows} samples; convert again")
    lengths = [min(BATCH, rows - at) for at in range(0, rows, BATCH)]
    batches = tuple(reader.get_batch(number) for number in range(wanted))
    for batch, length in zip(batches, lengths, strict=True):
        batch.validate(full=True)
        nulls = sum(batch.column(field.name).null_count for field in arrow_schema(pa) if not field.nullable)
        if batch.num_rows != length or nulls:
            raise SourceError(f"{path}: a record batch has {batch.num_rows} rows and {nulls} nulls, want {length} and 0; convert again")
    columns = {name: _column(batches, name, kind, data, whole.address) for name, kind in NUMBERS.items()}
    return Index(where, checksum, classes, shards, batches, columns)


def _column(batches: tuple[Any, ...], name: str, kind: str, data: mmap.mmap, base: int) -> Column:
    """A column's numbers as a view of the map. Raises ValueError for a column that is not stored plainly in it."""
    dtype = np.dtype(kind)
    items = np.frombuffer(data, dtype, count=len(data) // dtype.itemsize)
    places = np.array([batch.column(name).buffers()[1].address - base for batch in batches], np.int64)
    rows = sum(batch.num_rows for batch in batches)
    ends = places + np.array([batch.num_rows for batch in batches], np.int64) * dtype.itemsize
    plain = (places >= 0) & (places % dtype.itemsize == 0) & (ends <= len(items) * dtype.itemsize)
    if not plain.all():
        raise ValueError(f"column {name} is compressed or not aligned")
    return Column(items, places // dtype.itemsize, rows)


def _metadata(path: str, text: bytes | None) -> tuple[int, tuple[str, ...], tuple[Shard, ...]]:
    """Sample count, classes and shards from the schema's metadata. Raises SourceError; ValueError or TypeError for odd JSON."""
    if text is None:
        raise SourceError(f"{path}: is an Arrow file of another program (no metadata {METADATA.decode()!r}); give a converted data set")
    said = json.loads(text)
    if said["version"] != VERSION:
        raise SourceError(f"{path}: format version is {said['version']!r}, this fastload reads {VERSION}; use the fastload that wrote it")
    rows, classes = said["samples"], said["classes"]
    shards = tuple(Shard(shard["name"], shard["bytes"], int(shard["xxh3"], 16)) for shard in said["shards"])
    if type(rows) is not int or rows < 1 or not shards:
        raise SourceError(f"{path}: holds no samples; convert again")
    if not all(type(name) is str for name in classes):
        raise TypeError("a class name is not text")
    for shard in shards:
        # A name with a slash would read files outside the folder.
        if not SHARD_NAME.fullmatch(shard.name) or type(shard.bytes) is not int or not 0 <= shard.bytes < 1 << 62:
            raise ValueError(f"shard {shard.name!r} of {shard.bytes!r} bytes")
    return rows, tuple(classes), shards
