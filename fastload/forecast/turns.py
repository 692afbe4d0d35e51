"""Loader, step and both of one size, in turns with those of others."""

import time
from collections.abc import Callable
from typing import Any, Protocol

from fastload.measure import rate
from fastload.profiler.batches import alone, images_in
from fastload.profiler.ladder import Ladder
from fastload.profiler.steps import EmulatedStep

# A step does the same each time. Training is what is forecast, and its batches come in bursts
STEP, TOGETHER = 0.5, 2.0  # times the time of a loader's turn
OF_A_SIZE = 1 + STEP + TOGETHER


class Step(Protocol):
    """A training step that runs here."""

    def __call__(self, batch: Any) -> object: ...

    def rate_at(self, scale: float, batch: object, seconds: float) -> float:
        """Images/s of the step alone, at `scale` times the full side."""


class Trained:
    """One size of a training whose step runs here.

    The queue between loader and step is as it is in a long epoch when training is measured: full
    where the step is slower, else empty. Between turns the loader has filled it.
    """

    def __init__(self, ladder: Ladder, step: Step, scale: float, seconds: float) -> None:
        """scale: of the full side; seconds: of a loader's turn."""
        self._ladder, self._step, self._scale, self._seconds = ladder, step, scale, seconds
        self._batch = ladder.feed.take()
        self._rate = self._fill = 0.0  # images/s of the step; s until the loader has filled up
        self._slower = False  # the step
        alone(ladder.feed, 0.0)  # after which it rests

    def turns(self, size: int) -> dict[str, Callable[[], float]]:
        """By kind and size, in the order that they need."""
        return {f"step {size}": self.step, f"loader {size}": self.loader,
                f"together {size}": self.together}  # fmt: skip

    def step(self) -> float:
        """Images/s, like all turns."""
        self._rate = self._step.rate_at(self._scale, self._batch, STEP * self._seconds)
        return self._rate

    def loader(self) -> float:
        feed = self._ladder.feed
        feed.drain()
        found = rate(feed.take_round, self._seconds)
        self._slower = self._rate < found
        self._fill = feed.depth * images_in(self._batch) / found
        return found

    def together(self) -> float:
        """Right after the loader, which leaves nothing in the queue."""
        if self._slower:
            time.sleep(self._fill)
        found = self._ladder.trained(TOGETHER * self._seconds, drained=False)
        if not self._slower:
            time.sleep(self._fill)
        return found


def balance(ladder: Ladder, seconds: float) -> float:
    """What is lost between a step and a loader that are equally fast: where it is most. 1 where
    nothing is.
    """
    step = ladder.step
    assert isinstance(step, EmulatedStep)
    before = alone(ladder.feed, seconds / 3)
    step.rate = before
    together = ladder.trained(seconds / 3)
    return max(1.0, (before + alone(ladder.feed, seconds / 3)) / 2 / together)
