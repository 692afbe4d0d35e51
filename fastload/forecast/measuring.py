"""What a forecast needs to know of this machine: rates of loader and step at some sizes, measured
in turns.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from fastload.measure import Sample, interleaved
from fastload.profiler.batches import alone, images_in
from fastload.profiler.ladder import Ladder
from fastload.profiler.steps import EmulatedStep

TURNS = 5
STARTS = 3  # epochs that are begun, to see how long that takes
LEAST_S = 0.2  # of a replicate


class Step(Protocol):
    """A training step that runs here."""

    def __call__(self, batch: Any) -> object: ...

    def rate_at(self, scale: float, batch: object, seconds: float) -> float:
        """Images/s of the step alone, at `scale` times the full side."""


@dataclass(frozen=True)
class Measured:
    """Images/s on this machine, replicate by replicate; by side in px."""

    loader: Mapping[int, Sample]  # alone, with all workers
    workers: int
    cores: int
    start: Sample  # s from an epoch's begin to its first batch, beyond making that batch
    losses: Sample  # times that step and loader take together, where each takes 1 alone
    one_core: Sample | None = None  # the loader with one worker, at the largest size
    step: Mapping[int, Sample] = field(default_factory=dict)  # alone; empty: it is assumed
    together: Mapping[int, Sample] = field(default_factory=dict)  # training; empty likewise

    @property
    def used(self) -> int:
        """Cores that the loader could keep busy."""
        return max(1, min(self.workers, self.cores))


Make = Callable[[int, int | None], Iterable[object]]


def measure(
    make: Make,
    sizes: Sequence[int],
    step: Step | None,
    workers: int,
    cores: int,
    seconds: float,
    on_done: Callable[[], None] = lambda: None,
) -> Measured:
    """Measure for about `seconds`.

    make: a new loader of images of so many px, with so many workers (None: with `workers`), whose
    epochs are long; sizes: ascending, the last one is the full size; step: None if it is assumed.
    """
    full = sizes[-1]
    turns: dict[str, Callable[[], float]] = {}
    count = (len(sizes) * (3 if step else 1)) + (0 if step else 1) + (workers > 1)
    each = max(LEAST_S, seconds / TURNS / count)
    ladders = {size: Ladder(make(size, None), step or EmulatedStep(1e6)) for size in sizes}
    for size, ladder in ladders.items():
        turns[f"loader {size}"] = partial(alone, ladder.feed, each)
        if step is not None:
            turns[f"step {size}"] = partial(step.rate_at, size / full, ladder.feed.take(), each)
            turns[f"together {size}"] = partial(ladder.trained, each)
    if step is None:
        turns["balance"] = partial(_loss, ladders[full], each)
    if workers > 1:
        single = Ladder(make(full, 1), EmulatedStep(1e6)).feed
        turns["one"] = partial(alone, single, each)
    rates = interleaved(turns, TURNS, on_done)
    del ladders, turns
    loader = {size: rates[f"loader {size}"] for size in sizes}
    begun = make(full, None)
    starts = tuple(_start(begun, loader[full].median) for _ in range(STARTS))
    step_rates, training = (
        {size: rates[f"{what} {size}"] for size in sizes if step} for what in ("step", "together")
    )
    return Measured(
        loader, workers, cores, Sample(starts), rates.get("balance", Sample((1.0,))),
        rates.get("one"), step_rates, training,
    )  # fmt: skip


def _loss(ladder: Ladder, seconds: float) -> float:
    """What is lost between a step and a loader that are equally fast: where it is most."""
    step = ladder.step
    assert isinstance(step, EmulatedStep)
    before = alone(ladder.feed, seconds / 3)
    step.rate = before
    together = ladder.trained(seconds / 3)
    return max(1.0, (before + alone(ladder.feed, seconds / 3)) / 2 / together)


def _start(loader: Iterable[object], images_per_s: float) -> float:
    begin = time.perf_counter()
    batch = next(iter(loader))
    return max(0.0, time.perf_counter() - begin - images_in(batch) / images_per_s)
