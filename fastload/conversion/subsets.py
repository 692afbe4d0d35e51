"""New data sets out of converted ones, by their indexes: filter, split, merge. The shards are linked, not read and not copied.

A link is the same file under a second name: no room is taken, and either data set may be removed. fastload never writes into a shard.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastload import rng
from fastload.conversion import index_writer, target
from fastload.conversion.index_writer import Extras
from fastload.conversion.interrupts import Committing, delayed
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.files import below
from fastload.files.below import Folder, no_wait
from fastload.files.names import Inner, check_keys
from fastload.sources import open_source
from fastload.sources.arrow import import_arrow
from fastload.sources.extras import COLUMN, extras_field
from fastload.sources.shards import NUMBERS, TEMPORARY, Index, Shard, ShardSource
from fastload.spec import Longs

NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
INDEX_ROW = 512  # bytes per sample of an index, ample


@dataclass(frozen=True)
class Part:
    """Rows of one data set."""

    index: Index
    rows: Longs


class Summary(NamedTuple):
    """What was written."""

    where: str
    samples: int
    classes: int
    shards: int
    copied: int  # bytes that could not be linked


def open_index(where: str) -> Index:
    """The index of converted shards. Raises SourceError."""
    source = open_source(where)
    if not isinstance(source, ShardSource):
        raise SourceError(f"{where}: is no converted data set (got {type(source).__name__}); run fastload convert first")
    check_keys(where, [key for batch in source.index.batches for key in batch.column("key").to_pylist()])
    return source.index


def merged_classes(indexes: Sequence[Index]) -> tuple[str, ...]:
    """The classes of all, whose numbers stay: one list begins with the others. Raises ConversionError."""
    longest = max((index.classes for index in indexes), key=len)
    for index in indexes:
        if index.classes != longest[: len(index.classes)]:
            at = next(place for place, pair in enumerate(zip(index.classes, longest, strict=False)) if pair[0] != pair[1])
            text = f"class {at} is {index.classes[at]!r} there and {longest[at]!r} in another"
            raise ConversionError(
                f"{index.where}: has other classes ({text}), and the shards hold their numbers; convert the sources together"
            )
    return longest


def drawn(index: Index, shares: Sequence[float], seed: int, *, by_class: bool = True) -> list[Longs]:
    """The rows cut into parts of these shares, drawn by `seed`, each in order; by_class: each class alike. Raises UsageError."""
    if not shares or min(shares) <= 0 or sum(shares) > 1 + 1e-9:
        raise UsageError(f"split: shares {', '.join(f'{share:g}' for share in shares)} (want some above 0, 1 in all at most); correct them")
    labels = index.columns["label"].all()
    order = rng.permute(np.arange(len(index), dtype=np.int64), len(index), seed, 0)
    groups = [order[labels[order] == label] for label in np.unique(labels)] if by_class else [order]
    parts: list[list[Longs]] = [[] for _ in shares]
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    for group in groups:
        cuts = np.round(edges * len(group)).astype(np.int64)
        for part, low, high in zip(parts, cuts[:-1], cuts[1:], strict=True):
            part.append(group[low:high])
    return [np.sort(np.concatenate(part)) for part in parts]


def write(where: str, parts: Sequence[Part], *, overwrite: bool = False, committing: Committing = delayed) -> Summary:
    """A data set at `where` with these rows, in this order of data sets and their shards. Raises ConversionError."""
    return write_all([(where, parts)], overwrite=overwrite, committing=committing)[0]


def write_all(
    wanted: Sequence[tuple[str, Sequence[Part]]], *, overwrite: bool = False, inside: bool = False, committing: Committing = delayed
) -> list[Summary]:
    """A data set at each place, all or none: none is committed before all are prepared. Raises ConversionError.

    inside: no link is followed in their places; committing: as in job.run.
    """
    with ExitStack() as at_the_end, ExitStack() as held:
        ready = [held.enter_context(_prepared(where, parts, overwrite=overwrite, inside=inside)) for where, parts in wanted]
        at_the_end.enter_context(committing())
        done: list[_Ready] = []
        try:
            for each in ready:
                target.commit(each.folder, each.files, each.content, b"", linked=True)
                done.append(each)
        except BaseException:
            for each in done:
                target.uncommit(each.folder)
            raise
    return [each.summary for each in ready]


class _Ready(NamedTuple):
    """A data set of which only the commit is left. files: temporary name, final name."""

    folder: Folder
    files: Sequence[tuple[str, str]]
    content: memoryview  # of the index
    summary: Summary


@contextmanager
def _prepared(where: str, parts: Sequence[Part], *, overwrite: bool, inside: bool) -> Iterator[_Ready]:
    """The place is held meanwhile; what is not committed then is removed."""
    classes = merged_classes([part.index for part in parts])
    parts = [part for part in parts if len(part.rows)]
    if not parts:
        raise ConversionError(f"{where}: no sample is left; give other conditions")
    for part in parts:
        if os.path.realpath(part.index.where) == os.path.realpath(where):
            raise ConversionError(f"{where}: is the data set itself; give another folder")
    pa = import_arrow(where, ConversionError)
    plans = _plans(parts)
    arrays = _arrays(pa, where, parts, plans)
    needed, copied = sum(len(part.rows) for part in parts) * INDEX_ROW, 0
    with target.being_written(target.Hold(where, inside=inside), needed, overwrite=overwrite) as hold:
        pairs = []
        for source, name in plans.files:
            temporary = below.temporary(name.removeprefix("shard-"), TEMPORARY)
            copied += _link(source, hold.into, temporary)
            pairs.append((temporary, name))
        text = index_writer.metadata(len(arrays["size"]), classes, plans.shards, Extras(plans.sidecars, _transcoded(parts)))
        index = index_writer.encode(pa, arrays, text)
        yield _Ready(hold.into, pairs, index, Summary(where, len(arrays["size"]), len(classes), len(plans.shards), copied))


class _Plans(NamedTuple):
    """Which files of which data set get which names. numbers: per part, the new number of each shard, or -1."""

    files: list[tuple[str, str]]
    shards: list[Shard]
    sidecars: list[Shard]
    numbers: list[Longs]


def _plans(parts: Sequence[Part]) -> _Plans:
    plans = _Plans([], [], [], [])
    indexed = all(part.index.sidecars and not any(part.index.sidecar_problems()) for part in parts)
    for index, rows in map(_pair, parts):
        used = np.unique(index.columns["shard"][rows])
        numbers = np.full(len(index.shards), -1, np.int64)
        for shard in used.tolist():
            numbers[shard] = len(plans.shards)
            for files, into in ((index.shards, plans.shards), (index.sidecars if indexed else (), plans.sidecars)):
                if files:
                    name = f"shard-{numbers[shard]:06d}{os.path.splitext(files[shard].name)[1]}"
                    plans.files.append((os.path.join(index.where, files[shard].name), name))
                    into.append(files[shard]._replace(name=name))
        plans.numbers.append(numbers)
    return plans


def _arrays(pa: Any, where: str, parts: Sequence[Part], plans: _Plans) -> dict[str, Any]:
    """The columns of the new index. Raises ConversionError for keys that are there twice."""
    columns = {name: np.concatenate([index.columns[name][rows] for index, rows in map(_pair, parts)]) for name in NUMBERS}
    numbers = [new[index.columns["shard"][rows]] for (index, rows), new in zip(map(_pair, parts), plans.numbers, strict=True)]
    columns["shard"] = np.concatenate(numbers)
    if not plans.sidecars:
        columns["index_offset"], columns["index_size"] = (np.zeros(len(columns["size"]), np.int64) for _ in range(2))
    arrays = {name: pa.array(columns[name].astype(kind)) for name, kind in NUMBERS.items()}
    tables = [pa.Table.from_batches(index.batches).take(pa.array(rows)) for index, rows in map(_pair, parts)]
    keys = [key for table in tables for key in table.column("key").to_pylist()]
    if len(set(keys)) < len(keys):
        seen: set[str] = set()
        double = next(key for key in keys if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ConversionError(f"{where}: key {double!r} is in two of the data sets; convert the sources together, which numbers such keys")
    arrays["key"] = pa.array(keys, pa.string())
    arrays["format"] = index_writer.dictionary(pa, [name for table in tables for name in table.column("format").to_pylist()])
    if any(index.extras for index, _ in map(_pair, parts)):
        rows = [
            row for table in tables for row in (table.column(COLUMN).to_pylist() if COLUMN in table.column_names else [[]] * len(table))
        ]
        arrays[COLUMN] = pa.array(rows, extras_field(pa).type)
    return arrays


def _pair(part: Part) -> tuple[Index, Longs]:
    return part.index, part.rows


def _transcoded(parts: Sequence[Part]) -> int | None:
    """How many images were rewritten: known only where whole data sets with that number are put together."""
    counts = [index.transcoded for index, rows in map(_pair, parts) if len(rows) == len(index)]
    return None if len(counts) < len(parts) or None in counts else sum(count or 0 for count in counts)


def _link(source: str, folder: Folder, name: Inner) -> int:
    """Give a file a second name, or copy it where that cannot be; the bytes that were copied. Raises OSError."""
    try:
        os.link(source, name, dst_dir_fd=folder.descriptor)  # of what a link in the source's place leads to
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        target.check_room(folder.path, os.stat(source).st_size)
        with open(source, "rb", opener=no_wait) as whole, os.fdopen(folder.create(name), "wb") as copy:
            shutil.copyfileobj(whole, copy)
            copy.flush()
            os.fsync(copy.fileno())
            size = copy.tell()
        folder.allow(name)
        return size
    return 0
