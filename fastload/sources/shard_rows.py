"""What a loader needs of the index of converted shards, as a file of rows (row_file.py).

The Arrow index is what counts. The rows are made from it on the first look, and kept in the user's
cache. They are used again as long as index.arrow has the size, time and inode that it had then, and
the checksum beside it is the same. A small index is read whole each time, and nothing is kept.
"""

import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fastload.errors import SourceError
from fastload.files.opening import no_wait
from fastload.sources import arrow, kept_rows, shard_groups, span_index, sums
from fastload.sources.extras import COLUMN, Extras
from fastload.sources.kept_rows import KeptRows, KeptWriter
from fastload.sources.row_file import Taken
from fastload.sources.shard_checks import RowChecks, within_sidecar
from fastload.sources.shard_groups import Groups
from fastload.sources.shard_index import (
    INDEX,
    INDEX_AGAIN,
    REMEDY,
    Index,
    file_problems,
    read_index,
    said_in,
    sizes,
)
from fastload.sources.span_index import Stamp
from fastload.spec import Longs
from fastload.system import limits, terminal

COLUMNS = (
    "shard", "offset", "size", "label", "checksum", "index_offset", "index_size", "height", "width"
)  # fmt: skip
SHARD, OFFSET, SIZE, LABEL, CHECKSUM, INDEX_OFFSET, INDEX_SIZE, HEIGHT, WIDTH = range(9)
SMALL = 1 << 22  # bytes of an index, of 45,000 samples, that takes 20 ms to read
MOST_NAMES = 100  # of files beside the images that are told
AFTER = 2.0  # s until a line is shown


class ShardRows(KeptRows):
    """Rows COLUMNS of all samples, and what the index says besides.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file, kept=kept)
        told = self.told
        self.said = said_in(where, told.pop("index"))
        self.index_checksum, self.pixels = int(told["checksum"]), int(told["pixels"])
        self.stamp, self.beside = Stamp(*told["stamp"]), list(map(str, told["beside"]))
        self.indexed = np.array(told["indexed"], np.int64)  # [shards]: images with a seek index
        self._shards, self._sidecars = sizes(self.said.shards), sizes(self.said.sidecars)
        if self.columns != COLUMNS or len(self) != self.said.rows:
            raise ValueError("other columns, or rows")
        if self.indexed.shape != self._shards.shape:
            raise ValueError("other shards")
        low, high = self.tables.low[:, (SHARD, LABEL)], self.tables.high[:, (SHARD, LABEL)]
        if (low < 0).any() or (high >= [len(self.said.shards), len(self.said.classes)]).any():
            raise ValueError("a shard or a class that is not there")

    def file_problems(self, where: str) -> list[str]:
        """Shards that are missing or of another size."""
        return [each for each in file_problems(where, self.said.shards, REMEDY) if each]

    def sidecar_problems(self, where: str) -> list[str]:
        """One per sidecar: why it cannot be used, or nothing. The samples load without it."""
        return file_problems(where, self.said.sidecars, INDEX_AGAIN)

    def _check(self, taken: Taken, place: Callable[[int], int]) -> None:
        super()._check(taken, place)
        shard, offset, size, _, _, at, length, *_ = taken.values
        inside = arrow.inside(offset, size, self._shards[shard])
        if len(self._sidecars):
            inside &= (length == 0) | within_sidecar(at, length, self._sidecars[shard])
        else:
            inside &= length == 0
        if not inside.all():
            raise self.damaged(place(int(np.argmin(inside))), "an image outside of its shard")


class Opened(NamedTuple):
    """Rows, and the whole index where it was read for them and is small."""

    rows: ShardRows
    whole: Index | None


def opened(where: str, name: str = INDEX) -> Opened:
    """The index in a folder. Raises SourceError with every problem found. name: of its file."""
    path, older = os.path.join(where, name), (name,) * (name != INDEX)
    kept = span_index.path_of("shards", where, *older)
    stamp = _stamp(path)
    if stamp.size >= SMALL:
        known = kept_rows.recall(ShardRows, kept)
        if known is not None and fits(path, stamp, known.stamp, known.index_checksum):
            known.look()  # what is damaged can be made anew now, and not in a running epoch
            return Opened(known, None)
        pa = arrow.import_arrow(where)
        try:
            return Opened(derived(shard_groups.streamed(where, name), kept), None)
        except SourceError:
            raise
        except (pa.ArrowException, *arrow.PARSE_ERRORS):
            pass  # it is read whole, which may say why
    index = read_index(where, name)
    small = stamp.size < SMALL
    rows = derived(shard_groups.of_index(index, stamp), "" if small else kept)
    return Opened(rows, index if small else None)


def in_memory(index: Index) -> ShardRows:
    """The rows of one that lies elsewhere, and that was read whole.

    Raises SourceError with every problem of its rows.
    """
    return derived(shard_groups.of_index(index, Stamp(0, 0, 0)), "", local=False)


def _stamp(path: str) -> Stamp:
    """Of nothing, where nobody can tell: who reads the file says why."""
    try:
        return Stamp.of(os.stat(path))
    except OSError:
        return Stamp(0, 0, 0)


def fits(path: str, now: Stamp, then: Stamp, checksum: int) -> bool:
    """Whether what was kept is of the index that lies at `path` now."""
    try:
        with open(path + arrow.SUFFIX, "rb", opener=no_wait) as file:
            return now == then and checksum in sums.whole_in(file.read(sums.HEAD))
    except OSError:
        return False


def derived(groups: Groups, kept: str, *, local: bool = True) -> ShardRows:
    """The rows of an index, gone over once.

    kept: where they are to lie; nothing: in memory. local: whether the shards lie there.

    Raises SourceError with every problem found, and what the groups raise.
    """
    look = _Look(groups, KeptWriter(kept, COLUMNS))
    try:
        for batches in groups.batches:
            look.add(batches)
        if problems := look.checks.problems(look.path, REMEDY):
            files = file_problems(groups.where, groups.said.shards, REMEDY) if local else ()
            raise SourceError("\n".join([*problems, *filter(None, files)]))
        return look.rows()
    finally:
        look.line.clear()
        look.keeping.close()


class _Look:
    """Over all rows of an index."""

    def __init__(self, groups: Groups, keeping: KeptWriter) -> None:
        said = groups.said
        self.groups, self.keeping, self.line = groups, keeping, terminal.Line(AFTER)
        self.path = os.path.join(groups.where, INDEX)
        self.checks = RowChecks(sizes(said.shards), sizes(said.sidecars), len(said.classes))
        self.pixels, self.beside = 0, dict[str, None]()
        self.indexed = np.zeros(len(said.shards), np.int64)
        self.line.waited()

    def add(self, batches: list[Any]) -> None:
        extras = Extras(batches) if COLUMN in batches[0].schema.names else None
        columns = {n: shard_groups.numbers(batches, n) for n in COLUMNS}
        self.checks.look(columns, extras)
        area = columns["height"].astype(np.int64) * columns["width"]
        self.pixels = max(self.pixels, int(area.max()))
        self.beside |= dict.fromkeys(extras.names() if extras else ())
        if not self.checks.wrong:
            length = columns["index_size"]
            has = (length > 0) & (length <= limits.longest_index(columns["size"]))
            shards, counts = np.unique(columns["shard"][has], return_counts=True)
            self.indexed[shards] += counts
            rows, names = [_longs(columns[n]) for n in COLUMNS], shard_groups.keys(batches)
            self.keeping.write(lambda: self.keeping.writer.add(rows, names, ()))
        if self.line.waited():
            done, count = self.checks.rows, self.groups.said.rows
            self.line.show(f"first look at {self.path}: {done:,} of {count:,} images")

    def rows(self) -> ShardRows:
        told = {
            "index": json.loads(self.groups.text), "checksum": self.groups.checksum,
            "pixels": self.pixels, "stamp": self.groups.stamp,
            "beside": list(self.beside)[:MOST_NAMES], "indexed": self.indexed.tolist(),
        }  # fmt: skip
        self.keeping.finish(told)
        return self.keeping.opened(ShardRows, self.path)


def _longs(column: Longs) -> Longs:
    """int64 with the same bits, where there are as many."""
    return column.view(np.int64) if column.dtype == np.uint64 else column.astype(np.int64)
