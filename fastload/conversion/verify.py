"""Read everything again and name what is damaged: file, byte range, sample."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastload.conversion import boxed, samples, workers
from fastload.conversion.readers import TO_LOOK, FolderReader, Reader, open_reader
from fastload.conversion.readers.known import known
from fastload.conversion.readers.spans import SpanReader
from fastload.conversion.readers.tables import TableReader
from fastload.conversion.verify_shards import (
    Damage,
    check_file,
    check_sidecar,
    read_and_check,
    read_shard,
)
from fastload.conversion.workers import Advance, Stop
from fastload.errors import SourceError
from fastload.files.opening import no_wait
from fastload.sources import arrow, seek_known, sums
from fastload.sources.arrow import import_arrow
from fastload.sources.shard_index import INDEX, Index, Shard, read_index
from fastload.sources.staging import at_hand
from fastload.spec import Longs
from fastload.system.machine import usable_cores

FILES_PER_TASK = 64


class Damaged(NamedTuple):
    """An index that cannot be used."""

    damages: tuple[Damage, ...]


@dataclass(frozen=True)
class Report:
    """The result of `verify`."""

    kind: str  # "shards", "folder" or "samples"
    files: int
    samples: int
    bytes: int  # read
    damages: tuple[Damage, ...]


def prepare(where: str) -> Index | Reader | Damaged:
    """What is to be checked at `where`: an index with its shards, anything else that can be
    converted, or an index that is damaged.

    Raises SourceError if there is no data set.
    """
    where = at_hand(where)
    path = os.path.join(where, INDEX)
    if not os.path.exists(path):
        return open_reader(where, TO_LOOK)
    import_arrow(where)  # its absence is no damage
    try:
        index = read_index(where)
    except SourceError as error:
        return Damaged(
            damaged_blocks(path)
            or (Damage(path, 0, 0, None, str(error).removeprefix(f"{path}: ")),)
        )
    if problems := index.row_problems():
        return Damaged((Damage(path, 0, 0, None, problems[0].removeprefix(f"{path}: ")),))
    return index


def damaged_blocks(path: str) -> tuple[Damage, ...]:
    """Where an index is not as it was; nothing if that is not known."""
    try:
        with open(path + arrow.SUFFIX, "rb", opener=no_wait) as file:
            said = sums.parse(file.read(sums.MOST))
        data, unread = read_shard(path)
    except OSError:
        return ()
    text = "checksum of these bytes of the index differs; restore them, or convert again"
    blocks = said.blocks if said else ()
    return tuple(unread) or tuple(
        Damage(path, start, end, None, text)
        for start, end in (sums.damaged(data, blocks) if blocks else ())
    )


def verify(
    prepared: Index | Reader | Damaged, count: int | None = None, advance: Advance = workers.ignore
) -> Report:
    """Check everything with `count` workers (None: one per processor)."""
    count = count or usable_cores()
    if isinstance(prepared, Damaged):
        return Report("shards", 1, 0, 0, prepared.damages)
    if isinstance(prepared, Index):
        return verify_shards(prepared, count, advance)
    return verify_reader(prepared, count, advance)


def verify_reader(reader: Reader, count: int, advance: Advance) -> Report:
    """Decode every image of what has no checksums, and look at the objects beside it."""

    def work(start: int, stop: Stop) -> list[Bad]:
        return list(bad_in(reader, range(start, min(start + FILES_PER_TASK, total)), advance, stop))

    total = len(reader)
    aside = seek_damages(reader)
    parts = workers.run(range(0, total, FILES_PER_TASK), work, count)
    return of_reader(reader, aside, [bad for part in parts for bad in part])


class Bad(NamedTuple):
    """A sample that cannot be decoded, and why."""

    sample: int
    what: str


def bad_in(
    reader: Reader,
    numbers: Iterable[int],
    advance: Advance,
    stop: Stop,
    ask: Callable[[int], None] = lambda _: None,
) -> Iterator[Bad]:
    """Decode these. ask: is told each before it is read. Raises StoppedError."""
    boxes = isinstance(reader, (SpanReader, TableReader))  # tars and tables may hold objects
    for sample in numbers:
        stop.check()
        ask(sample)
        try:
            facts = samples.examine(reader.read(sample), "decode").facts
            if boxes:
                boxed.check_sample(reader.extras(sample), facts)
        except samples.BadSampleError as error:
            yield Bad(sample, str(error))
        advance(1, int(reader.sizes[sample]))


def of_reader(reader: Reader, aside: Sequence[Damage], bad: Iterable[Bad]) -> Report:
    """aside: damages of seek indexes."""
    damages = (*aside, *(Damage(reader.name(one.sample), 0, 0, None, one.what) for one in bad))
    kind, size = "samples", int(np.maximum(reader.sizes, 0).sum())
    if isinstance(reader, FolderReader):
        kind = "folder"
    return Report(kind, len(reader), len(reader), size, damages)


def seek_damages(reader: Reader) -> list[Damage]:
    """What is wrong with the seek indexes that lie beside the data or in the cache."""
    if (source := known(reader)) is None:
        return []
    beside = seek_known.of(source).find()
    problems = [Damage(problem.path, 0, 0, None, problem.what) for problem in beside.problems]
    if beside.seek is None:
        return problems
    folder, name = os.path.split(beside.seek.path)
    return problems + check_file(folder, Shard(name, beside.bytes, beside.checksum), growing=True)


def verify_shards(index: Index, count: int, advance: Advance) -> Report:
    """Compare every checksum: each shard's and each payload's; the index's was compared when it was
    opened.
    """
    rows = rows_of(index)
    count = workers.fitting(count, max(shard.bytes for shard in index.shards))
    parts = workers.run(
        range(len(index.shards)),
        lambda shard, stop: read_and_check(index, shard, rows[shard], advance, stop.check),
        count,
    )
    aside = workers.run(
        range(len(index.sidecars)), lambda shard, _: check_sidecar(index, shard, rows[shard]), count
    )
    return of_index(index, [damage for part in (*parts, *aside) for damage in part])


def of_index(index: Index, damages: Iterable[Damage]) -> Report:
    files = (*index.shards, *index.sidecars)
    size = sum(file.bytes for file in files)
    return Report("shards", len(files) + 1, len(index), size, tuple(damages))


def rows_of(index: Index) -> list[Longs]:
    """Index rows of each shard, in the order of their offsets."""
    shard, offset = index.columns["shard"].all(), index.columns["offset"].all()
    order = np.lexsort((offset, shard))
    return np.split(order, np.searchsorted(shard[order], np.arange(1, len(index.shards))))
