"""A training under way beside its plan: how far it is, how long it still takes, what it costs.

The plan's seconds are the scale of the way. What a planned second takes in truth is measured, for
each size of images apart: a machine may be slower than planned at small images only.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from fastload.measure import quantile
from fastload.metrics import words
from fastload.metrics.planned import Between, Plan

WINDOW = 5.0  # s of a window, in which a planned second is compared with a true one
FEWEST = 4  # windows, from which on the measurement counts and no longer the plan
LEAST = 0.02  # half the width of the narrowest interval, as a share


@dataclass(frozen=True)
class Standing:
    """Where a run is. Times and costs are those since this program began to look."""

    epoch: int  # from 0
    epochs: int
    done: float  # share of the planned time of the whole run
    seconds: float  # that the training has taken
    planned: float  # s that the same stretch was to take
    left: Between  # s; pauses between epochs are in it
    cost: float | None  # so far, pauses included; None: the plan has no price
    whole_cost: Between | None  # at the end

    def __str__(self) -> str:
        if not self.left.value:
            cost = "" if self.cost is None else f"; cost {words.number(self.cost)}"
            took = f"{words.time(self.seconds)}, planned {words.time(self.planned)}{cost}"
            return f"all {self.epochs} epochs are done; {took}"
        left = words.between(self.left.low, self.left.high)
        out = (
            f"epoch {min(self.epoch + 1, self.epochs)} of {self.epochs}, {100 * self.done:.0f} % "
            f"done; {words.time(self.seconds)} so far, planned {words.time(self.planned)}; "
            f"{words.time(self.left.value)} left ({left})"
        )
        if self.cost is None or self.whole_cost is None:
            return out
        value, low, high = map(words.number, self.whole_cost)
        return f"{out}; cost {words.number(self.cost)} so far, {value} ({low} to {high}) at the end"


@dataclass
class _Seen:
    """What was seen at one size."""

    planned: float = 0.0  # s
    seconds: float = 0.0
    ratios: list[float] = field(default_factory=list)  # true by planned seconds, by window

    @property
    def ratio(self) -> Between:
        """What a planned second takes, with a 90 % interval for a further window."""
        middle, count = self.seconds / self.planned, len(self.ratios)
        variance = sum((one - middle) ** 2 for one in self.ratios) / (count - 1)
        half = max(LEAST * middle, quantile(count - 1) * math.sqrt(variance * (1 + 1 / count)))
        return Between(middle, max(0.0, middle - half), middle + half)


class Pace:
    """A plan, and what was seen of the run.

    Args:
        plan: The run that was planned.
        window: s of the windows; a shorter stretch waits for the next moment.
    """

    def __init__(self, plan: Plan, window: float = WINDOW) -> None:
        self.plan, self.window = plan, window
        self._seen = dict[int, _Seen]()
        self._first: tuple[float, float, float] | None = None  # planned s, s, s of wall time
        self._at = self._last = (0.0, 0.0)  # planned s, s: now, and where the last window ended
        self._began = self._wall = self._paused = 0.0
        self._epoch, self._ended = 0, 0

    def see(self, epoch: int, share: float, seconds: float, wall: float) -> None:
        """A moment of the run.

        epoch: from 0; share: of it that is done, 0..1; seconds: in epochs so far, without the
        pauses between them; wall: of the clock. Both may begin anywhere.
        """
        place = self.plan.until(epoch, share)
        if self._first is None:
            self._began = wall
        if self._first is None or place < self._at[0]:  # it goes on from an earlier checkpoint
            self._first, self._last = (place, seconds, wall), (place, seconds)
            self._ended, self._paused = 0, 0.0
        elif epoch > self._epoch:
            self._ended += 1
            self._paused = max(0.0, (wall - self._first[2]) - (seconds - self._first[1]))
        self._at, self._wall, self._epoch = (place, seconds), wall, epoch
        if seconds - self._last[1] >= self.window and place > self._last[0]:
            self._close()

    def _close(self) -> None:
        """A window ends here."""
        (begin, since), (end, seconds) = self._last, self._at
        ratio = (seconds - since) / (end - begin)
        for size, part in self._parts(begin, end):
            seen = self._seen.setdefault(size, _Seen())
            seen.planned += part.value
            seen.seconds += ratio * part.value
            seen.ratios.append(ratio)
        self._last = self._at

    def _parts(self, begin: float, end: float) -> Iterator[tuple[int, Between]]:
        """Sizes and planned seconds of a stretch of the way, epoch by epoch."""
        at = 0.0
        for size, seconds in self.plan.epochs:
            part = min(end, at + seconds.value) - max(begin, at)
            at += seconds.value
            if part > 0:
                yield size, seconds.times(part / seconds.value)

    def standing(self) -> Standing | None:
        """None: nothing was seen yet."""
        if self._first is None:
            return None
        (place, seconds), (first, begun, _) = self._at, self._first
        left = Between(0.0, 0.0, 0.0)
        for size, part in self._parts(place, self.plan.seconds):
            left = left.plus(self._expected(size, part))
        if self._ended:
            epochs_left = max(0, len(self.plan.epochs) - 1 - self._epoch)
            pauses = self._paused / self._ended * epochs_left
            left = left.plus(Between(pauses, pauses, pauses))
        price = self.plan.price
        cost = None if price is None else price * (self._wall - self._began) / words.HOUR
        whole = None
        if price is not None and cost is not None:
            whole = left.times(price / words.HOUR).plus(Between(cost, cost, cost))
        return Standing(
            self._epoch, len(self.plan.epochs), place / self.plan.seconds, seconds - begun,
            place - first, left, cost, whole,
        )  # fmt: skip

    def _expected(self, size: int, part: Between) -> Between:
        """Seconds of a planned stretch. At sizes that were not seen for long the plan counts; it
        reaches as far as what was seen at others.
        """
        seen = self._seen.get(size)
        if seen is not None and len(seen.ratios) >= FEWEST:
            ratio = seen.ratio
            return Between(*(part.value * one for one in ratio))
        others = [one.ratio for one in self._seen.values() if len(one.ratios) >= FEWEST]
        low = min([1.0, *(one.low for one in others)])
        high = max([1.0, *(one.high for one in others)])
        return Between(
            part.value, min(part.low, part.value * low), max(part.high, part.value * high)
        )
