"""What a forecast needs to know of this machine: rates of loader and step at some sizes, measured
in turns.
"""

import itertools
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from fastload.forecast import turns
from fastload.forecast.power import Meter, Power
from fastload.forecast.turns import Step
from fastload.measure import Sample, interleaved
from fastload.profiler.batches import alone, depth, images_in
from fastload.profiler.ladder import Ladder
from fastload.profiler.steps import EmulatedStep
from fastload.system.energy import Counters
from fastload.system.machine import physical_cores

TURNS = 5  # of each
FEWEST = 2  # turns, of loaders so slow that the time is up
STARTS = 3  # epochs that are begun, to see how long that takes
LEAST_S = 0.2  # of a replicate
NONE = Counters({}, ())


@dataclass(frozen=True)
class Measured:
    """Images/s on this machine, replicate by replicate; by side in px."""

    loader: Mapping[int, Sample]  # alone, with all workers
    workers: int
    cores: int  # hardware threads
    start: Sample  # s from an epoch's begin until batches are made; the first is of a new loader
    losses: Sample  # times that step and loader take together, where each takes 1 alone
    one_core: Sample | None = None  # the loader with one worker, at the largest size
    step: Mapping[int, Sample] = field(default_factory=dict)  # alone; empty: it is assumed
    together: Mapping[int, Sample] = field(default_factory=dict)  # training; empty likewise
    batch: int = 0  # images
    # Batches' time from then to an epoch's first batch, as many as are made at once; none: 0
    fill: Sample | None = None
    physical: int = 0  # cores whose hardware threads `cores` are; 0: not known
    each_core: Sample | None = None  # as one_core, with a worker for each of these
    power: Power | None = None  # that the machine took meanwhile; None: nobody looked
    # Batches that worker processes may be ahead; 0: threads, which give way to the step
    ahead: int = 0
    closing: Sample | None = None  # s that an epoch's end takes, when its workers have ended theirs

    @property
    def used(self) -> int:
        """Hardware threads that the loader could keep busy."""
        return max(1, min(self.workers, self.cores))

    @property
    def used_cores(self) -> int:
        """Cores that are behind them: a kernel gives each its own as long as there are any."""
        return min(self.used, self.physical or self.used)


Make = Callable[[int, int | None], Iterable[object]]


def measure(
    make: Make,
    sizes: Sequence[int],
    step: Step | None,
    workers: int,
    cores: int,
    seconds: float,
    on_done: Callable[[], None] = lambda: None,
    counters: Counters = NONE,
    late: Callable[[], bool] | None = None,
) -> Measured:
    """Measure for about `seconds`.

    make: a new loader of images of so many px, with so many workers (None: with `workers`), whose
    epochs are long; sizes: ascending, the last one is the full size; step: None if it is assumed;
    counters: of energy; late: whether the time is up, after FEWEST turns; None: by the clock.
    """
    begin = time.perf_counter()
    full, physical, meter = sizes[-1], min(cores, physical_cores()), Meter(counters)
    fewer = _fewer(workers, cores, physical)
    count = len(sizes) * (turns.OF_A_SIZE if step else 1) + (0 if step else 1) + len(fewer)
    each = max(LEAST_S, seconds / TURNS / (count + bool(counters.parts)))
    some, batch = _turns(make, sizes, step, each)
    for name, number in fewer.items():
        some[name] = partial(alone, Ladder(make(full, number), EmulatedStep(1e6)).feed, each)
    late = late or (lambda: time.perf_counter() - begin > seconds)
    rates = _in_time(meter.turns(some, each), late, on_done)
    del some
    loader, step_rates, training = (
        {size: rates[f"{what} {size}"] for size in sizes if f"{what} {size}" in rates}
        for what in ("loader", "step", "together")
    )
    start, fill, ahead, closing = _starts(make(full, None), loader[full].median)
    return Measured(
        loader, workers, cores, start, rates.get("balance", Sample((1.0,))), rates.get("one"),
        step_rates, training, batch, fill if workers else None, physical, rates.get("each"),
        meter.power(), ahead, closing,
    )  # fmt: skip


def _fewer(workers: int, cores: int, physical: int) -> dict[str, int]:
    """Workers of loaders that show how the rate grows with the cores, by the name of their turn."""
    found = {"one": 1} if workers > 1 else {}
    return found | ({"each": physical} if 1 < physical < min(workers, cores) else {})


def _in_time(
    turns: Mapping[str, Callable[[], float]], late: Callable[[], bool], on_done: Callable[[], None]
) -> dict[str, Sample]:
    """TURNS of each, or fewer: a replicate has whole rounds of batches, and so may take longer than
    it should.
    """
    rates = interleaved(turns, FEWEST, on_done)
    for _ in range(TURNS - FEWEST):
        if late():
            break
        more = interleaved(turns, 1, on_done)
        rates = {name: Sample(one.values + more[name].values) for name, one in rates.items()}
    return rates


def _turns(
    make: Make, sizes: Sequence[int], step: Step | None, each: float
) -> tuple[dict[str, Callable[[], float]], int]:
    """What takes turns, by kind and size, and the images of a batch. each: s of a loader's turn."""
    found: dict[str, Callable[[], float]] = {}
    full, batch = sizes[-1], 0
    for size in sizes:
        ladder = Ladder(make(size, None), step or EmulatedStep(1e6))
        batch = images_in(ladder.feed.take())
        if step is not None:
            found |= turns.Trained(ladder, step, size / full, each).turns(size)
            continue
        found[f"loader {size}"] = partial(alone, ladder.feed, each)
        if size == full:
            found["balance"] = partial(turns.balance, ladder, each)
    return found, batch


def _starts(loader: Iterable[object], images_per_s: float) -> tuple[Sample, Sample, int, Sample]:
    """Of some epochs; the loader is new in the first one. How many batches worker processes may be
    ahead, and what it takes to end them.
    """
    before, beside, seen = set(multiprocessing.active_children()), set[object](), []
    for epoch in range(STARTS):
        batches, start, fill, each = _start(loader, images_per_s)
        beside |= set(multiprocessing.active_children()) - before
        seen.append((start, fill))
        if epoch == STARTS - 1:
            time.sleep(depth(loader) * each)  # as at an epoch's end, they have nothing left to do
        begin = time.perf_counter()
        del batches  # which ends its workers
        closing = time.perf_counter() - begin
    starts, fills = (Sample(values) for values in zip(*seen, strict=True))
    return starts, fills, depth(loader) if beside else 0, Sample((closing,))


def _start(
    loader: Iterable[object], images_per_s: float
) -> tuple[Iterator[object], float, float, float]:
    """The epoch; seconds from its begin until batches are made; from then to the first batch, as
    times of one batch; and that time, s.

    Workers that make a batch each give all of their first ones at once, and late; threads that
    make one batch together give it early. Until a round of batches is there, both have made as
    many images.
    """
    size = max(1, int(getattr(loader, "num_workers", 0) or 0))
    begin = time.perf_counter()
    batches = iter(loader)
    images = images_in(next(batches))
    first = time.perf_counter() - begin
    made = images + sum(images_in(batch) for batch in itertools.islice(batches, size - 1))
    whole = time.perf_counter() - begin
    start = min(first, max(0.0, whole - made / images_per_s))
    each = images / images_per_s
    return batches, start, min(float(size), (first - start) / each), each
