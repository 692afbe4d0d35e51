"""Images in groups, of which each step of all ranks takes the next ones of one group.

The epoch's steps are those of all groups, mixed; a step is the next images of its group's own
order. Both orders are pure functions of (seed, epoch) and of how many images all ranks take in a
step. So every rank finds the same steps, and any step can be the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch.utils.data

from fastload import rng
from fastload.order.blocks import STEP
from fastload.order.leftovers import Moves
from fastload.spec import Array, Longs, Tokens


class Share(NamedTuple):
    """One rank's share of a step."""

    group: int
    samples: Longs  # int64 [N]
    occurrences: Longs  # int64 [N]: 1 and more of an image that fills a last step up


class Sized(NamedTuple):
    """One rank's share of a step, whose images have a size, or as many patches as `tokens` says."""

    samples: Longs  # int64 [N]
    occurrences: Longs  # int64 [N], as in Share
    size: tuple[int, int] | None = None  # height and width, px
    tokens: Tokens | None = None


class How(NamedTuple):
    """What the order depends on besides the groups and the epoch."""

    shuffle: bool
    seed: int
    drop_last: bool
    num_replicas: int
    rank: int


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of an epoch.

    Args:
        count: int64 [K], images of each.
        members: [N], the images' numbers, group by group.
        together: int64 [K], images of all ranks in one step of each.
        how: The rest.
        moves: With drop_last: where what fills no step goes; None: it is left out.
    """

    count: Longs
    members: Array
    together: Longs
    how: How
    moves: Moves | None = None

    @property
    def total(self) -> Longs:
        """int64 [K]: images of each, with those that come from other groups."""
        return self.count if self.moves is None else self.moves.total

    @cached_property
    def steps(self) -> Longs:
        """int64 [K]: of each group in an epoch."""
        if self.how.drop_last:
            return self.total // self.together
        return -(-self.count // self.together)

    def __len__(self) -> int:
        return int(self.steps.sum())

    @property
    def left_out(self) -> int:
        """Images that an epoch leaves out."""
        if self.moves is not None:
            return int(self.moves.out.sum())
        return int((self.count % self.together).sum()) if self.how.drop_last else 0

    @cached_property
    def _first(self) -> Longs:
        return np.cumsum(self.count) - self.count

    def shares(self, epoch: int, first: int = 0) -> Iterator[Share]:
        """This rank's share of the epoch's steps, from number `first` on."""
        group, number = self._order(epoch)
        came = self._came(epoch)
        for step in range(first, len(group)):
            yield self._share(int(group[step]), int(number[step]), epoch, came)

    def _order(self, epoch: int) -> tuple[Array, Longs]:
        """Of each step its group, and its number among these: mixed, those of one group stay in
        their order.
        """
        count, how = len(self), self.how
        group = np.repeat(np.arange(len(self.count), dtype=np.int16), self.steps)
        if how.shuffle and count:
            group = group[rng.permute(np.arange(count), count, how.seed, epoch)]
        number, starts = np.empty(count, np.int64), np.cumsum(self.steps) - self.steps
        by_group = np.argsort(group, kind="stable")
        number[by_group] = np.arange(count) - np.repeat(starts, self.steps)
        return group, number

    def _came(self, epoch: int) -> dict[int, Longs]:
        """Samples that come to groups from others: the last ones of those groups' own order."""
        came: dict[int, Longs] = {}
        if (moves := self.moves) is None:
            return came
        for group in moves.order:
            to, total = int(moves.to[group]), int(moves.total[group])
            if to >= 0:
                last = np.arange(total - int(moves.left[group]), total)
                came[to] = self._samples(group, last, epoch, came)
        return came

    def _share(self, group: int, number: int, epoch: int, came: dict[int, Longs]) -> Share:
        count, together = int(self.total[group]), int(self.together[group])
        start, world = number * together, self.how.num_replicas
        mine = -(-(min(start + together, count) - start) // world)
        positions = start + self.how.rank + world * np.arange(mine)
        occurrences, places = np.divmod(positions, count)  # beyond the end: its first ones again
        return Share(group, self._samples(group, places, epoch, came), occurrences)

    def _samples(self, group: int, places: Longs, epoch: int, came: dict[int, Longs]) -> Longs:
        """The samples at these places of the group's order."""
        own = int(self.count[group])
        if self.how.shuffle:
            key = (self.how.seed + (group + 1) * STEP) % (1 << 64)
            places = rng.permute(places, int(self.total[group]), key, epoch)
        first = int(self._first[group])
        if group not in came:
            return self.members[first + places].astype(np.int64)
        samples = np.empty(len(places), np.int64)
        mine = places < own
        samples[mine] = self.members[first + places[mine]]
        samples[~mine] = came[group][places[~mine] - own]
        return samples


def grouped(of: Array, together: Longs, how: How, moves: Moves | None = None) -> Groups:
    """of: int16 [N], which group each image is in."""
    count = np.bincount(of, minlength=len(together)).astype(np.int64)
    small = np.int32 if len(of) < 1 << 31 else np.int64
    return Groups(count, np.argsort(of, kind="stable").astype(small), together, how, moves)


class GroupSampler(torch.utils.data.Sampler[list[int]]):
    """What samplers of groups have in common. Without `set_epoch` each iteration is one epoch
    further.
    """

    def __init__(self, how: How) -> None:
        self.shuffle, self.seed, self.drop_last = how.shuffle, how.seed, how.drop_last
        self.num_replicas, self.rank = how.num_replicas, how.rank
        self.how, self.epoch = how, -1

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from 0. Raises UsageError."""
        self.epoch = rng.checked_epoch(f"{type(self).__name__}.set_epoch", epoch) - 1


def whole(value: object) -> bool:
    """Whether it is a whole number from 1 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
