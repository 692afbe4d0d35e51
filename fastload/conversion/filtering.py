"""fastload filter: some rows of converted shards, in memory that does not grow with them but for a
bit each.

The index is gone over three times, 65,536 rows at a time: which rows stay; which shards these lie
in; and the new index, which goes straight to its file.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.conversion import commits, index_writer, subset_columns, subsets, target, where
from fastload.conversion.doubles import Doubles
from fastload.conversion.index_file import IndexFile
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.subset_columns import NewFiles
from fastload.conversion.subsets import SubsetSummary
from fastload.errors import ConversionError, SourceError
from fastload.files.names import check_keys
from fastload.sources import arrow, shard_groups
from fastload.sources.extras import COLUMN
from fastload.sources.shard_index import INDEX, METADATA, REMEDY, Said, arrow_schema
from fastload.sources.shards import ShardSource
from fastload.sources.span_index import Stamp
from fastload.sources.staging import local_only
from fastload.spec import Longs

Bits = NDArray[np.uint8]


class Found(NamedTuple):
    """The rows for which a condition holds.

    checksum: XXH3-64 of the index whose rows they are; bits: one for each row, the first of eight
    is the lowest.
    """

    checksum: int
    bits: Bits


def run(
    source: str,
    into: str,
    condition: str | Found | None = None,
    *,
    unique: bool = False,
    overwrite: bool = False,
    committing: Committing = delayed,
) -> SubsetSummary:
    """A data set at `into` of the rows for which the condition holds; unique: of equal images, by
    their sizes and XXH3-64, only the first of these.

    condition: as text, or the rows for which somebody has found that it holds; None: all.

    Raises SourceError, UsageError and ConversionError.
    """
    local_only(into)
    rows = Rows(subsets.open_shards(source))
    kept = _kept(rows, condition, unique=unique)
    with ExitStack() as at_the_end, _prepared(rows, kept, into, overwrite=overwrite) as ready:
        at_the_end.enter_context(committing())
        commits.commit(ready.folder, ready.files, ready.content, b"", linked=True)
    return ready.summary


class Rows:
    """The rows of converted shards, gone over as often as they are asked for."""

    def __init__(self, source: ShardSource) -> None:
        self.source, self.where, self.said = source, source.where, source.rows.said
        self.checksum = source.rows.index_checksum
        self.extras = False  # files beside the images: known after the first pass

    def __len__(self) -> int:
        return self.said.rows

    def same(self, checksum: int) -> None:
        """Raise SourceError where this is another index's."""
        if checksum != self.checksum:
            path = os.path.join(self.where, INDEX)
            raise SourceError(f"{path}: was replaced while it was read; filter it again")

    def groups(self, begin: int = 0, end: int | None = None) -> Iterator[tuple[int, list[Any]]]:
        """The first row of some record batches, and these. begin, end: which of them in all.

        Raises SourceError.
        """
        pa, path = arrow.import_arrow(self.where), os.path.join(self.where, INDEX)
        try:
            groups = shard_groups.streamed(self.where, INDEX, begin, end)
        except (OSError, pa.ArrowException, *arrow.PARSE_ERRORS):
            groups = shard_groups.of_index(self.source.index, Stamp(0, 0, 0), begin, end)
        self.same(groups.checksum)
        first = begin * arrow.BATCH
        try:
            for batches in groups.batches:
                self.extras = COLUMN in batches[0].schema.names
                yield first, batches
                first += sum(batch.num_rows for batch in batches)
        except (OSError, pa.ArrowException, *arrow.PARSE_ERRORS) as error:
            if isinstance(error, SourceError):
                raise
            why = " ".join(str(error).split())[:200]
            raise SourceError(f"{path}: changed while it was read ({why}); {REMEDY}") from error

    def chosen(self, kept: Bits) -> Iterator[Any]:
        """Tables of the rows that stay."""
        pa = arrow.import_arrow(self.where)
        for first, batches in self.groups():
            count = sum(batch.num_rows for batch in batches)
            mask = _mask(kept, first, count)
            if mask.any():
                yield pa.Table.from_batches(batches).filter(pa.array(mask))


def bits(mask: NDArray[np.bool_]) -> Bits:
    """A bit for each, eight in a byte."""
    return np.packbits(mask, bitorder="little")


def _mask(held: Bits, first: int, count: int) -> NDArray[np.bool_]:
    """Of so many rows from this one on, whose number is a multiple of 8."""
    part = held[first // 8 : -(-(first + count) // 8)]
    return np.unpackbits(part, count=count, bitorder="little").astype(np.bool_)


def _kept(rows: Rows, condition: str | Found | None, *, unique: bool) -> Bits:
    """A bit for each row: whether it stays. Raises SourceError and UsageError."""
    kept = np.zeros(-(-len(rows) // 8), np.uint8)
    doubles = Doubles(len(rows)) if unique else None
    if isinstance(condition, Found):
        rows.same(condition.checksum)
    for first, batches in rows.groups():
        keys = [key for batch in batches for key in batch.column("key").to_pylist()]
        check_keys(rows.where, keys, first)
        count = sum(batch.num_rows for batch in batches)
        mask = np.ones(count, np.bool_)
        if isinstance(condition, Found):
            mask = _mask(condition.bits, first, count)
        elif condition is not None:
            mask = where.mask(rows.where, rows.said.classes, batches, condition)
        kept[first // 8 : -(-(first + count) // 8)] = bits(mask)
        if doubles is not None:
            at = np.flatnonzero(mask)
            checksum, size = (shard_groups.numbers(batches, n)[at] for n in ("checksum", "size"))
            doubles.add(first + at, checksum.view(np.int64), size)
    for later in doubles.later() if doubles is not None else ():
        np.bitwise_and.at(kept, later // 8, ~(1 << later % 8).astype(np.uint8))
    return kept


@contextmanager
def _prepared(rows: Rows, kept: Bits, into: str, *, overwrite: bool) -> Iterator[subsets.Ready]:
    """The target is held meanwhile; what is not committed then is removed."""
    pa = arrow.import_arrow(into, ConversionError)
    used, formats, count = _looked(rows, kept)
    if not count:
        raise ConversionError(f"{into}: no sample is left; give other conditions")
    if os.path.realpath(rows.where) == os.path.realpath(into):
        raise ConversionError(f"{into}: is the data set itself; give another folder")
    said, whole = rows.said, not any(rows.source.rows.sidecar_problems(rows.where))
    files = NewFiles([], [], [], [])
    sidecars = said.sidecars if whole else ()
    numbers = subset_columns.renumbered(files, rows.where, said.shards, sidecars, used)
    with target.being_written(
        target.Hold(into), count * subsets.INDEX_ROW, overwrite=overwrite
    ) as hold:
        pairs, copied = subsets.linked(files, hold.into)
        with IndexFile(hold.into) as file:
            text = index_writer.metadata(
                count, said.classes, files.shards,
                index_writer.Extras(files.sidecars, _transcoded(said, count)),
            )  # fmt: skip
            schema = arrow_schema(pa, extras=rows.extras).with_metadata({METADATA: text})
            tables = (
                _columns(pa, table, schema, numbers, formats, indexed=bool(files.sidecars))
                for table in rows.chosen(kept)
            )
            arrow.write_tables(pa, schema, tables, file)
            staged = file.staged()
        summary = SubsetSummary(into, count, len(said.classes), len(files.shards), copied)
        yield subsets.Ready(hold.into, pairs, staged, summary)


def _looked(rows: Rows, kept: Bits) -> tuple[Longs, list[str], int]:
    """The shards in which the rows lie that stay, their formats, and how many they are."""
    used, formats, count = np.zeros(len(rows.said.shards), np.bool_), set[str](), 0
    for table in rows.chosen(kept):
        used[table.column("shard").to_numpy()] = True
        formats.update(table.column("format").unique().to_pylist())
        count += table.num_rows
    return np.flatnonzero(used), sorted(formats), count


def _transcoded(said: Said, count: int) -> int | None:
    """Known only where all rows stay."""
    return said.transcoded if count == said.rows else None


def _columns(
    pa: ModuleType, table: Any, schema: Any, numbers: Longs, formats: list[str], *, indexed: bool
) -> Any:
    """The same rows in the new data set. numbers: the new ones of shards."""
    arrays = {name: table.column(name).combine_chunks() for name in schema.names}
    arrays["shard"] = pa.array(numbers[table.column("shard").to_numpy()].astype(np.int32))
    if not indexed:
        nothing = pa.array(np.zeros(table.num_rows, np.int64))
        arrays |= {"index_offset": nothing, "index_size": nothing}
    import pyarrow.compute as pc

    names = pa.array(formats, pa.string())
    codes = pc.index_in(table.column("format").cast("string"), names).combine_chunks()
    arrays["format"] = pa.DictionaryArray.from_arrays(codes, names)
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)
