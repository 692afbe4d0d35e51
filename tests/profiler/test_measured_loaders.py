"""Which loaders can be profiled, and that profiling leaves them and the program as they were."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torchvision.transforms import Compose

import fastload
from fastload import recipes
from fastload.attach import hooks
from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.profiler import EmulatedStep, batches, profile, steps
from fastload.profiler.batches import Feed, depth
from fastload.profiler.evidence import Rungs
from fastload.profiler.ladder import Budget, Ladder


def batch(images: int) -> torch.Tensor:
    return torch.zeros(images, 1)


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

    loader = Loader(batch(1 + number) for number in range(100))
    feed = Feed(loader)
    feed.drain()
    assert (depth(loader), len(feed.take())) == (6, 8)
    assert depth([1]) == 0


def test_handing_over_is_timed_where_batches_lie_ready(monkeypatch):
    """A batch of 4 images is made in 0.1 s and handed over in 2 ms. The training asks for the next
    one when that is made.
    """
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)

    def sleep(seconds):
        clock.now += seconds

    class Loader:
        num_workers = 3

        def __iter__(self):
            made = 0.0
            while True:
                made += 0.1
                clock.now = max(clock.now, made) + 0.002
                yield batch(4)

    clock.sleep = sleep
    monkeypatch.setattr(batches, "time", clock)
    feed = Feed(Loader())
    assert feed.handover == 0
    sleep(1.0)
    feed.hand_over(0.1, 0.5)
    assert feed.handover == pytest.approx(0.0005)
    assert (feed.taken, clock.now) == (5, pytest.approx(1.51))
    feed.hand_over(0.01, 5.0)
    assert feed.taken == 5 + feed.depth
    alone = Feed([batch(4)] * 10)
    alone.hand_over(0.1, 1.0)
    assert alone.handover == 0


@pytest.mark.parametrize(
    ("step", "seconds", "text"),
    [
        ("train", 40, "profile: step is str, want a function of one batch; see EmulatedStep"),
        (print, 0.5, "profile: seconds is 0.5, want at least 1"),
        (print, "40", "profile: seconds is '40', want at least 1"),
        (print, math.inf, "profile: seconds is inf, want at least 1"),
    ],
)
def test_arguments_of_profile(step, seconds, text):
    with pytest.raises(UsageError) as caught:
        profile([batch(1)], step, seconds=seconds)
    assert str(caught.value) == text


def test_what_cannot_be_profiled():
    with pytest.raises(UsageError) as caught:
        profile(5, print)
    assert str(caught.value) == "profile: got int, want a loader, or anything that gives batches"


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
