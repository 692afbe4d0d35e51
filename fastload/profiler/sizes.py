"""A size schedule, size by size.

Training that the GPU limits at full size can be limited by the data path at a small size.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from fastload.measure import Sample, interleaved
from fastload.profiler.batches import Feed, alone
from fastload.profiler.ladder import Budget

MOST = 4  # sizes that are measured: the smallest, the largest, and some between
REPLICATES = 3
SHORTER = 0.5  # of a rung's replicate


@dataclass(frozen=True)
class AtSize:
    """One size of a schedule; rates in images/s."""

    size: int  # px
    # Of the epochs that have this size, or one nearer to it than to the other measured ones
    share: float
    loader: Sample  # alone
    step: float  # alone; measured, or of an emulated step computed from its rate at full size

    @property
    def training(self) -> float:
        """At best: what the slower of the two allows."""
        return min(self.step, self.loader.median)

    @property
    def stall(self) -> float:
        """Share of the time in which the GPU waits, at best."""
        return 1 - self.training / self.step


def chosen(epochs: Sequence[int], most: int = MOST) -> dict[int, float]:
    """Sizes to measure and their shares of the epochs, from each epoch's size in px; ascending.

    most: sizes; 2 or more always hold the smallest and the largest.
    """
    sizes = sorted(set(epochs))
    count = min(most, len(sizes))
    picks = [sizes[round(index * (len(sizes) - 1) / max(1, count - 1))] for index in range(count)]
    nearest = Counter(min(picks, key=lambda pick: abs(pick - size)) for size in epochs)
    return {pick: nearest[pick] / len(epochs) for pick in picks}


def stall(sizes: Sequence[AtSize]) -> float:
    """Share of the whole training's time in which the GPU waits, at best.

    Every epoch has the same number of images.
    """
    busy = sum(at.share / at.step for at in sizes)
    return 1 - busy / sum(at.share / at.training for at in sizes)


def measure(
    shares: dict[int, float],
    make: Callable[[int], Iterable[object]],
    step_rate: Callable[[int, object], float],
    budget: Budget,
    on_done: Callable[[], None],
) -> tuple[AtSize, ...]:
    """Loaders of each size take turns.

    make: a new loader of a size; step_rate: the step's images/s at a size, given a batch.
    """
    feeds = {size: Feed(make(size)) for size in shares}
    steps = {size: step_rate(size, feed.take()) for size, feed in feeds.items()}
    turns = {str(size): partial(alone, feed, SHORTER * budget.run) for size, feed in feeds.items()}
    rates = interleaved(turns, REPLICATES, on_done)
    return tuple(
        AtSize(size, share, rates[str(size)], steps[size]) for size, share in shares.items()
    )
