"""The order of a mix of data sets.

An epoch is a number of draws. Of each part it has exactly as many as the weights say, and they are
spread evenly: the epoch is cut into blocks, and in front of each block every part was drawn in
proportion, to less than one draw. Inside a block the parts are permuted.

The draws of a part go through its samples, pass after pass, each by a permutation of its own; the
next epoch goes on where this one ends. So a small part comes again only when all of it was seen,
and a large one is seen whole over many epochs.

All of it is a pure function of seed, epoch and position: nothing is to be saved but where the epoch
is, and any number of ranks and any batch size read the same order.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fastload import _native, rng
from fastload.attach.looking import asked
from fastload.errors import SHOWN
from fastload.sources.mixed import Mixed, Recipe, edges
from fastload.spec import OCCURRENCES, Longs

LEAST, MOST = 1 << 10, 1 << 20  # draws in a block
MOST_DRAWS = 1 << 36  # in an epoch: times the number of its blocks they fit into 64 bits
STEP = 0x9E3779B97F4A7C15  # between the seeds of blocks and of parts: 2^64 by the golden ratio
PARTS = 0xD1B54A32D192ED03  # of the parts' own permutations, apart from those of blocks
BLOCKS_KEPT = 64  # that a batch of many ranks may touch


class _Block(NamedTuple):
    """Draws whose parts are permuted: arrays [draws]."""

    part: Longs
    before: Longs  # how often this part was drawn before in the epoch


class Mixture:
    """The order of a mix; see above.

    Args:
        mixed: The parts and their weights.
    """

    def __init__(self, mixed: Mixed) -> None:
        self.mixed, self.recipe, self.starts = mixed, mixed.recipe, mixed.starts
        self.length = mixed.recipe.length
        self._block = lru_cache(BLOCKS_KEPT)(self._make_block)
        self._before = lru_cache(2)(self.recipe.before)

    def __reduce__(self) -> tuple[object, ...]:
        return Mixture, (self.mixed,)

    def at(self, positions: Longs, seed: int, epoch: int) -> tuple[Longs, Longs]:
        """Samples and occurrences at these positions of the epoch: int64 [K] each.

        An occurrence is the pass over the part, from the first one in this epoch: a sample comes
        once in a pass.
        """
        part, nth = self._drawn(positions, seed, epoch)
        samples, occurrences = np.empty_like(part), np.empty_like(part)
        before = self._before(epoch)
        for one in np.unique(part).tolist():
            here = part == one
            size = int(self.starts[one + 1] - self.starts[one])
            number, within = np.divmod(nth[here] + before[one], size)
            own = (seed + PARTS + (one + 1) * STEP) % (1 << 64)
            chosen = np.empty_like(within)
            for turn in np.unique(number).tolist():
                now = number == turn
                key = (own + (turn >> 32)) % (1 << 64)
                chosen[now] = rng.permute(within[now], size, key, turn % (1 << 32))
            samples[here] = self.starts[one] + chosen
            occurrences[here] = (number - before[one] // size) % OCCURRENCES
        return samples, occurrences

    def _drawn(self, positions: Longs, seed: int, epoch: int) -> tuple[Longs, Longs]:
        """The part of each position, and how often it was drawn before in this epoch."""
        part, nth = np.empty_like(positions), np.empty_like(positions)
        done = np.zeros(len(self.recipe.names), np.int64)
        for first, draws, counts in self.recipe.segments(epoch):
            here = (positions >= first) & (positions < first + draws)
            inside, blocks = positions[here] - first, block_count(draws, counts)
            block = ((inside + 1) * blocks - 1) // draws
            parts, earlier = np.empty_like(inside), np.empty_like(inside)
            for one in np.unique(block).tolist():
                found = self._block(seed, epoch, first, one, draws, counts)
                mine = block == one
                at = inside[mine] - one * draws // blocks
                parts[mine], earlier[mine] = found.part[at], found.before[at]
            part[here], nth[here] = parts, earlier + done[parts]
            done = done + np.array(counts)
        return part, nth

    def _make_block(
        self, seed: int, epoch: int, first: int, number: int, draws: int, counts: tuple[int, ...]
    ) -> _Block:
        blocks = block_count(draws, counts)
        begin, end = number * draws // blocks, (number + 1) * draws // blocks
        before, after = edges(counts, begin, draws), edges(counts, end, draws)
        own = np.array(after) - np.array(before)
        sorted_parts = np.repeat(np.arange(len(own)), own)
        key = (seed + (first + number + 1) * STEP) % (1 << 64)
        part = sorted_parts[rng.permute(np.arange(end - begin), end - begin, key, epoch)]
        # Of each part's draws in the block, which one this is
        order = np.argsort(part.astype(np.uint16), kind="stable")  # a radix sort
        rank = np.empty_like(part)
        rank[order] = np.arange(len(part)) - np.repeat(np.cumsum(own) - own, own)
        return _Block(part, rank + np.array(before)[part])


def block_count(draws: int, counts: tuple[int, ...]) -> int:
    """Blocks so long that each has a draw of every part: with shorter ones, rounding might take
    one back.
    """
    fewest = min(count for count in counts if count)
    return max(1, draws // max(LEAST, -(-draws // fewest)))


def of_data(data: object) -> Mixture | None:
    """The order of a data set that `fastload.mix` gives; None of others, whose own code may do
    anything, and does not run.
    """
    try:
        own = object.__getattribute__(data, "__dict__")
    except AttributeError:
        return None
    source = asked(own.get("pipeline"), "source", Mixed)
    return None if source is None else Mixture(source)


def describe(recipe: Recipe) -> str:
    """Its parts and how often each is drawn, in one line."""
    counts = recipe.phases[0].counts(recipe.length)
    parts = [
        f"{name} {n / recipe.length:.2%}" for name, n in zip(recipe.names, counts, strict=True)
    ]
    rest = len(parts) - SHOWN
    shown = [*parts[:SHOWN], f"{rest} more"] if rest > 0 else parts
    later = [f"{phase.first:,}" for phase in recipe.phases[1:]]
    changes = f"; other weights from draw {', '.join(later[:SHOWN])}" if later else ""
    return f"{', '.join(shown)} of {recipe.length:,} draws in an epoch{changes}"


def fingerprint(recipe: Recipe) -> int:
    """Another one where another recipe makes another order."""
    said = [(phase.first, [str(weight) for weight in phase.weights]) for phase in recipe.phases]
    return int(_native.xxh3(repr((recipe.length, said)).encode()))
