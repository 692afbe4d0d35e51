"""Whether what an index of converted shards says of its rows can be so. Rows are gone over some at
a time, since there may be too many for memory.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fastload.sources import arrow, seek
from fastload.sources.extras import Extras
from fastload.spec import Array, Longs

SHARDS, SIDECARS, BESIDE = (
    "bytes outside the shard",
    "seek index outside the sidecar",
    "files beside the image outside the shard",
)


class RowChecks:
    """What is wrong with rows.

    Args:
        shards, sidecars: int64, the bytes of each; of sidecars nothing where there are none.
        classes: How many there are.
    """

    def __init__(self, shards: Longs, sidecars: Longs, classes: int) -> None:
        self.shards, self.sidecars, self.classes = shards, sidecars, classes
        self.rows, self.wrong_name = 0, ""
        self._wrong: dict[str, tuple[int, int]] = {}  # of each check: how many rows, the first

    def look(self, columns: Mapping[str, Array], extras: Extras | None) -> None:
        """Some rows, those behind all others so far: arrays [K]."""
        shard, offset, size, label, at, length = (
            columns[name]
            for name in ("shard", "offset", "size", "label", "index_offset", "index_size")
        )
        known = (shard >= 0) & (shard < len(self.shards))
        number = np.where(known, shard, 0)
        limit = self.sidecars[number] if len(self.sidecars) else np.zeros(len(shard), np.int64)
        self._count(SHARDS, known & arrow.inside(offset, size, self.shards[number]))
        self._count(SIDECARS, (length == 0) | within_sidecar(at, length, limit))
        self._count(f"label outside 0..{self.classes - 1}", (label >= 0) & (label < self.classes))
        if extras:
            self._count(BESIDE, extras.inside(self.shards[number]))
            self.wrong_name = self.wrong_name or extras.wrong_name()
        self.rows += len(shard)

    @property
    def wrong(self) -> bool:
        """Whether any row so far is."""
        return bool(self._wrong or self.wrong_name)

    def _count(self, what: str, good: NDArray[np.bool_]) -> None:
        if good.all():
            return
        count, first = self._wrong.get(what, (0, self.rows + int(np.argmin(good))))
        self._wrong[what] = (count + int(np.count_nonzero(~good)), first)

    def problems(self, path: str, remedy: str) -> list[str]:
        """Of all rows so far. path: of the index."""
        names = (
            [f"{path}: name of a file beside an image {self.wrong_name}; {remedy}"]
            if self.wrong_name
            else []
        )
        order = (SHARDS, SIDECARS, f"label outside 0..{self.classes - 1}", BESIDE)
        return names + [
            f"{path}: {what} in {self._wrong[what][0]} of {self.rows} rows (first: row "
            f"{self._wrong[what][1]}); {remedy}"
            for what in order
            if what in self._wrong
        ]


def within_sidecar(at: Longs, size: Longs, limit: Longs) -> NDArray[np.bool_]:
    """Which seek indexes lie in sidecars of `limit` bytes, behind the header."""
    return (at >= seek.HEADER.size) & arrow.inside(at, size, limit)
