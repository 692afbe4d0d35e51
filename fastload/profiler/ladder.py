"""The ladder: step alone, loader alone, both together, taking turns; longer where the answer is still open."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fastload.measure import Sample, interleaved, rate
from fastload.profiler import stages
from fastload.profiler.batches import Feed, images_in
from fastload.profiler.steps import synchronise
from fastload.profiler.verdict import Rungs, StageCost, severities, stall

REPLICATES = 5  # of a round
FEWEST = 3  # of the first round, where the loader is so slow that the budget runs out
ROUNDS = 4  # the first and at most three more
SHARE = 0.5  # of the budget: after it no replicate starts; the rest is for stages and remedies
STEP_WARM_UP = 2  # steps before the clock starts


@dataclass(frozen=True)
class Budget:
    """How long measuring may take. Everything else follows from it."""

    seconds: float
    started: float  # time.perf_counter's clock

    @property
    def run(self) -> float:
        """Seconds of one replicate of a rung."""
        return self.seconds / 30

    def left(self, share: float = 1.0) -> float:
        """Seconds until `share` of the budget is used."""
        return self.started + share * self.seconds - time.perf_counter()


class Ladder:
    """The rungs over one loader and one step. `step` may have to_device, settle and resident, as in `steps`."""

    def __init__(self, loader: Any, step: Callable[[Any], object], to_device: Callable[[Any], Any] | None = None) -> None:
        self.loader, self.step = loader, step
        own: Callable[[Any], Any] = getattr(step, "to_device", _as_it_is)
        self.to_device: Callable[[Any], Any] = to_device or own
        self.settle: Callable[[], float] = getattr(step, "settle", synchronise)
        self.feed = Feed(loader)
        self.stages = stages.Deltas(loader)
        self._resident = [self.to_device(self.feed.take()) for _ in range(getattr(step, "resident", 8))]
        self._turn = 0

    def climb(self, budget: Budget, on_done: Callable[[], None]) -> Rungs:
        """Rates of all rungs: one round, and more while S is open and there is time."""
        rungs = _join([self._turns(budget, on_done) for _ in range(FEWEST)])
        for turn in range(FEWEST, ROUNDS * REPLICATES):
            settled = turn >= REPLICATES and turn % REPLICATES == 0 and len(severities(stall(rungs))) == 1
            if settled or budget.left(SHARE) < 0:
                break
            rungs = _join([rungs, self._turns(budget, on_done)])
        return rungs

    def costs(self) -> tuple[StageCost, ...]:
        """Stage costs while the loader ran alone, if it counts them."""
        return self.stages.costs()

    def _turns(self, budget: Budget, on_done: Callable[[], None]) -> Rungs:
        """One replicate of each rung."""
        found = interleaved(
            {
                "loader": lambda: self._loader_alone(budget.run),
                "training": lambda: self._together(budget.run),
                "step": lambda: self._step_alone(budget.run),
            },
            1,
            on_done,
        )
        return Rungs(**found)

    def _step_alone(self, seconds: float) -> float:
        # The clock's rate does not vary: a short look is enough to show that it is kept.
        seconds = seconds / 5 if getattr(self.step, "kind", "") == "emulated" else seconds
        for _ in range(STEP_WARM_UP):
            self._one_resident()
        return rate(self._one_resident, seconds, self.settle)

    def _one_resident(self) -> int:
        self._turn += 1
        batch = self._resident[self._turn % len(self._resident)]
        self.step(batch)
        return images_in(batch)

    def _loader_alone(self, seconds: float) -> float:
        self.feed.drain()
        with self.stages:
            return rate(self._one_discarded, seconds, synchronise)

    def _one_discarded(self) -> int:
        return images_in(self.to_device(self.feed.take()))

    def _together(self, seconds: float) -> float:
        # Runs right after the loader alone, so nothing has piled up. The clock starts when the GPU is done with the warm-up:
        # the loader has had that time too, so neither side gains from where the clock starts and ends.
        for _ in range(STEP_WARM_UP):
            self._one_trained()
        return rate(self._one_trained, seconds, self.settle)

    def _one_trained(self) -> int:
        batch = self.to_device(self.feed.take())
        self.step(batch)
        return images_in(batch)


def _as_it_is(batch: Any) -> Any:
    return batch


def _join(parts: Sequence[Rungs]) -> Rungs:
    return Rungs(*(Sample(sum((getattr(part, name).values for part in parts), ())) for name in ("step", "loader", "training")))
