"""The ladder: step alone, loader alone, and both together take turns.

It runs longer while the answer is open.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from fastload.attach.taken import python_seconds
from fastload.measure import Sample, interleaved, rate
from fastload.profiler import stages, stored
from fastload.profiler.batches import HANDING, Feed, alone, images_in
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.interference import Taken
from fastload.profiler.steps import synchronise
from fastload.profiler.verdict import headroom, severities, spikes, stall
from fastload.system.machine import usable_cores

REPLICATES = 5  # of a round
FEWEST = 3  # of the first round, where the loader is so slow that the budget runs out
ROUNDS = 4  # the first and at most three more
SHARE = 0.5  # of the budget: after it no replicate starts; the rest is for stages and remedies
# The same, while it is open whether training waits: no remedy is worth more than that answer
OPEN_SHARE = 0.8
SHORT = 0.25  # of a replicate
CAUSE_REPLICATES = 5  # of the rungs that tell causes apart
MOST_WAITS = 10_000
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
    """The rungs of one loader and one step.

    `step` may have to_device, settle and resident, as in `steps`.
    """

    def __init__(
        self,
        loader: Iterable[object],
        step: Callable[[object], object],
        to_device: Callable[[object], object] | None = None,
    ) -> None:
        self.loader, self.step = loader, step
        own: Callable[[object], object] = getattr(step, "to_device", _as_it_is)
        self.to_device: Callable[[object], object] = to_device or own
        self.settle: Callable[[], float] = getattr(step, "settle", synchronise)
        self.feed = Feed(loader)
        self.stages, self.stored = stages.Deltas(loader), stored.Counted(loader)
        batches = [self.feed.take() for _ in range(getattr(step, "resident", 8))]
        self._resident = [self.to_device(batch) for batch in batches]
        self._host = (
            batches if any(a is not b for a, b in zip(batches, self._resident, strict=True)) else []
        )
        self._waits: deque[float] = deque(maxlen=MOST_WAITS)  # s, of batches in training
        self._next = 0.0  # s of CPU time within them
        self._taken: list[tuple[float, float, float, float]] = []  # of each run, see _together
        self._turn = 0
        # What earlier turns found: when the queue is full, s of time.perf_counter's clock; s that a
        # batch takes the loader
        self._full = self._each = 0.0
        # When each ran: start and end, s of time.perf_counter's clock
        self.spans: dict[str, list[tuple[float, float]]] = {"loader": [], "training": []}

    def climb(self, budget: Budget, on_done: Callable[[], None]) -> Rungs:
        """Rates of all rungs: one round, and more while S is open and there is time."""
        rungs = _join([self._turns(budget, on_done) for _ in range(FEWEST)])
        for turn in range(FEWEST, ROUNDS * REPLICATES):
            severity = severities(stall(rungs))
            settled = turn >= REPLICATES and turn % REPLICATES == 0 and len(severity) == 1
            known = len(severity) == 1 or "OK" not in severity  # whether training waits
            if settled or budget.left(SHARE if known else OPEN_SHARE) < 0:
                break
            rungs = _join([rungs, self._turns(budget, on_done)])
        return replace(rungs, handover=self.feed.handover)

    def why(self, budget: Budget, rungs: Rungs, on_done: Callable[[], None]) -> Evidence:
        """Measurements that tell causes apart where training waits: the step beside a busy loader,
        the step with copies, and the loader without copies.
        """
        workers = getattr(self.loader, "num_workers", None)
        store = self.stored.found()
        known = Evidence(
            self.stages.starved, workers, usable_cores(), spikes(np.array(self._waits)),
            store=store.waited_share if store else 0.0,
        )  # fmt: skip
        keeps_up = headroom(rungs).low > 1
        if severities(stall(rungs)) == ("OK",) or not (keeps_up or self._host):
            return known
        # A loader that is too slow needs the time for remedies, and copies show quickly.
        seconds = budget.run if keeps_up else SHORT * budget.run
        turns = {"step": lambda: self._step_alone(seconds)}
        if keeps_up and workers != 0:  # a loader without workers makes nothing beside the step
            turns["beside"] = lambda: self._beside(seconds)
        if self._host:
            turns |= {
                "transfer": lambda: self._with_copies(seconds),
                "bare": lambda: alone(self.feed, seconds),
            }
        self.rest()
        rates = interleaved(turns, CAUSE_REPLICATES, on_done)
        return replace(
            known,
            alone=rates["step"],
            beside=rates.get("beside"),
            transfer=rates.get("transfer"),
            bare=rates.get("bare"),
        )

    def trained(self, seconds: float) -> float:
        """Training, images/s; batches that lie ready go first."""
        self.feed.drain()
        return self._together(seconds)

    def mid_epoch(self, seconds: float, *, loader: float, step: float) -> float:
        """Training, images/s, as in the middle of a long epoch, where the queue is full if the step
        is slower, else empty.

        It comes right after the loader alone, which leaves nothing in the queue. loader, step:
        images/s of either alone.
        """
        fill, slower = self.feed.depth * images_in(self._resident[0]) / loader, step < loader
        time.sleep(fill if slower else 0)
        found = self._together(seconds)
        self._full = time.perf_counter() + (0 if slower else fill)
        return found

    def rest(self) -> None:
        """Until the loader has filled its queue, so that it makes nothing beside what comes."""
        time.sleep(max(0.0, self._full - time.perf_counter()))

    def costs(self) -> tuple[StageCost, ...]:
        """Stage costs while the loader ran alone, if it counts them."""
        return self.stages.costs()

    def taken(self) -> Taken | None:
        """What the loader takes while it trains; None without workers, where nothing is beside."""
        if not self._taken or not getattr(self.loader, "num_workers", 1):
            return None
        wall, within, beside, native = (sum(column) for column in zip(*self._taken, strict=True))
        return Taken(within / wall, beside / wall, native / wall if self.stages.costs() else None)

    def _turns(self, budget: Budget, on_done: Callable[[], None]) -> Rungs:
        """One replicate of each rung."""
        self.rest()
        self.feed.hand_over(self._each, HANDING * budget.run)
        step = self._step_alone(budget.run)
        on_done()
        loader = self._loader_alone(budget.run)
        on_done()
        training = self.mid_epoch(budget.run, loader=loader, step=step)
        on_done()
        self._each = images_in(self._resident[0]) / loader
        return Rungs(Sample((step,)), Sample((loader,)), Sample((training,)))

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

    def _beside(self, seconds: float) -> float:
        """The step on resident batches while the loader works and its batches are dropped."""
        stop = threading.Event()

        def drop() -> None:
            while not stop.is_set():
                self.feed.take()

        with ThreadPoolExecutor(1) as pool:
            dropping = pool.submit(drop)
            try:
                return rate(self._one_resident, seconds, self.settle)
            finally:
                stop.set()
                dropping.result()

    def _with_copies(self, seconds: float) -> float:
        """The step on batches that have to be copied first; the loader rests."""
        self.feed.drain()
        # What the loader fills up again now, it need not make beside the step.
        time.sleep(self.feed.depth and seconds / 5)

        def once() -> int:
            self._turn += 1
            batch = self._host[self._turn % len(self._host)]
            self.step(self.to_device(batch))
            return images_in(batch)

        return rate(once, seconds, self.settle)

    def _loader_alone(self, seconds: float) -> float:
        self.feed.drain()
        start = time.perf_counter()
        with self.stages, self.stored:
            images_per_s = rate(self._one_discarded, seconds, synchronise)
        self.spans["loader"].append((start, time.perf_counter()))
        return images_per_s

    def _one_discarded(self) -> int:
        return self.feed.take_round(self.to_device)

    def _together(self, seconds: float) -> float:
        # The clock starts when the GPU is done with the warm-up. The loader has had that time too,
        # so neither side gains from where the clock starts and ends.
        for _ in range(STEP_WARM_UP):
            self._one_trained()
        start, native, python = time.perf_counter(), self.stages.cpu(), python_seconds()
        self._next = 0.0
        images_per_s = rate(
            lambda: sum(self._one_trained() for _ in range(self.feed.round)), seconds, self.settle
        )
        end = time.perf_counter()
        self.spans["training"].append((start, end))
        self._taken.append(
            (end - start, self._next, python_seconds() - python, self.stages.cpu() - native)
        )
        return images_per_s

    def _one_trained(self) -> int:
        start, cpu = time.perf_counter(), time.thread_time()
        batch = self.feed.take()
        self._next += time.thread_time() - cpu
        self._waits.append(time.perf_counter() - start)
        batch = self.to_device(batch)
        self.step(batch)
        return images_in(batch)


def _as_it_is(batch: object) -> object:
    return batch


def _join(parts: Sequence[Rungs]) -> Rungs:
    step, loader, training = (
        Sample(sum((getattr(part, name).values for part in parts), ()))
        for name in ("step", "loader", "training")
    )
    return Rungs(step, loader, training)
