"""The lines of a watch: one now and then, one for each epoch, and a warning when the bottleneck
moves.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fastload.profiler.pacing import Paced
from fastload.profiler.verdict import OK_BELOW

FEWEST = 2  # batches after an epoch's first, from which it has a line
APART = 1.0  # s between two lines for epochs: short ones go without


@dataclass
class Stretch:
    """Waits since a point in time.

    An epoch's first batch does not count: it waits for the workers' start.
    """

    since: float | None = None  # s
    waited: float = 0.0
    batches: int = 0

    def add(self, start: float, end: float) -> None:
        """A batch that was waited for from start to end, s."""
        if self.since is None:
            self.since = end
            return
        self.waited += end - start
        self.batches += 1

    def lasts(self, now: float) -> float:
        return 0.0 if self.since is None else now - self.since

    def share(self, now: float) -> float:
        """Of the time, that was waiting."""
        return self.waited / self.lasts(now)

    def says(self, now: float) -> str:
        return (
            f"waiting for data {100 * self.share(now):.0f} % of the time, "
            f"{self.batches / self.lasts(now):.3g} batches/s"
        )


class Lines:
    """every: s between lines, 0: none at all; say: takes a line; paced: the plan, if any."""

    def __init__(
        self, every: float, say: Callable[[str], object], paced: Paced | None = None
    ) -> None:
        self.every, self.say, self.paced = every, say, paced
        self._recent, self._epoch = Stretch(), Stretch()
        self._epochs = 0
        self._before: float | None = None  # share of waiting in the last epoch that counted
        self._last = -APART

    def batch(self, start: float, end: float) -> None:
        """A batch was waited for from start to end, s."""
        self._recent.add(start, end)
        self._epoch.add(start, end)
        if self.paced is not None:
            self.paced.batch(start, end)
        if self.every and self._recent.lasts(end) >= self.every:
            self.say(f"fastload: {self._recent.says(end)}")
            self.of_plan()
            self._recent = Stretch(end)

    def epoch(self, now: float) -> None:
        """An epoch has ended."""
        if self.paced is not None:
            self.paced.epoch(now)
        done = self._epoch
        self._epochs += 1
        self._recent, self._epoch = Stretch(), Stretch()
        if not self.every or done.batches < FEWEST:
            return
        share, before, self._before = done.share(now), self._before, done.share(now)
        if now - self._last >= APART:
            self._last = now
            self.say(f"fastload: epoch {self._epochs}: {done.says(now)}")
        if before is not None and moved(before, share):
            what = (
                "training waits for data now"
                if share > before
                else "training no longer waits for data"
            )
            said = f"{100 * share:.0f} % of the time, {100 * before:.0f} % in the epoch before"
            self.say(f"fastload: the bottleneck has moved: {what} ({said})")

    def of_plan(self) -> None:
        """The plan's line, where there is a plan."""
        standing = None if self.paced is None else self.paced.standing()
        if self.every and standing is not None:
            self.say(f"fastload: plan: {standing}")


def moved(before: float, now: float) -> bool:
    """Whether waiting became, or is no longer, the limit; a small step over the edge is neither."""
    return (before < OK_BELOW) != (now < OK_BELOW) and abs(now - before) >= OK_BELOW
