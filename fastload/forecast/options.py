"""Choices side by side: which are on the Pareto front, and which reaches a target at least cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastload.forecast.bands import Range
from fastload.forecast.model import BUSY
from fastload.forecast.run import Run

HOUR = 3600.0


@dataclass(frozen=True)
class Option:
    """One choice. run: None where it cannot be run here; then `note` says why."""

    name: str
    run: Run | None = None
    top1: float | None = None  # published, 0..1; None: nobody published one
    source: str = ""  # of top1
    price: float | None = None  # per hour
    cores: Range | None = None  # that keep its GPUs busy; None: no number does, or not asked
    note: str = ""

    @property
    def hours(self) -> Range | None:
        return self.run.total.times(1 / HOUR) if self.run else None

    @property
    def cost(self) -> Range | None:
        """In the currency of the price."""
        hours = self.hours
        return hours.times(self.price) if hours and self.price is not None else None

    @property
    def spent(self) -> float | None:
        """What the cheapest has least of: money where there is a price, else hours."""
        spent = self.cost or self.hours
        return spent.value if spent else None


def front(options: Sequence[Option]) -> tuple[Option, ...]:
    """Those that no other one beats: it would spend no more for no less accuracy. Cheapest first.

    Options without a published accuracy are left out.
    """
    best: list[Option] = []
    known = [one for one in options if one.top1 is not None and one.spent is not None]
    for one in sorted(known, key=lambda each: (each.spent or 0, -(each.top1 or 0))):
        if not best or (one.top1 or 0) > (best[-1].top1 or 0):
            best.append(one)
    return tuple(best)


def cheapest(options: Sequence[Option], target: float | None) -> Option | None:
    """The one that spends least; of those whose published accuracy reaches the target, if one is
    given.
    """
    able = [
        one
        for one in options
        if one.spent is not None and (target is None or (one.top1 or 0) >= target)
    ]
    return min(able, key=lambda one: one.spent or 0, default=None)


def cheapest_busy(options: Sequence[Option]) -> Option | None:
    """The cheapest one that keeps its GPUs busy, by the estimate."""
    return cheapest([one for one in options if one.run and one.run.busy.value >= BUSY], None)
