"""An order for data that do not fit where they can be read at random: blocks, mixed inside.

Groups of neighbouring samples (some MiB) are permuted. They follow each other in blocks, and inside
a block the samples are permuted. A block is as large as the window. The first ones are smaller, so
that the first batch needs few groups: each is twice as large as the one before.

The order is a pure function of seed and epoch, and of nothing that a machine has. So it is the same
for any number of workers and ranks, and any position can be asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastload import rng
from fastload.sources import Source
from fastload.sources.base import remote
from fastload.spec import Longs

FIRST = 16 << 20  # bytes of the first block
STEP = 0x9E3779B97F4A7C15  # between the seeds of blocks: 2^64 by the golden ratio
SHARE = 2  # of what is fetched ahead: the window, so that the next block comes in time


class _Epoch(NamedTuple):
    key: tuple[int, int]  # seed and epoch
    groups: Longs  # [G], in their order
    ends: Longs  # [G]: samples in these groups and those before
    blocks: Longs  # [B + 1]: the first group of each block, and G


@dataclass(eq=False)
class Blocks:
    """The order of a data set's groups.

    Args:
        first: int64 [G + 1]: the first sample of each group, in the store's order; and all.
        weights: int64 [G]: bytes of each group.
        window: Bytes of a block.
        samples: From positions in the store's order to numbers of samples.
    """

    first: Longs
    weights: Longs
    window: int
    samples: Callable[[Longs], Longs]
    _last: _Epoch | None = field(default=None, repr=False)

    def at(self, positions: Longs, seed: int, epoch: int) -> Longs:
        """int64 [K]: the samples at these positions of the epoch's order."""
        now = self._of(seed, epoch)
        group = np.searchsorted(now.ends, positions, side="right")
        block = np.searchsorted(now.blocks, group, side="right") - 1
        out = np.empty_like(positions)
        for one in np.unique(block).tolist():
            begin = self._start(now, int(now.blocks[one]))
            end = self._start(now, int(now.blocks[one + 1]))
            here = block == one
            inner = rng.permute(
                positions[here] - begin, end - begin, (seed + (one + 1) * STEP) % (1 << 64), epoch
            )
            out[here] = self._placed(now, begin + inner)
        return self.samples(out)

    def _of(self, seed: int, epoch: int) -> _Epoch:
        last, key = self._last, (seed, epoch)
        if last is not None and last.key == key:
            return last
        count = len(self.weights)
        groups = rng.permute(np.arange(count), count, seed, epoch)
        ends = np.cumsum(np.diff(self.first)[groups])
        self._last = now = _Epoch(key, groups, ends, _cut(self.weights[groups], self.window))
        return now

    def _start(self, now: _Epoch, group: int) -> int:
        """The position where a group of the order begins."""
        return int(now.ends[group - 1]) if group else 0

    def _placed(self, now: _Epoch, positions: Longs) -> Longs:
        """Where the samples at these positions of the permuted groups lie in the store's order."""
        group = np.searchsorted(now.ends, positions, side="right")
        begins = np.where(group > 0, now.ends[group - 1], 0)
        placed: Longs = self.first[now.groups[group]] + positions - begins
        return placed


def _cut(weights: Longs, window: int) -> Longs:
    """int64 [B + 1]: where blocks begin among groups of these bytes; and how many groups."""
    starts, size, filled = [0], min(FIRST, window), 0
    for group, weight in enumerate(weights.tolist()):
        if filled >= size:
            starts.append(group)
            size, filled = min(2 * size, window), 0
        filled += weight
    return np.array([*starts, len(weights)], np.int64)


def of_data(data: object, window: int | None) -> Blocks | None:
    """The blocks of a data set that `fastload.open` gives.

    window: bytes; 0: none are wanted; None: where the cache cannot hold all of it. None: there are
        none, and samples can be read in any order.
    """
    source: Source | None = getattr(getattr(data, "pipeline", None), "source", None)
    far = None if source is None else remote(source)
    if far is None:
        return None
    if window is None:
        window = 0 if far.access.fits else far.access.ahead_bytes // SHARE
    order = far.order() if window else None
    return (
        Blocks(order.first, far.access.layout.weights(), window, order.samples) if order else None
    )
