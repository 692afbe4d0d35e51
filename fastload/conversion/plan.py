"""Which sample goes into which shard: known before a byte is read, so the result does not depend on
who does what when.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload import rng
from fastload.conversion import seek_writer, tar
from fastload.conversion.readers.base import LARGEST
from fastload.spec import Longs

INDEX_ROW = 128  # bytes of the index per sample, beside the key; rounded up
INDEX_BASE = 1 << 16  # bytes of the index whatever the number of samples; rounded up


@dataclass(frozen=True, eq=False)
class Plan:
    """Shard number i holds the samples order[cuts[i]:cuts[i + 1]]."""

    order: Longs  # [N]
    cuts: Longs  # [shards + 1]
    capacity: Longs  # [shards]: bytes of the tar, at most
    index_bytes: int  # at most
    seek_bytes: int  # of the sidecars; ample, but an estimate

    @property
    def shards(self) -> int:
        return len(self.capacity)

    @property
    def bytes(self) -> int:
        """What the data set takes on disk, at most."""
        return (
            int(self.capacity.sum())
            + self.index_bytes
            + self.seek_bytes
            + self.shards * len(tar.END)
        )

    def samples(self, shard: int) -> Longs:
        return self.order[self.cuts[shard] : self.cuts[shard + 1]]


def make(
    keys: Sequence[str],
    sizes: Longs,
    shard_bytes: int,
    seed: int | None,
    seek_step: int | None = None,
) -> Plan:
    """Cut the samples, in their order or shuffled with `seed`, into shards of at most shard_bytes
    (a larger sample is alone).
    """
    count = len(keys)
    order = np.arange(count)
    if seed is not None:
        order = rng.permute(order, count, seed, 0)
    key_bytes = np.fromiter((len(key.encode()) for key in keys), np.int64, count)
    each = np.fromiter(
        map(tar.most, key_bytes.tolist(), np.clip(sizes, 0, LARGEST).tolist()), np.int64, count
    )[order]
    ends = np.cumsum(each)
    cuts = [0]
    while cuts[-1] < count:
        done = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cut = int(np.searchsorted(ends, done + shard_bytes, side="right"))
        cuts.append(max(cut, cuts[-1] + 1))
    capacity = np.diff(ends[np.array(cuts[1:]) - 1], prepend=0)
    index_bytes = INDEX_BASE + INDEX_ROW * count + int(key_bytes.sum())
    return Plan(
        order,
        np.array(cuts, np.int64),
        capacity,
        index_bytes,
        seek_writer.expected(sizes, seek_step),
    )
