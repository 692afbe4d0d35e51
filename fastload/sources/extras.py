"""Files that belong to samples beside their images: where they lie in the shards."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.files.names import Suffix, shown, suffix_problem
from fastload.sources import arrow
from fastload.spec import Longs

COLUMN = "extras"


class _Placed(NamedTuple):
    name: str  # extension: "mask.png", "json"; a Suffix
    offset: int  # first byte in the shard
    size: int  # bytes; may be 0
    checksum: int  # XXH3-64


class Placed(_Placed):
    """One of a sample's files. Raises NameRefusedError for a name that may not follow a key."""

    __slots__ = ()

    # - Self needs Python 3.11
    def __new__(cls, name: str, offset: int, size: int, checksum: int) -> "Placed":  # noqa: PYI034
        return super().__new__(cls, Suffix(name), offset, size, checksum)


def extras_field(pa: ModuleType) -> Any:
    """The column of the index."""
    fields = [
        ("name", pa.string()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("checksum", pa.uint64()),
    ]
    item = pa.struct([pa.field(name, kind, nullable=False) for name, kind in fields])
    return pa.field(COLUMN, pa.list_(pa.field("item", item, nullable=False)), nullable=False)


class Places(NamedTuple):
    """Where the files of all samples lie, those of a sample after each other: arrays [F]."""

    first: Longs  # [N + 1]: where each sample's begin among them, and F
    offset: Longs  # bytes
    size: Longs  # bytes
    checksum: NDArray[np.uint64]

    def hull(self, begin: Longs, end: Longs) -> tuple[Longs, Longs]:
        """int64 [N] each: what bytes from `begin` to `end` become with each sample's files."""
        owner = np.repeat(np.arange(len(begin)), np.diff(self.first))
        begin, end = begin.copy(), end.copy()
        np.minimum.at(begin, owner, self.offset)
        np.maximum.at(end, owner, self.offset + self.size)
        return begin, end

    def of(self, samples: Longs) -> Longs:
        """Numbers of these samples' files, sample by sample."""
        begin, count = self.first[samples], np.diff(self.first)[samples]
        before = np.cumsum(count) - count
        return np.repeat(begin - before, count) + np.arange(int(count.sum()))


class Extras:
    """The column, batch by batch."""

    def __init__(self, batches: Sequence[Any]) -> None:
        self.batches = batches

    def __getitem__(self, row: int) -> tuple[Placed, ...]:
        items = self.batches[row // arrow.BATCH].column(COLUMN)[row % arrow.BATCH].as_py()
        return tuple(Placed(**each) for each in items)

    def wrong_name(self) -> str:
        """A name that may not follow a key, and why; nothing where there is none."""
        pa = arrow.import_arrow(COLUMN)
        import pyarrow.compute as pc

        names = pa.chunked_array(
            [batch.column(COLUMN).flatten().field("name") for batch in self.batches]
        )
        problems = ((name, suffix_problem(name)) for name in pc.unique(names).to_pylist())
        return next((f"{shown(name)} {wrong}" for name, wrong in problems if wrong), "")

    def names(self) -> list[str]:
        """Of all samples' files, each once, in their order."""
        found: dict[str, None] = {}
        for batch in self.batches:
            items = batch.column(COLUMN).flatten().field("name").unique().to_pylist()
            found |= dict.fromkeys(items)
        return list(found)

    def named(self, name: str) -> tuple[Longs, Longs, NDArray[np.uint64]]:
        """Offset, size and checksum of each sample's file of this name: arrays [N]; size -1: it
        has none.
        """
        pa = arrow.import_arrow(COLUMN)
        import pyarrow.compute as pc

        counts, fits = self._counts(), []
        for batch in self.batches:
            names = batch.column(COLUMN).flatten().field("name")
            fits.append(pc.equal(names, pa.scalar(name)).to_numpy(zero_copy_only=False))
        mine = np.concatenate(fits)
        row = np.repeat(np.arange(len(counts)), counts)[mine]
        offset, size = np.zeros(len(counts), np.int64), np.full(len(counts), -1, np.int64)
        checksum = np.zeros(len(counts), np.uint64)
        offset[row], size[row] = self._numbers("offset")[mine], self._numbers("size")[mine]
        checksum[row] = self._checksums()[mine]
        return offset, size, checksum

    def places(self) -> Places:
        first = np.concatenate([[0], np.cumsum(self._counts())]).astype(np.int64)
        return Places(first, self._numbers("offset"), self._numbers("size"), self._checksums())

    def sizes(self) -> Longs:
        """int64 [N]: bytes of each sample's files."""
        counts, size = self._counts(), self._numbers("size")
        owner = np.repeat(np.arange(len(counts)), counts)
        return np.bincount(owner, size, len(counts)).astype(np.int64)

    def inside(self, limit: Longs) -> NDArray[np.bool_]:
        """bool [N]: whether all files of a sample lie in its shard, which has limit [N] bytes."""
        counts = self._counts()
        owner = np.repeat(np.arange(len(counts)), counts)
        offset, size = self._numbers("offset"), self._numbers("size")
        # An empty file takes no byte; its place must be there all the same.
        good = (size >= 0) & arrow.inside(offset, np.maximum(size, 1), limit[owner])
        fits: NDArray[np.bool_] = np.bincount(owner, ~good, len(counts)) == 0
        return fits

    def _counts(self) -> Longs:
        return np.concatenate(
            [batch.column(COLUMN).value_lengths().to_numpy() for batch in self.batches]
        ).astype(np.int64)

    def _numbers(self, name: str) -> Longs:
        return np.concatenate(
            [batch.column(COLUMN).flatten().field(name).to_numpy() for batch in self.batches]
        ).astype(np.int64)

    def _checksums(self) -> NDArray[np.uint64]:
        return np.concatenate(
            [batch.column(COLUMN).flatten().field("checksum").to_numpy() for batch in self.batches]
        )
