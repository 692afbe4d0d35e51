"""Loader, step and both of one size, in turns with those of others."""

from collections.abc import Callable
from typing import Any, Protocol

from fastload.measure import rate
from fastload.profiler.batches import alone
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

    Between turns the loader has filled its queue.
    """

    def __init__(self, ladder: Ladder, step: Step, scale: float, seconds: float) -> None:
        """scale: of the full side; seconds: of a loader's turn."""
        self._ladder, self._step, self._scale, self._seconds = ladder, step, scale, seconds
        self._batch = ladder.feed.take()
        self._alone: dict[str, float] = {}  # images/s of step and loader
        alone(ladder.feed, 0.0)  # after which it rests

    def turns(self, size: int) -> dict[str, Callable[[], float]]:
        """By kind and size, in the order that they need."""
        return {f"step {size}": self.step, f"loader {size}": self.loader,
                f"together {size}": self.together}  # fmt: skip

    def step(self) -> float:
        """Images/s, like all turns."""
        found = self._step.rate_at(self._scale, self._batch, STEP * self._seconds)
        self._alone["step"] = found
        return found

    def loader(self) -> float:
        self._ladder.feed.drain()
        self._alone["loader"] = rate(self._ladder.feed.take_round, self._seconds)
        return self._alone["loader"]

    def together(self) -> float:
        found = self._ladder.mid_epoch(TOGETHER * self._seconds, **self._alone)
        self._ladder.rest()
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
