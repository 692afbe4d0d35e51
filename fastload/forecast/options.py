"""Choices side by side: which are on the Pareto front, and which reaches a target at least cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fastload.forecast.bands import Range
from fastload.forecast.model import BUSY
from fastload.forecast.run import Run

HOUR = 3600.0
MONTH = 730.5  # hours
TB = 1e12


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
    stored: float | None = None  # bytes that lie on disk; None: not asked
    price_disk: float | None = None  # of a TB for a month

    @property
    def hours(self) -> Range | None:
        return self.run.total.times(1 / HOUR) if self.run else None

    @property
    def cost(self) -> Range | None:
        """In the currency of the price."""
        hours = self.hours
        return hours.times(self.price) if hours and self.price is not None else None

    @property
    def disk_cost(self) -> Range | None:
        """What its bytes cost while the run lasts."""
        hours = self.hours
        if hours is None or self.stored is None or self.price_disk is None:
            return None
        return hours.times(self.stored / TB / MONTH * self.price_disk)

    @property
    def spent(self) -> float | None:
        """What the cheapest has least of: money where there is a price, else hours."""
        cost, disk, hours = self.cost, self.disk_cost, self.hours
        if cost is not None:
            return cost.value + (disk.value if disk else 0.0)
        return hours.value if hours else None


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


def pays_below(one: Option, now: Option) -> float | None:
    """The price of a TB for a month up to which a format costs less than the data as they are: it
    takes less time, and may take more disk. Infinite: any. None: it saves nothing, or the machine's
    price is not known.
    """
    if one.stored is None or now.stored is None or one.cost is None or now.cost is None:
        return None
    assert one.hours is not None
    assert now.hours is not None
    saved = now.cost.value - one.cost.value
    more = (one.stored * one.hours.value - now.stored * now.hours.value) / TB / MONTH
    if saved <= 0:
        return None
    return saved / more if more > 0 else math.inf
