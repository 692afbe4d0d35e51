"""What fills no step of its group moves to the group of the next longer rows.

So only the longest rows leave images out, and groups whose images would pad too much there. How
many images move follows from how many each group has; which ones, from the epoch's order.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from fastload.spec import Longs


@dataclass(frozen=True, eq=False)
class Moves:
    """Where the leftovers of each group go.

    Args:
        order: The groups that have images, by the length of their rows.
        to: int64 [K], the group that each one's leftovers move to; -1: they are left out.
        total: int64 [K], images of each group, with those that come to it and those that go on.
        left: int64 [K], images of each group that fill no step of it.
        cost: Tokens of padding that come of it, at most.
    """

    order: tuple[int, ...]
    to: Longs
    total: Longs
    left: Longs
    cost: int = 0

    @property
    def out(self) -> Longs:
        """int64 [K]: images of each group that are left out."""
        return np.where(self.to < 0, self.left, 0)


def planned(count: Longs, together: Longs, rows: Longs, free: float, padding: float) -> Moves:
    """Moves after which no more than the share `padding` of all tokens is padding.

    Args:
        count: int64 [K], images of each group.
        together: int64 [K], images of all ranks in one step of each.
        rows: int64 [K], tokens of each one's rows.
        free: By how many tokens all images together have less padding than `padding` allows.
        padding: The share. No image has more of it where it is.
    """
    budget, unmoved = free, _within(-1.0, count, together, rows)
    while budget >= 1:
        moves = _within(budget, count, together, rows)
        # An image that is left out takes what it has free away: of its row's tokens, the share.
        if moves.cost + padding * float((moves.out * rows).sum()) <= free:
            return moves
        budget /= 2
    return unmoved


def _within(budget: float, count: Longs, together: Longs, rows: Longs) -> Moves:
    """Moves that cost so many tokens at most."""
    order = tuple(one for one in np.argsort(rows, kind="stable").tolist() if count[one])
    to, total = np.full(len(count), -1, np.int64), count.copy()
    moves = Moves(order, to, total, np.zeros_like(count))
    cost = 0
    for group, longer in itertools.pairwise(order):
        left = int(total[group] % together[group])
        more = left * int(rows[longer] - rows[group])
        if cost + more <= budget:
            to[group], cost = longer, cost + more
            total[longer] += left
    moves.left[:] = total % together
    return replace(moves, cost=cost)
