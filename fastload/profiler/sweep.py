"""The loader alone with 1, 2, 4, … workers, up to one per core: what more workers gain."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from fastload.measure import Sample, interleaved
from fastload.profiler.batches import Feed, alone
from fastload.profiler.ladder import Budget

REPLICATES = 3
SHORTER = 0.5  # of a rung's replicate
SATURATED = 0.95  # of the best rate: more workers than the fewest that reach it gain nothing


@dataclass(frozen=True)
class AtWorkers:
    """Images/s of the loader alone with so many workers."""

    workers: int
    loader: Sample


def counts(cores: int, now: int | None = None) -> tuple[int, ...]:
    """Numbers to try: powers of two below `cores`, `cores`, and what is used now; ascending."""
    powers = {1 << power for power in range(cores.bit_length()) if 1 << power < cores}
    return tuple(sorted(powers | {cores} | ({now} if now else set())))


def measure(
    numbers: tuple[int, ...],
    make: Callable[[int], Iterable[object]],
    budget: Budget,
    on_done: Callable[[], None],
) -> tuple[AtWorkers, ...]:
    """The loader's rate with each number of workers. make: gives a new loader.

    Each loader is stopped before the next one runs. They take turns, so that a machine whose speed
    drifts treats all alike.
    """

    def once(workers: int) -> float:
        return alone(Feed(make(workers)), SHORTER * budget.run)

    rates = interleaved(
        {str(workers): partial(once, workers) for workers in numbers}, REPLICATES, on_done
    )
    return tuple(AtWorkers(workers, rates[str(workers)]) for workers in numbers)


def enough(tried: tuple[AtWorkers, ...]) -> AtWorkers:
    """The fewest workers that give about as much as the best number does."""
    best = max(at.loader.median for at in tried)
    return next(at for at in tried if at.loader.median >= SATURATED * best)
