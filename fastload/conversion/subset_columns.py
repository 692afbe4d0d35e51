"""The index of a new data set made of other data sets' rows: its shards' names and its columns."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.conversion import index_writer
from fastload.errors import ConversionError
from fastload.sources.extras import COLUMN, extras_field
from fastload.sources.shard_index import NUMBERS, Index, Shard
from fastload.spec import Json, Longs

Numbers = NDArray[np.generic]


@dataclass(frozen=True)
class Part:
    """Rows of one data set."""

    index: Index
    rows: Longs


class NewFiles(NamedTuple):
    """Which files of which data set get which names.

    numbers: per part, the new number of each shard, or -1.
    """

    links: list[tuple[str, str]]  # existing path, new name
    shards: list[Shard]
    sidecars: list[Shard]
    numbers: list[Longs]


def new_files(parts: Sequence[Part]) -> NewFiles:
    """Names for the shards that the rows lie in, numbered anew, and for their sidecars."""
    new = NewFiles([], [], [], [])
    indexed = all(part.index.sidecars and not any(part.index.sidecar_problems()) for part in parts)
    for index, rows in map(_pair, parts):
        used = np.unique(index.columns["shard"][rows])
        sidecars = index.sidecars if indexed else ()
        new.numbers.append(renumbered(new, index.where, index.shards, sidecars, used))
    return new


def renumbered(
    new: NewFiles, where: str, shards: Sequence[Shard], sidecars: Sequence[Shard], used: Longs
) -> Longs:
    """Put these shards of a data set, and their sidecars, behind those that are in `new`; the new
    number of each shard, or -1.
    """
    numbers = np.full(len(shards), -1, np.int64)
    for shard in used.tolist():
        numbers[shard] = len(new.shards)
        for files, into in ((shards, new.shards), (sidecars, new.sidecars)):
            if files:
                name = f"shard-{numbers[shard]:06d}{os.path.splitext(files[shard].name)[1]}"
                new.links.append((os.path.join(where, files[shard].name), name))
                into.append(files[shard]._replace(name=name))
    return numbers


def columns(pa: ModuleType, where: str, parts: Sequence[Part], files: NewFiles) -> Json:
    """The columns of the new index, as pyarrow's arrays.

    Raises ConversionError for keys that are there twice.
    """
    tables = [
        pa.Table.from_batches(index.batches).take(pa.array(rows))
        for index, rows in map(_pair, parts)
    ]
    keys = [key for table in tables for key in table.column("key").to_pylist()]
    _refuse_doubles(where, keys)
    arrays = {
        name: pa.array(values.astype(NUMBERS[name]))
        for name, values in _numbers(parts, files).items()
    }
    arrays["key"] = pa.array(keys, pa.string())
    arrays["format"] = index_writer.dictionary(
        pa, [name for table in tables for name in table.column("format").to_pylist()]
    )
    if any(part.index.extras for part in parts):
        extras = [
            row
            for table in tables
            for row in (
                table.column(COLUMN).to_pylist()
                if COLUMN in table.column_names
                else [[]] * len(table)
            )
        ]
        arrays[COLUMN] = pa.array(extras, extras_field(pa).type)
    return arrays


def _numbers(parts: Sequence[Part], files: NewFiles) -> dict[str, Numbers]:
    """The columns of numbers, [N] each: the shards have new numbers."""
    numbers = {
        name: np.concatenate([index.columns[name][rows] for index, rows in map(_pair, parts)])
        for name in NUMBERS
    }
    numbers["shard"] = np.concatenate(
        [
            new[index.columns["shard"][rows]]
            for (index, rows), new in zip(map(_pair, parts), files.numbers, strict=True)
        ]
    )
    if not files.sidecars:
        for name in ("index_offset", "index_size"):
            numbers[name] = np.zeros(len(numbers["size"]), np.int64)
    return numbers


def _refuse_doubles(where: str, keys: Sequence[str]) -> None:
    seen = set[str]()
    for key in keys:
        if key in seen:
            raise ConversionError(
                f"{where}: key {key!r} is in two of the data sets; convert the sources together, "
                "which numbers such keys"
            )
        seen.add(key)


def _pair(part: Part) -> tuple[Index, Longs]:
    return part.index, part.rows


def transcoded(parts: Sequence[Part]) -> int | None:
    """How many images were rewritten: known only where whole data sets with that number are put
    together.
    """
    counts = [index.transcoded for index, rows in map(_pair, parts) if len(rows) == len(index)]
    return (
        None if len(counts) < len(parts) or None in counts else sum(count or 0 for count in counts)
    )
