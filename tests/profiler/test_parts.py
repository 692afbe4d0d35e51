"""The measuring parts on fakes: streams, steps, clocks."""

import time

import numpy as np
import pytest
import torch
from torchvision.transforms import Compose

import fastload
from fastload import recipes
from fastload.attach import hooks
from fastload.errors import UsageError
from fastload.measure import Sample, rate
from fastload.profiler import EmulatedStep, logs, profile, steps
from fastload.profiler.batches import Endless, Feed, alone, depth, images_in
from fastload.profiler.evidence import Evidence, Rungs
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.stages import Deltas
from fastload.profiler.within import Within


def batch(images: int) -> torch.Tensor:
    return torch.zeros(images, 1)


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


def test_a_feed_goes_on_after_the_epoch():
    feed = Feed([1, 2])
    assert [feed.take() for _ in range(5)] == [1, 2, 1, 2, 1]


def test_an_empty_loader():
    with pytest.raises(UsageError) as caught:
        Feed([]).take()
    assert (
        str(caught.value)
        == "profile: the loader gives no batches (want at least 1 per epoch); check its length and "
        "drop_last"
    )


def test_an_iterator_cannot_start_again():
    feed = Feed(iter([1, 2]))
    assert [feed.take(), feed.take()] == [1, 2]
    with pytest.raises(UsageError) as caught:
        feed.take()
    assert str(caught.value) == (
        "profile: the list_iterator ended after 2 batches and starts no further epoch "
        "(want one that iter() starts again); give the loader itself, not its iterator"
    )


def test_a_loader_of_three_batches_is_profiled_over_many_epochs(rates):
    rates(step=1000, loader=9000, training=1000)
    assert profile([batch(4)] * 3, EmulatedStep(1000), seconds=1).verdict.label == "GPU-BOUND"


def test_an_iterable_data_set_of_unknown_length_is_profiled():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(torch.zeros(50, 2))

    report = profile(torch.utils.data.DataLoader(Stream(), 4), EmulatedStep(1000), seconds=1)
    assert "dataset" in {stage.name for stage in report.stages}


def test_draining_takes_what_a_loader_may_hold_ready():
    class Loader(list):
        num_workers, prefetch_factor = 3, 2

    loader = Loader(range(100))
    feed = Feed(loader)
    feed.drain()
    assert (depth(loader), feed.take()) == (6, 7)
    assert depth([1]) == 0


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


@pytest.mark.parametrize(
    ("step", "seconds", "text"),
    [
        ("train", 40, "profile: step is str, want a function of one batch; see EmulatedStep"),
        (print, 0.5, "profile: seconds is 0.5, want at least 1"),
    ],
)
def test_arguments_of_profile(step, seconds, text):
    with pytest.raises(UsageError) as caught:
        profile([batch(1)], step, seconds=seconds)
    assert str(caught.value) == text


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


def test_the_first_replicates_are_made_however_slow_the_loader(clock):
    def slow(_: float) -> float:
        clock[0] += 100
        return 1.0

    ladder = Ladder([batch(1)], EmulatedStep(100))
    ladder._loader_alone = ladder._step_alone = ladder._together = slow
    assert len(ladder.climb(Budget(10, clock[0]), lambda: None).step.values) == 3


def test_a_recipes_own_step_is_one_to_measure():
    pytest.importorskip(
        "torchvision", reason="torchvision is not installed (pip install 'fastload-torch[recipes]')"
    )
    pytest.importorskip(
        "timm", reason="timm is not installed (pip install 'fastload-torch[recipes]')"
    )
    step = steps.RecipeStep(recipes.load("mild"), classes=10, device="cpu", model="test_resnet")
    images, labels = torch.from_numpy(np.ones((2, 3, 32, 32), np.float32)), torch.tensor([1, 2])
    step(step.to_device([images, labels]))
    assert (step.kind, step.step.steps, step.settle() > 0) == ("recipe", 1, True)
    assert step.note == (
        "The training step ran: test_resnet, DecoupledSGDW in bfloat16, binary cross entropy, EMA, "
        "BlurPool."
    )
    assert step.rate_at(0.5, [images, labels], 0.01) > 0


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


def test_a_loader_without_workers_makes_nothing_beside_the_step(monkeypatch):
    loader = torch.utils.data.DataLoader(torch.zeros(100, 2), 2)
    ladder = Ladder(loader, EmulatedStep(100))
    monkeypatch.setattr(ladder, "_step_alone", lambda _: 100.0)
    rungs = Rungs(*(Sample((found,) * 5) for found in (100.0, 200.0, 66.0)))
    assert ladder.why(Budget(25, 0.0), rungs, lambda: None).beside is None


def test_the_rungs_beside_a_loader_and_with_copies_run():
    copied = []
    ladder = Ladder(
        [batch(2)] * 50,
        lambda _: time.sleep(0.01),
        to_device=lambda images: copied.append(1) or images + 1,
    )
    assert 0 < ladder._beside(0.1) <= 201
    before = len(copied)
    assert 0 < ladder._with_copies(0.1) <= 201
    assert len(copied) > before


class Chained(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.transform = Compose([self.first])

    def first(self, value: torch.Tensor) -> torch.Tensor:
        return value

    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform.transforms[0](torch.zeros(2))


@pytest.mark.parametrize("workers", [0, 1])
def test_profiling_leaves_everything_as_it_was(workers):
    data = Chained()
    methods = (
        torch.utils.data.dataloader._BaseDataLoaderIter.__next__,
        torch.utils.data._utils.fetch._MapDatasetFetcher.fetch,
    )
    report = profile(
        torch.utils.data.DataLoader(data, 4, num_workers=workers), EmulatedStep(1e5), seconds=1
    )
    assert {"dataset", "method", "collate"} <= {stage.name for stage in report.stages}
    assert data.transform.transforms == [data.first]
    assert methods == (
        torch.utils.data.dataloader._BaseDataLoaderIter.__next__,
        torch.utils.data._utils.fetch._MapDatasetFetcher.fetch,
    )
    assert not hooks.attached()


def test_a_loader_that_is_watched_can_be_profiled():
    """The watch keeps its hooks; the profile goes without stages."""
    loader = torch.utils.data.DataLoader(Chained(), 4)
    with fastload.watch(loader, every=0):
        report = profile(loader, EmulatedStep(1e5), seconds=1)
        assert hooks.attached()
    assert report.stages == ()


def test_a_loader_that_fails_is_not_hidden():
    class Broken(Chained):
        def __getitem__(self, index: int) -> torch.Tensor:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        profile(torch.utils.data.DataLoader(Broken(), 4), EmulatedStep(1e5), seconds=1)
    assert not hooks.attached()


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
