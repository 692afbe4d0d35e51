"""Converted data sets: WebDataset tar shards and one Arrow index. docs/formats.md describes the
format.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import arrow, fields
from fastload.sources.base import Location, Seek, open_files
from fastload.sources.fields import Field
from fastload.sources.shard_index import INDEX, SUM, Index, read_index
from fastload.spec import Ints, Longs
from fastload.system import limits

TEMPORARY = ".fastload-"  # how names start that a conversion has not committed


@dataclass(frozen=True, eq=False)
class ShardSource:
    """Samples in shards.

    A `Source`; pickling keeps the path only, and the other process opens it again.
    """

    where: str
    index: Index
    fields: tuple[Field, ...] = field(default=(), kw_only=True)

    def __len__(self) -> int:
        return len(self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [field.name for field in self.fields]
        return reopen, (self.where, self.index.checksum, names)

    @property
    def classes(self) -> tuple[str, ...]:
        return self.index.classes

    @cached_property
    def labels(self) -> Longs:
        return self.index.columns["label"].all()

    @cached_property
    def files(self) -> _native.Files:
        return open_files([os.path.join(self.where, shard.name) for shard in self.index.shards])

    @cached_property
    def _sidecars(self) -> tuple[_native.Files, NDArray[np.bool_]] | None:
        """The sidecars and which of them can be used; None without any.

        A missing one only makes loading slower.
        """
        usable = np.array([not problem for problem in self.index.sidecar_problems()], np.bool_)
        paths = [os.path.join(self.where, sidecar.name) for sidecar in self.index.sidecars]
        return (open_files(paths), usable) if usable.any() else None

    def locate(self, samples: Longs) -> Location:
        rows, columns = arrow.in_batches(samples, len(self)), self.index.columns
        shard, offset, size, checksum = (
            columns[name].at(rows) for name in ("shard", "offset", "size", "checksum")
        )
        file = shard.astype(np.int64)
        return Location(
            file, offset, size, checksum, self._seek(rows, file, limits.longest_index(size))
        )

    def _seek(self, rows: arrow.Rows, file: Longs, most: Longs) -> Seek | None:
        if self._sidecars is None:
            return None
        files, usable = self._sidecars
        offset, size = (
            self.index.columns[name].at(rows) for name in ("index_offset", "index_size")
        )
        return Seek(files, file, offset, np.where(usable[file] & (size <= most), size, 0))

    def sizes(self, samples: Longs) -> Ints:
        """int32 [N, 2]: heights and widths, px, as the index says."""
        rows, columns = arrow.in_batches(samples, len(self)), self.index.columns
        return np.stack([columns["height"].at(rows), columns["width"].at(rows)], axis=1)

    def most_pixels(self) -> int:
        """Of the largest image, as the index says."""
        return int(
            (
                self.index.columns["height"].all().astype(np.int64)
                * self.index.columns["width"].all()
            ).max()
        )

    def name(self, sample: int) -> str:
        shard = self.index.shards[int(self.index.columns["shard"][np.array([sample])][0])]
        return f"{os.path.join(self.where, shard.name)}:{self.index.key(sample)}"


def load(where: str) -> ShardSource:
    """The data set in the folder `where`. Raises SourceError with every problem found."""
    if looks_unfinished(where):
        raise SourceError(
            f"{where}: shards without {INDEX}, so a conversion did not finish; run fastload "
            "convert again"
        )
    index = read_index(where)
    if problems := index.row_problems() + index.file_problems():
        raise SourceError("\n".join(problems))
    return ShardSource(where, index)


def with_fields(source: ShardSource, names: Sequence[str]) -> ShardSource:
    """The same data set, with these of the files beside its images. Raises SourceError."""
    extras, found = source.index.extras, []
    for name in names:
        if extras is None or name not in (has := extras.names()):
            raise fields.lacking(source.where, name, [] if extras is None else has)
        offset, size, checksum = extras.named(name)
        if (size < 0).any():
            lacking, first = int(np.count_nonzero(size < 0)), source.name(int(np.argmax(size < 0)))
            raise fields.incomplete(source.where, name, lacking, len(size), first)
        kind = fields.of_suffix(name)
        found.append(Field(name, kind, offset, size, checksum))
    return replace(source, fields=tuple(found))


def reopen(where: str, checksum: int, names: Sequence[str] = ()) -> ShardSource:
    """`load` in another process; raises SourceError if the data set was replaced meanwhile."""
    source = load(where)
    if source.index.checksum != checksum:
        raise SourceError(
            f"{where}: was replaced while in use (index {source.index.checksum:016x}, want "
            f"{checksum:016x}); open it again"
        )
    return with_fields(source, names)


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
