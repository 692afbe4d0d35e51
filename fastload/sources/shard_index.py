"""The index of converted shards: what it says of every sample, and whether that can be so.

The index may come from anywhere, so nothing in it is believed: checksum, version, schema and every
offset are checked at open.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from fastload.errors import SourceError
from fastload.sources import arrow
from fastload.sources.arrow import Column
from fastload.sources.extras import COLUMN, Extras, extras_field
from fastload.sources.shard_checks import RowChecks
from fastload.spec import Json, Longs

INDEX = "index.arrow"
SUM = INDEX + arrow.SUFFIX  # one line: XXH3-64 of INDEX, 16 hexadecimal digits
BAD = "bad_samples.jsonl"  # what the conversion left out, if anything
VERSION = 1
METADATA = b"fastload"  # key of the JSON in the schema's metadata
SHARD_NAME = re.compile(r"shard-[0-9]{6,9}\.tar")
SIDECAR_NAME = re.compile(r"shard-[0-9]{6,9}\.seek")
REMEDY, INDEX_AGAIN = "convert again", "run fastload index"
NUMBERS = {
    "shard": "int32", "offset": "int64", "size": "int64", "label": "int64", "height": "int32",
    "width": "int32", "checksum": "uint64",
    # Place in the shard's sidecar; size 0: the sample has no seek index
    "index_offset": "int64", "index_size": "int64",
}  # fmt: skip


class Shard(NamedTuple):
    """One tar file of the data set, or its sidecar of seek indexes."""

    name: str
    bytes: int
    checksum: int  # XXH3-64 of the whole file


class Said(NamedTuple):
    """What the metadata of an index say, which is all but the rows."""

    rows: int
    classes: tuple[str, ...]
    shards: tuple[Shard, ...]
    sidecars: tuple[Shard, ...]
    transcoded: int | None


@dataclass(frozen=True, eq=False)
class Index:
    """An opened index: its checksum and schema are right; whether it fits the shards, `problems`
    tells.
    """

    where: str  # the folder
    checksum: int
    classes: tuple[str, ...]
    shards: tuple[Shard, ...]
    sidecars: tuple[Shard, ...]  # of seek indexes: one per shard, or none at all
    # Images that the conversion rewrote as baseline JPEGs; None: it kept every byte
    transcoded: int | None
    batches: tuple[Any, ...]  # pyarrow record batches
    columns: dict[str, Column]  # see NUMBERS
    extras: Extras | None = None  # files beside the images, where the data set has any

    def __len__(self) -> int:
        return self.columns["size"].rows

    def key(self, row: int) -> str:
        return str(self.batches[row // arrow.BATCH].column("key")[row % arrow.BATCH].as_py())

    def format(self, row: int) -> str:
        return str(self.batches[row // arrow.BATCH].column("format")[row % arrow.BATCH].as_py())

    def file_problems(self) -> list[str]:
        """Shards that are missing or of another size."""
        return [problem for problem in file_problems(self.where, self.shards, REMEDY) if problem]

    def sidecar_problems(self) -> list[str]:
        """One per sidecar: why it cannot be used, or nothing. The samples load without it."""
        return file_problems(self.where, self.sidecars, INDEX_AGAIN)

    def row_problems(self) -> list[str]:
        """Samples that lie outside their shard, or their seek index outside the sidecar, or that
        have no class.
        """
        checks = RowChecks(sizes(self.shards), sizes(self.sidecars), len(self.classes))
        checks.look({name: column.all() for name, column in self.columns.items()}, self.extras)
        return checks.problems(os.path.join(self.where, INDEX), REMEDY)


def file_problems(where: str, files: Sequence[Shard], remedy: str) -> list[str]:
    """Of each of these files of the data set: why it cannot be used, or nothing."""
    return [_file_problem(os.path.join(where, file.name), file.bytes, remedy) for file in files]


def _file_problem(path: str, want: int, remedy: str) -> str:
    try:
        size = os.stat(path).st_size
    except OSError as error:
        return f"{path}: cannot be opened ({error.strerror}); restore it, or {remedy}"
    if size == want:
        return ""
    return f"{path}: size differs (got {size} bytes, want {want}); restore it, or {remedy}"


def sizes(files: Sequence[Shard]) -> Longs:
    """int64: bytes of each."""
    return np.array([file.bytes for file in files], np.int64)


def arrow_schema(pa: ModuleType, *, extras: bool = False) -> Any:
    """The index's columns, without metadata.

    extras: with the one that only data sets with files beside the images have.
    """
    fields = [pa.field(name, getattr(pa, kind)(), nullable=False) for name, kind in NUMBERS.items()]
    fields += [
        pa.field("key", pa.string(), nullable=False),
        pa.field("format", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ]
    return pa.schema([*fields, extras_field(pa)] if extras else fields)


def read_index(where: str, name: str = INDEX) -> Index:
    """Read, verify and parse the index; the shards are not looked at. Raises SourceError.

    name: of its file.
    """
    arrow.import_arrow(where)
    data, checksum = arrow.open_checked(os.path.join(where, name), REMEDY)
    return parse(where, checksum, data)


def parse(where: str, checksum: int, data: arrow.Bytes) -> Index:
    """An index whose checksum was right. Raises SourceError."""
    path, pa = os.path.join(where, INDEX), arrow.import_arrow(where)
    try:
        return _parse(pa, where, checksum, data)
    except (pa.ArrowException, *arrow.PARSE_ERRORS) as error:
        if isinstance(error, SourceError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: is not a fastload index ({reason}); {REMEDY}") from error


def _parse(pa: ModuleType, where: str, checksum: int, data: arrow.Bytes) -> Index:
    path = os.path.join(where, INDEX)
    schema = pa.ipc.open_file(pa.py_buffer(data)).schema
    said = said_by(pa, path, schema)
    table = arrow.read_table(pa, path, data, schema, said.rows, REMEDY)
    extras = Extras(table.batches) if COLUMN in schema.names else None
    return Index(where, checksum, *said[1:], *table, extras)


def said_by(pa: ModuleType, path: str, schema: Any) -> Said:
    """What a schema says, whose columns are those of the format. Raises SourceError; others for
    odd JSON.
    """
    text = arrow.small_json((schema.metadata or {}).get(METADATA, b""))
    if not text:
        raise SourceError(
            f"{path}: is an Arrow file of another program (no metadata {METADATA.decode()!r}); "
            "give a converted data set"
        )
    said = said_in(path, json.loads(text))
    if not schema.equals(arrow_schema(pa, extras=COLUMN in schema.names)):
        raise SourceError(
            f"{path}: has other columns than version {VERSION} of the format; {REMEDY}"
        )
    return said


def said_in(path: str, said: Json) -> Said:
    """The same of the JSON in a schema's metadata. Raises SourceError; others for odd JSON."""
    if said["version"] != VERSION:
        raise SourceError(
            f"{path}: format version is {said['version']!r}, this fastload reads {VERSION}; use "
            "the fastload that wrote it"
        )
    rows, classes, transcoded = said["samples"], said["classes"], said.get("transcoded")
    shards = _files(said["shards"], SHARD_NAME)
    sidecars = _files(said.get("sidecars", []), SIDECAR_NAME)
    if type(rows) is not int or rows < 1 or not shards:
        raise SourceError(f"{path}: holds no samples; {REMEDY}")
    if not all(type(name) is str for name in classes):
        raise TypeError("a class name is not text")
    if sidecars and len(sidecars) != len(shards):
        raise ValueError(f"{len(sidecars)} sidecars for {len(shards)} shards")
    if transcoded is not None and (type(transcoded) is not int or not 0 <= transcoded <= rows):
        raise ValueError(f"{transcoded!r} of {rows} samples transcoded")
    return Said(rows, tuple(classes), shards, sidecars, transcoded)


def _files(said: list[Json], pattern: re.Pattern[str]) -> tuple[Shard, ...]:
    files = tuple(Shard(file["name"], file["bytes"], int(file["xxh3"], 16)) for file in said)
    for file in files:
        # A name with a slash would read files outside the folder.
        if (
            not pattern.fullmatch(file.name)
            or type(file.bytes) is not int
            or not 0 <= file.bytes < 1 << 62
        ):
            raise ValueError(
                f"{'shard' if pattern is SHARD_NAME else 'sidecar'} {file.name!r} of "
                f"{file.bytes!r} bytes"
            )
    return files
