"""The index of MosaicML Streaming's shards (MDS), checked."""

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from reprlib import repr as short
from typing import Any

import numpy as np

from fastload import _native
from fastload.errors import SourceError
from fastload.files.names import problem, whole_problem
from fastload.sources.mds_shards import REMEDY, Shard
from fastload.sources.span_files import json_of

INDEX, VERSION = "index.json", 2
# Types of integers. "int" has 64 bits
INTEGERS = {"int": "<i8"} | {
    f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)
}
MOST_COLUMNS = 1 << 10


def shards_of(where: str) -> Iterator[Shard]:
    """Those of the data set in a folder. Raises SourceError."""
    index = json_of(os.path.join(where, INDEX), REMEDY, "MDS shards want it beside them")
    return shards_in(where, index)


def shards_in(where: str, index: Any) -> Iterator[Shard]:
    """Those that the JSON in an index lists. Raises SourceError."""
    path = os.path.join(where, INDEX)
    listed = index.get("shards") if isinstance(index, dict) else None
    if not isinstance(listed, list):
        raise SourceError(f"{path}: has no list of shards; {REMEDY}")
    for number, one in enumerate(listed):
        try:
            yield _shard(where, one)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, SourceError):
                raise
            raise SourceError(
                f"{path}: shard {number} is not described as MDS {VERSION} does "
                f"({type(error).__name__}: {error}); {REMEDY}"
            ) from error


def _shard(where: str, one: Any) -> Shard:
    """Raises SourceError; KeyError, TypeError and ValueError for what is described otherwise."""
    name, samples = one["raw_data"]["basename"], one["samples"]
    # The list is not to reach files elsewhere
    if wrong := problem(name) or ("has a slash" if "/" in name else ""):
        raise ValueError(f"name {short(name)} {wrong}")
    path = os.path.join(where, name)
    if one["format"] != "mds" or one["version"] != VERSION:
        raise SourceError(
            f"{path}: is {short(one['format'])} {short(one['version'])} (want 'mds' {VERSION}); "
            "write it with MDSWriter of mosaicml-streaming"
        )
    if type(samples) is not int or samples < 0:
        raise ValueError(f"{short(samples)} samples")
    if samples and not os.path.exists(path) and one["compression"] is not None:
        raise SourceError(
            f"{path}: is there only compressed ({short(one['compression'])}); unpack it, or write "
            "the shards with compression=None"
        )
    columns = list(
        zip(one["column_names"], one["column_encodings"], one["column_sizes"], strict=True)
    )
    if len(columns) > MOST_COLUMNS:
        raise ValueError(f"{len(columns)} columns")
    return Shard(path, samples, _checked(tuple(columns)))


@lru_cache(maxsize=64)
def _checked(columns: tuple[tuple[Any, Any, Any], ...]) -> tuple[tuple[str, str, int], ...]:
    """The columns of a shard: once for all that have the same, since there may be very many.

    Raises ValueError.
    """
    for column, encoding, size in columns:
        _check_column(column, encoding, size)
    return tuple((column, encoding, size or 0) for column, encoding, size in columns)


def _check_column(column: Any, encoding: Any, size: Any) -> None:
    """Raises ValueError."""
    for text in (column, encoding):
        if wrong := whole_problem(text):
            raise ValueError(f"column {short(column)} of type {short(encoding)}: one {wrong}")
    fixed = INTEGERS.get(encoding)
    if (fixed and size != np.dtype(fixed).itemsize) or (
        size is not None and (type(size) is not int or not 0 < size < 1 << 32)
    ):
        raise ValueError(
            f"column {short(column)} of type {short(encoding)} with {short(size)} bytes"
        )


def asked_of(shard: Shard, *columns: object) -> str:
    """What the index says of a shard, and what is read of it, in short."""
    return _asked(shard.samples, shard.columns, columns)


@lru_cache(maxsize=64)
def _asked(*said: object) -> str:
    return f"{_native.xxh3(json.dumps(said).encode()):016x}"
