"""MosaicML Streaming's shards (MDS), read where they lie, without that library.

index.json lists the shards and their columns. A shard has the number of samples (uint32), where
each begins and the last one ends (uint32 [N + 1]), the columns once more, and the samples. Of a
sample come first the sizes (uint32) of those columns whose sizes differ, then the bytes of all.
A data set may come from anywhere: every number is checked before anything is read by it, and
nothing is unpickled.
Source: mosaicml/streaming 0.13.0, base/format/mds (version 2).
"""

import os
from collections.abc import Iterator
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from fastload.errors import SHOWN, SourceError
from fastload.files.names import problem, whole_problem
from fastload.sources.mapped import SpanSource
from fastload.sources.span_files import Spans, each, gathered, joined, json_of
from fastload.spec import Longs

INDEX, VERSION = "index.json", 2
WORD = np.dtype("<u4")
IMAGES = ("jpeg", "png", "jpeg_array", "jpegarray", "bytes")  # encoded images as they are
# Labels. "int" has 64 bits
INTEGERS = {"int": "<i8"} | {
    f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)
}
KINDS = {"image": IMAGES, "label": tuple(INTEGERS)}
MOST_COLUMNS = 1 << 10
REMEDY = "write the data set again"


class Shard(NamedTuple):
    """A shard as the index has it."""

    path: str
    samples: int
    columns: tuple[tuple[str, str, int], ...]  # name, encoding, bytes (0: they differ)


class Fields(NamedTuple):
    """Numbers of two of a shard's columns."""

    image: int
    label: int


def load(where: str, fields: tuple[str, str] | None = None) -> SpanSource:
    """The data set in the folder `where`.

    fields: names of the columns with images and labels; None takes the first of each kind. Raises
    SourceError with the first problem of each shard.
    """
    shards = [shard for shard in _shards(where) if shard.samples]
    if not shards:
        raise SourceError(f"{os.path.join(where, INDEX)}: lists no samples; {REMEDY}")
    taken = [_fields(shard, fields) for shard in shards]
    spans = each(
        [shard.path for shard in shards],
        lambda number, file: _spans(shards[number], taken[number], file),
    )
    return joined(where, [shard.path for shard in shards], spans)


def _shards(where: str) -> Iterator[Shard]:
    """Raises SourceError."""
    path = os.path.join(where, INDEX)
    index = json_of(path, REMEDY, "MDS shards want it beside them")
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
    for column, encoding, size in columns:
        _check_column(column, encoding, size)
    return Shard(path, samples, tuple((a, b, c or 0) for a, b, c in columns))


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


def _fields(shard: Shard, fields: tuple[str, str] | None) -> Fields:
    """Raises SourceError."""
    found = []
    for position, (kind, encodings) in enumerate(KINDS.items()):
        want = fields[position] if fields else None
        fitting = [
            number
            for encoding in encodings
            for number, (name, has, _) in enumerate(shard.columns)
            if has == encoding and want in (None, name)
        ]
        if not fitting:
            has = ", ".join(
                f"{short(name)} ({short(encoding)})" for name, encoding, _ in shard.columns[:SHOWN]
            )
            what = f"no {kind} column" + (f" {want!r}" if want else "")
            raise SourceError(
                f"{shard.path}: has {what} (has {has}; {kind}s are {', '.join(encodings)}); name "
                "the columns with images and labels: fields=(IMAGE, LABEL)"
            )
        found.append(fitting[0])
    return Fields(*found)


def _spans(shard: Shard, fields: Fields, file: int) -> Spans:
    """Raises SourceError and OSError."""
    begins = _begins(shard, file)
    differ = [number for number, (_, _, size) in enumerate(shard.columns) if not size]
    heads = gathered(shard.path, file, begins[:-1], WORD.itemsize * len(differ)).view(WORD)
    at, found = begins[:-1] + WORD.itemsize * len(differ), dict[int, tuple[Longs, Longs]]()
    for number, (_, _, fixed) in enumerate(shard.columns):
        size = np.full_like(at, fixed) if fixed else heads[:, differ.index(number)].astype(np.int64)
        if number in fields:
            found[number] = at, size
        at = at + size
    if len(wrong := np.flatnonzero(at != begins[1:])):
        sample = int(wrong[0])
        raise SourceError(
            f"{shard.path}: sample {sample} ends at byte {int(at[sample])}, want "
            f"{int(begins[sample + 1])}; {REMEDY}"
        )
    offset, size = found[fields.image]
    if len(wrong := np.flatnonzero(size == 0)):
        sample = int(wrong[0])
        raise SourceError(f"{shard.path}: sample {sample} has an empty image; {REMEDY}")
    kind = np.dtype(INTEGERS[shard.columns[fields.label][1]])
    values = gathered(shard.path, file, found[fields.label][0], kind.itemsize).view(kind)
    return Spans(offset, size, values[:, 0].astype(np.int64))


def _begins(shard: Shard, file: int) -> Longs:
    """int64 [N + 1]: where samples begin, and the last one ends; each has room for its columns.

    Raises SourceError.
    """
    size, table = os.fstat(file).st_size, WORD.itemsize * (shard.samples + 2)
    wrong = f"has {size} bytes, want {table} and more" if size < table else ""
    if not wrong:
        words = np.frombuffer(os.pread(file, table, 0), WORD).astype(np.int64)
        least = sum(size or WORD.itemsize for _, _, size in shard.columns)
        if words[0] != shard.samples:
            wrong = f"has {words[0]} samples, want {shard.samples}"
        elif words[1] < table or words[-1] > size or (np.diff(words[1:]) < least).any():
            wrong = "has samples outside of it, or too small ones"
    if wrong:
        raise SourceError(f"{shard.path}: {wrong}; {REMEDY}")
    return words[1:]
