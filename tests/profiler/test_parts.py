"""The measuring parts on fakes: streams, steps, clocks."""

import time

import numpy as np
import pytest
import torch

from fastload.errors import UsageError
from fastload.measure import Sample, rate
from fastload.profiler import EmulatedStep, logs, profile, steps
from fastload.profiler.batches import Endless, Feed, alone, images_in
from fastload.profiler.evidence import Evidence, Rungs
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.stages import Deltas
from fastload.profiler.within import Within


def batch(images: int) -> torch.Tensor:
    return torch.zeros(images, 1)


@pytest.mark.parametrize("rate", [0, -5, float("nan"), "6000"])
def test_an_emulated_step_has_a_rate(rate):
    with pytest.raises(UsageError) as caught:
        EmulatedStep(rate)
    assert str(caught.value) == (f"EmulatedStep: rate is {rate!r}, want images/s, a number above 0")


def test_an_emulated_step_takes_its_time_and_lets_the_host_run_ahead(clock):
    step = EmulatedStep(rate=100)
    step(batch(2))  # 20 ms of GPU time; the host may be up to 50 ms ahead
    assert clock[0] == 100.0
    for _ in range(9):
        step(batch(2))
    assert clock[0] == pytest.approx(100.2 - steps.LEAD)
    assert step.settle() == pytest.approx(100.2)


def test_an_emulated_step_longer_than_the_lead_runs_one_ahead(clock):
    step = EmulatedStep(rate=10)
    step(batch(5))
    assert clock[0] == 100.0
    step(batch(5))
    assert clock[0] == pytest.approx(100.5)


def test_an_emulated_gpu_idles_while_no_batch_comes(clock):
    step = EmulatedStep(rate=100)
    step(batch(2))
    clock[0] += 1
    step(batch(2))
    assert step.settle() == pytest.approx(101.02)


def test_rate_counts_until_the_device_has_settled(clock):
    def step() -> int:
        clock[0] += 1
        return 10

    # 3 s of the host, and the device is half a second behind when it stops
    assert rate(step, 3, iter([100.0, 103.5]).__next__) == pytest.approx(30 / 3.5)


@pytest.mark.parametrize(
    "value",
    [batch(3), [batch(3), "x"], ("x", batch(3)), {"image": batch(3)}, [{"image": [batch(3)]}]],
)
def test_images_in_a_batch(value):
    assert images_in(value) == 3


def test_pictures_in_a_list():
    assert images_in(([torch.zeros(3, 8, 9)] * 5, ["target"] * 5)) == 5


@pytest.mark.parametrize(
    ("value", "kind"), [("x", "str"), ([], "list"), ({"a": 1}, "dict"), (torch.tensor(1), "Tensor")]
)
def test_a_batch_without_images(value, kind):
    with pytest.raises(UsageError) as caught:
        images_in(value)
    assert (
        str(caught.value)
        == f"profile: a batch is {kind} without a tensor (want tensors, or lists or dicts of them)"
    )


def test_endless_gives_every_sample_once_per_round():
    order = iter(Endless(7))
    rounds = [[next(order) for _ in range(7)] for _ in range(3)]
    assert [sorted(found) for found in rounds] == [list(range(7))] * 3
    assert rounds[0] != rounds[1]


def test_stage_costs_are_what_the_counters_gained():
    counts = {"decode": {"samples": 10, "wall_s": 1.0, "cpu_s": 0.5}}

    class Loader:
        def stats(self) -> dict:
            return {"stages": {name: dict(values) for name, values in counts.items()}}

    deltas = Deltas(Loader())
    with deltas:
        counts["decode"] = {"samples": 30, "wall_s": 5.0, "cpu_s": 2.5}
        counts["read"] = {"samples": 20, "wall_s": 0.2, "cpu_s": 0.1}
    with deltas:
        pass
    assert {c.name: (c.wall_s, c.cpu_s) for c in deltas.costs()} == {
        "decode": (0.2, 0.1),
        "read": (0.01, 0.005),
    }
    assert Deltas([]).costs() == ()


def test_a_loader_without_counters_is_deduced_from_its_batches(clock):
    class Slow:
        def __iter__(self):
            for _ in range(100):
                time.sleep(0.01)
                yield batch(1)

    report = profile(Slow(), EmulatedStep(1e5), seconds=1)
    assert (report.verdict.label, report.stages, report.step.kind) == (
        "LOADER-BOUND",
        (),
        "emulated",
    )
    assert "Which stage is slow is not known" in str(report)


def test_a_function_as_the_step_sees_every_batch_on_its_device():
    seen = []
    report = profile(
        [batch(2)] * 50,
        lambda images: seen.append(images.shape),
        seconds=1,
        to_device=lambda images: images[None],
    )
    assert set(seen) == {(1, 2, 1)}
    assert report.step.kind == "callable"
    assert report.to_json()["step"]["assumed_img_per_s"] is None


def test_the_ladder_goes_on_only_while_the_answer_is_open(clock, monkeypatch):
    def climb(training: list[float]) -> int:
        ladder, values = Ladder([batch(1)], EmulatedStep(100)), iter(training * 10)
        monkeypatch.setattr(ladder, "_loader_alone", lambda _: 200.0)
        monkeypatch.setattr(ladder, "_step_alone", lambda _: 100.0)
        monkeypatch.setattr(ladder, "_together", lambda _: next(values))
        return len(ladder.climb(Budget(25, clock[0]), lambda: None).training.values)

    assert climb([100.0]) == 5
    assert climb([100.0, 90.0]) == 20  # spans the 5 % edge to the end


@pytest.mark.parametrize(("training", "replicates"), [([100.0, 90.0], 8), ([50.0], 5)])
def test_an_open_answer_may_have_more_of_the_budget(clock, monkeypatch, training, replicates):
    """Of 100 s: half for a loader that is slow for certain, 80 % while it is open whether training
    waits at all.
    """

    def took_10_s(found: float) -> float:
        clock[0] += 10
        return found

    ladder, values = Ladder([batch(1)], EmulatedStep(100)), iter(training * 10)
    monkeypatch.setattr(ladder, "_loader_alone", lambda _: 100.0)
    monkeypatch.setattr(ladder, "_step_alone", lambda _: 100.0)
    monkeypatch.setattr(ladder, "_together", lambda _: took_10_s(next(values)))
    assert len(ladder.climb(Budget(95, clock[0]), lambda: None).training.values) == replicates


def test_rates_are_of_whole_rounds_of_workers(clock, monkeypatch):
    """Two workers in step give two batches at once, every 3 s: 2/3 a second, whenever the clock
    starts and ends.
    """

    class Pairs:
        num_workers, prefetch_factor = 2, 2

        def __iter__(self):
            for number in range(1000):
                clock[0] += 3 * (number % 2)
                yield batch(1)

    monkeypatch.setattr(
        "fastload.profiler.batches.rate",
        lambda step, seconds: rate(step, seconds, lambda: clock[0]),
    )
    for skipped in range(2):
        feed = Feed(Pairs())
        for _ in range(skipped):
            feed.take()
        assert alone(feed, 4.0) == pytest.approx(2 / 3)
        ladder = Ladder(Pairs(), lambda _: None)
        for _ in range(skipped):
            ladder.feed.take()
        assert (ladder._loader_alone(4.0), ladder._together(4.0)) == (
            pytest.approx(2 / 3),
            pytest.approx(2 / 3),
        )


class Queued:
    """A worker that makes batches in 1, 1, 1 and 5 s, in turns, until four lie ready."""

    num_workers, prefetch_factor = 1, 4

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    def __iter__(self):
        begin, done, taken = self.clock[0], [self.clock[0]], []
        for number in range(10_000):
            free = taken[number - 4] if number >= 4 else begin
            done.append(max(done[-1], free) + (5 if number % 4 == 3 else 1))
            self.clock[0] = max(self.clock[0], done[-1])
            taken.append(self.clock[0])
            yield batch(1)


@pytest.mark.parametrize("step_s", [1.0, 2.5])
def test_training_is_measured_as_in_a_long_epoch(clock, step_s):
    """A step of 2.5 s finds a full queue, which lasts for a late batch; one of 1 s an empty one."""
    ladder = Ladder(Queued(clock), lambda _: time.sleep(step_s))
    rungs = ladder.climb(Budget(30 * 40, clock[0]), lambda: None)
    assert rungs.step.values == pytest.approx([1 / step_s] * len(rungs.step.values))
    assert rungs.training.values == pytest.approx(
        [1 / max(step_s, 2.0)] * len(rungs.training.values), rel=0.05
    )


def test_the_first_replicates_are_made_however_slow_the_loader(clock):
    def slow(_: float) -> float:
        clock[0] += 100
        return 1.0

    ladder = Ladder([batch(1)], EmulatedStep(100))
    ladder._loader_alone = ladder._step_alone = ladder._together = slow
    assert len(ladder.climb(Budget(10, clock[0]), lambda: None).step.values) == 3


@pytest.mark.long
def test_causes_are_looked_for_only_where_a_good_loader_waits(monkeypatch):
    ladder = Ladder([batch(1)] * 50, EmulatedStep(100), to_device=lambda images: images + 1)
    rates = {"_step_alone": 100.0, "_beside": 80.0, "_with_copies": 99.0}
    for name, found in rates.items():
        monkeypatch.setattr(ladder, name, lambda _, found=found: found)

    def why(loader: float, training: float):
        samples = (Sample((found,) * 5) for found in (100.0, loader, training))
        return ladder.why(Budget(25, 0.0), Rungs(*samples), lambda: None)

    easy = why(200, 99)
    assert (easy.beside, easy.transfer, easy.bare, easy.alone) == (None, None, None, None)
    known = why(200, 75)
    assert (known.beside.median, known.transfer.median, known.alone.median) == (80, 99, 100)
    slow = why(50, 50)  # by itself, or by its copies?
    assert (slow.beside, slow.transfer.median, slow.alone.median) == (None, 99, 100)
    assert slow.bare.median > 0
    ladder._host = []
    assert why(50, 50).bare is None


def test_late_batches_and_waiting_for_cores_count_where_the_speed_is_in_question():
    seen = Within([])
    rows = np.zeros(40, logs.FIELDS)
    rows["t"], rows["wall"] = np.arange(40), 0.5
    rows["wall"][[25, 35]] = 10.5
    rows["starved"][:20] = 0.4
    seen._fetches = rows
    assert seen.evidence(Evidence(), [(0.0, 19.8)]) == Evidence(starved=pytest.approx(0.8), late=0)
    found = seen.evidence(Evidence(workers=3), [(19.9, 30.2), (30.4, 40.0)])
    assert (found.workers, found.starved) == (3, 0)
    assert found.late == pytest.approx(20 / 30)
    assert Within([]).evidence(Evidence(spikes=0.5), []) == Evidence(spikes=0.5)
