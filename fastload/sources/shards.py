"""Converted data sets: WebDataset tar shards and one Arrow index. docs/formats.md describes the
format.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import shard_rows, shard_versions
from fastload.sources.base import Location, Seek, open_files
from fastload.sources.columns import Numbers
from fastload.sources.fields import Field
from fastload.sources.shard_fields import Beside
from fastload.sources.shard_index import INDEX, SUM, Index, read_index
from fastload.sources.shard_rows import (
    CHECKSUM,
    HEIGHT,
    INDEX_OFFSET,
    INDEX_SIZE,
    OFFSET,
    SHARD,
    SIZE,
    WIDTH,
    ShardRows,
)
from fastload.sources.shard_versions import Version
from fastload.spec import Ints, Longs
from fastload.system import limits

S = TypeVar("S", bound="ShardSource")
TRIES = 2  # of opening an older index, which gets its name while the newest is replaced
TEMPORARY = ".fastload-"  # how names start that a conversion has not committed


@dataclass(frozen=True, eq=False)
class ShardSource:
    """Samples in shards.

    A `Source`; pickling keeps the path only, and the other process opens it again.
    """

    where: str
    rows: ShardRows
    whole: Index | None = field(default=None, repr=False)  # where it was read whole, and is small
    fields: tuple[Field, ...] = field(default=(), kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [field.name for field in self.fields]
        return reopen, (self.where, self.rows.index_checksum, names)

    @property
    def index(self) -> Index:
        """All of it, in memory: for what goes over all samples. Raises SourceError."""
        return self.whole or self._index

    @cached_property
    def _index(self) -> Index:
        index, want = _read(self.where, self.rows.index_checksum), self.rows.index_checksum
        if index.checksum != want:
            raise _replaced(self.where, index.checksum, want)
        if problems := index.row_problems():
            raise SourceError("\n".join(problems))
        return index

    @property
    def classes(self) -> tuple[str, ...]:
        return self.rows.said.classes

    @cached_property
    def labels(self) -> Numbers:
        return self.rows.column("label")

    @cached_property
    def files(self) -> _native.Files:
        return open_files([os.path.join(self.where, each.name) for each in self.rows.said.shards])

    @cached_property
    def _sidecars(self) -> tuple[_native.Files, NDArray[np.bool_]] | None:
        """The sidecars and which of them can be used; None without any.

        A missing one only makes loading slower.
        """
        problems = self.rows.sidecar_problems(self.where)
        usable = np.array([not problem for problem in problems], np.bool_)
        paths = [os.path.join(self.where, each.name) for each in self.rows.said.sidecars]
        return (open_files(paths), usable) if usable.any() else None

    def locate(self, samples: Longs) -> Location:
        file, offset, size, checksum, at, length = self.rows.take(
            samples, SHARD, OFFSET, SIZE, CHECKSUM, INDEX_OFFSET, INDEX_SIZE
        )
        seek = None
        if self._sidecars is not None:
            files, usable = self._sidecars
            good = usable[file] & (length <= limits.longest_index(size))
            seek = Seek(files, file, at, np.where(good, length, 0))
        return Location(file, offset, size, checksum.view(np.uint64), seek)

    def indexed(self) -> int:
        """How many images have a seek index that can be used."""
        if self._sidecars is None:
            return 0
        return int(self.rows.indexed[self._sidecars[1]].sum())

    def sizes(self, samples: Longs) -> Ints:
        """int32 [N, 2]: heights and widths, px, as the index says."""
        return np.stack(self.rows.take(samples, HEIGHT, WIDTH), axis=1).astype(np.int32)

    def most_pixels(self) -> int:
        """Of the largest image, as the index says."""
        return self.rows.pixels

    def name(self, sample: int) -> str:
        number = int(self.rows.take(np.array([sample], np.int64), SHARD)[0][0])
        shard = self.rows.said.shards[number]
        return f"{os.path.join(self.where, shard.name)}:{self.rows.name(sample)}"


def load(where: str, name: str = INDEX) -> ShardSource:
    """The data set in the folder `where`. Raises SourceError with every problem found.

    name: of the file with its index.
    """
    if looks_unfinished(where):
        raise SourceError(
            f"{where}: shards without {INDEX}, so a conversion did not finish; run fastload "
            "convert again"
        )
    rows, whole = shard_rows.opened(where, name)
    if problems := rows.file_problems(where):
        raise SourceError("\n".join(problems))
    return ShardSource(where, rows, whole)


def with_fields(source: S, names: Sequence[str]) -> S:
    """The same data set, with these of the files beside its images. Raises SourceError."""
    beside = Beside(source.where, source.rows, source.whole, source.name)
    return replace(source, fields=tuple(map(beside.field, names)))


def reopen(where: str, checksum: int, names: Sequence[str] = ()) -> ShardSource:
    """`load` in another process, of the same version; raises SourceError if the data set was
    replaced meanwhile.
    """
    for _ in range(TRIES):
        source = load(where, shard_versions.name_of(where, checksum))
        if source.rows.index_checksum == checksum:
            return with_fields(source, names)
    raise _replaced(where, source.rows.index_checksum, checksum)


def _read(where: str, checksum: int) -> Index:
    """The index that has this checksum, if it is still there; else the newest."""
    for _ in range(TRIES):
        index = read_index(where, shard_versions.name_of(where, checksum))
        if index.checksum == checksum:
            break
    return index


def versions(where: str) -> tuple[Version, ...]:
    """All that there are, the newest last. Raises SourceError."""
    rows = load(where).rows
    return shard_versions.of(where, len(rows), rows.index_checksum)


def load_version(where: str, number: int) -> ShardSource:
    """The data set as it was, or is, in the version of this number. Raises SourceError."""
    said = versions(where)
    for one in [one for one in said if one.number == number]:
        source = load(where, shard_versions.name_of(where, one.checksum))
        if source.rows.index_checksum == one.checksum:
            return source
    raise shard_versions.lacking(where, number, len(said))


def _replaced(where: str, got: int, want: int) -> SourceError:
    return SourceError(
        f"{where}: was replaced while in use (index {got:016x}, want {want:016x}); open it again"
    )


def looks_unfinished(where: str) -> bool:
    """Whether a conversion into this folder began and was not committed."""
    if os.path.exists(os.path.join(where, INDEX)):
        return False
    try:
        names = os.listdir(where)
    except OSError:
        return False
    return INDEX not in names and (
        SUM in names or any(name.startswith(TEMPORARY) for name in names)
    )
