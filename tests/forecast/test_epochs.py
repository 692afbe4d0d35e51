"""How an epoch begins and ends: the forecast beside loaders and steps that are played exactly."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
import torch

from fastload.forecast import measuring, model, rates
from fastload.forecast.bands import Range, constant, exactly
from fastload.forecast.edges import Edges
from fastload.forecast.measuring import Measured
from fastload.forecast.run import PERFECT, START, Run
from fastload.measure import Sample
from fastload.system import machine
from tests.forecast import made
from tests.forecast.test_model import inside

BATCH, STARTUP = 32, 0.4  # images; s from an epoch's begin until workers work
AHEAD = 2  # batches that each worker may be ahead
CLOSING = 0.2  # s from an epoch's last step until it is over


class Ended:
    """A loader whose workers are done with a batch 1 s after the one before, and end within 0.25 s,
    but for the batch that they make.
    """

    num_workers, prefetch_factor, now = 1, 3, 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def __iter__(self):
        begin = self.now
        try:
            for number in range(1, 100):
                self.now = max(self.now, begin + number)
                yield torch.zeros(BATCH, 1)
        finally:
            left = max(0.0, begin + number + self.prefetch_factor - self.now)  # of what they make
            self.now += 0.25 + left


def test_an_epochs_end_is_measured_when_workers_have_ended_their_batches(monkeypatch):
    loader = Ended()
    monkeypatch.setattr(measuring, "time", loader)
    *_, closing = measuring._starts(loader, float(BATCH))
    assert closing.values == (0.25,)


class Epoch:
    """One worker makes one batch in `each` s; or all make one together, W times as fast."""

    def __init__(self, workers: int, each: float, *, together: bool = False) -> None:
        self.workers, self.each, self.together = workers, each, together

    def run(self, step: float, count: int) -> float:
        """Seconds of so many batches with a step of `step` s each."""
        ready, free = [STARTUP] * self.workers, 0.0
        taken: list[float] = []
        for number in range(count):
            worker = 0 if self.together else number % self.workers
            asked = number - AHEAD * self.workers
            begin = max(ready[worker], taken[asked] if asked >= 0 else 0.0)
            ready[worker] = begin + self.each / (self.workers if self.together else 1)
            taken.append(max(free, ready[worker]))
            free = taken[-1] + step
        return free

    @property
    def rate(self) -> float:
        """Images/s, alone."""
        return BATCH * self.workers / self.each


class Played:
    """The epoch as a loader, whose batches move a clock."""

    def __init__(self, epoch: Epoch) -> None:
        self.epoch, self.num_workers, self.now = epoch, epoch.workers, 100.0

    def perf_counter(self) -> float:
        return self.now

    def __iter__(self):
        begin = self.now
        for number in range(1, 100):
            self.now = begin + self.epoch.run(0.0, number)
            yield torch.zeros(BATCH, 1)


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("together", [False, True])
def test_a_start_is_told_from_batches_that_are_made_at_once(workers, together, monkeypatch):
    loader = Played(Epoch(workers, 0.3, together=together))
    monkeypatch.setattr(measuring, "time", loader)
    _, start, fill, each = measuring._start(loader, loader.epoch.rate)
    assert start == pytest.approx(STARTUP)
    assert each == pytest.approx(0.3 / workers)
    assert fill == pytest.approx(1 if together else workers)


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("ratio", [0.2, 0.6, 1.5, 4.0])
def test_short_epochs_take_what_they_take(workers, together, ratio):
    """ratio: the step's time by the loader's; far from 1 nothing is lost between the two."""
    epoch, count = Epoch(workers, 0.3, together=together), 40
    loader, step = constant(exactly(1 / epoch.rate), 1), constant(exactly(ratio / epoch.rate), 1)
    fill = BATCH * (1 if together else workers)
    run = Run(
        (64,), count * BATCH, step, loader, constant(exactly(0.0), 1), exactly(PERFECT),
        Edges(exactly(STARTUP), Range(fill, BATCH, fill), closing=exactly(CLOSING)),
    )  # fmt: skip
    taken = epoch.run(ratio * BATCH / epoch.rate, count) + CLOSING
    assert run.total.value == pytest.approx(taken, rel=0.005)
    assert inside(run.total)
    waits = sum(run.waits.values())
    np.testing.assert_allclose(waits, run.seconds.value - run.images * step.value)
    assert run.waits[START][0] > STARTUP


class Shared:
    """Worker processes and a step that share 2 hardware threads evenly."""

    def __init__(self, workers: int, each: float, gain: float) -> None:
        """each: s of a batch of one worker alone; gain: of both threads, as times of one."""
        self.workers, self.each, self.gain = workers, each, gain

    def run(self, step: float, count: int) -> list[float]:
        """When the step, of `step` s alone, is done with each of so many batches."""
        now, taken, rest, done, made = 0.0, 0, 0.0, list[float](), set[int]()
        asked = min(count, AHEAD * self.workers)
        todo = [deque(range(first, asked, self.workers)) for first in range(self.workers)]
        left = [self.each] * self.workers  # of each worker's next batch
        while len(done) < count:
            if not rest and taken in made:
                if asked < count:
                    todo[asked % self.workers].append(asked)
                    asked += 1
                taken, rest = taken + 1, step
            working = [worker for worker in range(self.workers) if todo[worker]]
            jobs = len(working) + (rest > 0)
            speed = (1.0 if jobs == 1 else self.gain) / jobs
            spent = min([*(left[worker] for worker in working), *([rest] if rest else [])])
            now += spent / speed
            for worker in working:
                left[worker] -= spent
                if left[worker] < 1e-9:
                    made.add(todo[worker].popleft())
                    left[worker] = self.each
            if rest:
                rest -= spent
                if rest < 1e-9:
                    rest = 0.0
                    done.append(now)
        return done

    def known(self, step: float) -> Measured:
        """What a measurement of long epochs finds. A loader alone has a step that takes no time."""
        rates = {"step": BATCH / step}
        count = 20 * self.workers
        for name, one in (("loader", 1e-8), ("together", step)):
            done = self.run(one, 3 * count)
            rates[name] = BATCH * count / (done[2 * count - 1] - done[count - 1])
        sample = {name: {64: Sample((rate,))} for name, rate in rates.items()}
        return Measured(
            sample["loader"], self.workers, 2, Sample((0.0,)), Sample((1.0,)),
            Sample((BATCH / self.each,)), sample["step"], sample["together"], BATCH,
            Sample((float(self.workers),)), ahead=AHEAD * self.workers,
        )  # fmt: skip


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("gain", [1.25, 1.6, 2.0])  # 2: two cores
@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0])
def test_workers_slow_a_step_on_their_cores_until_they_are_ahead(workers, gain, ratio):
    """ratio: the step's time by the loader's. The last steps then have the cores alone."""
    epoch, count = Shared(workers, 0.3, gain), 40
    step = ratio * 0.3 / min(gain, workers)
    known = epoch.known(step)
    step_s, alone, both = (
        rates.per_image(each, (64,)) for each in (known.step, known.loader, known.together)
    )
    run = Run(
        (64,), count * BATCH, step_s, alone, constant(exactly(0.0), 1), exactly(1.0),
        model.edges(known, 1, shared=True), both,
    )  # fmt: skip
    assert run.total.value == pytest.approx(epoch.run(step, count)[-1], rel=0.03)
    assert inside(run.total)
    waits = sum(run.waits.values())
    np.testing.assert_allclose(waits, run.seconds.value - run.images * step_s.value)


def test_the_first_start_is_of_a_new_loader():
    known = replace(made.measured(), start=Sample((3.0, 1.0, 2.0)), fill=Sample((2.0, 1.0, 2.0)))
    starts = model.starts(known, 3)
    np.testing.assert_allclose(starts.value, [3.0, 1.5, 1.5])
    assert (starts.low.min(), starts.high.max()) == (1.0, 3.0)
    assert model.fill(known) == Range(128.0, 64.0, 128.0)
    assert model.fill(replace(known, fill=None)) == exactly(0.0)
    once = model.starts(replace(known, start=Sample((3.0,))), 2)
    np.testing.assert_allclose(once.value, 3.0)


def threads(one: float, full: float, *, cores: int, each: float | None = None):
    """Rates of 8 hardware threads of `cores` cores."""
    return replace(
        made.measured(full, cores=8), one_core=Sample((one,)), physical=cores,
        each_core=None if each is None else Sample((each,)),
    )  # fmt: skip


def test_two_hardware_threads_are_not_two_cores():
    """4 cores give 4 times one, and their second threads 1.3 times that: 8 more threads of 4 more
    cores double it, though 8 threads here give only 5.2 times one.
    """
    known = threads(100.0, 520.0, cores=4, each=400.0)
    assert model.grows(known).value == pytest.approx(1.0)
    few, many = (
        model.run(made.question(2, cores=count), known).loader.value[-1] for count in (8, 16)
    )
    assert few == pytest.approx(2 * many)
    # A machine that does not tell has to take its threads for cores
    assert model.grows(threads(100.0, 520.0, cores=0)).value == pytest.approx(0.793, abs=0.001)
    # One core cannot show how cores grow
    assert model.grows(threads(100.0, 130.0, cores=1)) == model.machines.UNKNOWN
    assert threads(1.0, 2.0, cores=4).used_cores == 4
    assert threads(1.0, 2.0, cores=0).used_cores == 8


def test_cores_are_counted_by_their_threads(tmp_path):
    for thread, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{thread}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert machine.physical_cores({0, 1, 2, 3}, str(tmp_path)) == 2
    assert machine.physical_cores({0, 2}, str(tmp_path)) == 1
    assert machine.physical_cores({0, 1}, str(tmp_path)) == 2
    assert machine.physical_cores({0, 1, 2}, str(tmp_path / "none")) == 3
    assert machine.physical_cores() >= 1
