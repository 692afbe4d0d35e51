"""Files beside the images of converted shards, as fields: where each sample's lies.

A small index has them in memory. Of a large one the places of each name's files are kept as a file
of rows of their own, which is made when somebody first asks for that name.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError
from fastload.sources import arrow, fields, kept_rows, shard_groups, shard_versions, span_index
from fastload.sources.extras import COLUMN, Extras
from fastload.sources.fields import Field
from fastload.sources.kept_rows import KeptRows, KeptWriter
from fastload.sources.shard_groups import Groups
from fastload.sources.shard_index import INDEX, Index, read_index
from fastload.sources.shard_rows import ShardRows
from fastload.spec import Longs

COLUMNS = ("offset", "size", "checksum")
FACTS = ("lacking",)  # of the rows of a part, how many have no such file: their size is -1


class FieldRows(KeptRows):
    """Where the files of one name lie.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file, kept=kept)
        self.index_checksum = int(self.told["checksum"])
        if self.columns != COLUMNS or self.tables.facts.shape[1] != len(FACTS):
            raise ValueError("other columns")

    def lacking(self) -> int:
        return int(self.tables.facts.sum())

    def first_lacking(self) -> int:
        """The first sample that has no such file; there is one."""
        part = int(np.argmax(self.tables.facts[:, 0] > 0))
        begin, end = self.starts[part : part + 2].tolist()
        return int(begin) + int(np.argmax(self.column("size")[begin:end] < 0))


class Beside(NamedTuple):
    """Whose files are wanted.

    Args:
        where: The folder.
        rows, whole: As a ShardSource has them.
        name_of: A sample's name, for messages.
    """

    where: str
    rows: ShardRows
    whole: Index | None
    name_of: Callable[[int], str]

    def field(self, name: str) -> Field:
        """Each sample's file of this name. Raises SourceError."""
        kind = fields.of_suffix(name)
        if self.whole is not None:
            offset, size, checksum = self._in_memory(self.whole, name)
            self._check(name, int(np.count_nonzero(size < 0)), lambda: int(np.argmax(size < 0)))
            return Field(name, kind, offset, size, checksum.view(np.int64))
        rows = self._known(name)
        if (lacking := rows.lacking()) == len(rows):
            raise fields.lacking(self.where, name, self.rows.beside)
        self._check(name, lacking, rows.first_lacking)
        places, sizes, sums = (rows.column(each) for each in COLUMNS)
        return Field(name, kind, places, sizes, sums)

    def _check(self, name: str, lacking: int, first: Callable[[], int]) -> None:
        if lacking:
            count, sample = len(self.rows), self.name_of(first())
            raise fields.incomplete(self.where, name, lacking, count, sample)

    def _in_memory(self, whole: Index, name: str) -> tuple[Longs, Longs, NDArray[np.uint64]]:
        has = [] if whole.extras is None else whole.extras.names()
        if whole.extras is None or name not in has:
            raise fields.lacking(self.where, name, has)
        return whole.extras.named(name)

    def _known(self, name: str) -> FieldRows:
        """As it was kept, or gone over now. Raises SourceError."""
        where, want = self.where, self.rows.index_checksum
        index = shard_versions.name_of(where, want)
        older = (index,) * (index != INDEX)
        kept = span_index.path_of("shards", where, "field", name, *older)
        known = kept_rows.recall(FieldRows, kept)
        if known is not None and (known.index_checksum, len(known)) == (want, len(self.rows)):
            return known
        pa = arrow.import_arrow(where)
        try:
            rows = _derived(shard_groups.streamed(where, index), name, kept)
        except (pa.ArrowException, *arrow.PARSE_ERRORS):
            groups = shard_groups.of_index(read_index(where, index), self.rows.stamp)
            rows = _derived(groups, name, kept)
        if rows.index_checksum != want:
            raise SourceError(f"{where}: was replaced while in use; open it again")
        return rows


def _derived(groups: Groups, name: str, kept: str) -> FieldRows:
    keeping = KeptWriter(kept, COLUMNS)
    try:
        for batches in groups.batches:
            rows = _places(batches, name)
            facts = (int(np.count_nonzero(rows[1] < 0)),)
            keeping.write(partial(keeping.writer.add, rows, b"", facts))
        keeping.finish({"checksum": groups.checksum})
        return keeping.opened(FieldRows)
    finally:
        keeping.close()


def _places(batches: list[Any], name: str) -> tuple[Longs, Longs, Longs]:
    """COLUMNS of some rows."""
    if COLUMN in batches[0].schema.names:
        offset, size, checksum = Extras(batches).named(name)
        return offset, size, checksum.view(np.int64)
    count = sum(map(len, batches))
    return np.zeros(count, np.int64), np.full(count, -1, np.int64), np.zeros(count, np.int64)
