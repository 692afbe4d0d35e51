"""A live loop under `fastload.watch`."""

import time

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, _utils, dataloader

import fastload
from fastload.attach import hooks
from fastload.errors import UsageError
from fastload.profiler.verdict import DATA_BOUND, cause


class Images(Dataset):
    def __init__(self, takes: float = 0.0, length: int = 200) -> None:
        self.takes, self.length = takes, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.takes:
            time.sleep(self.takes)
        return torch.zeros(3, 4, 5)


def test_a_loop_that_waits_for_data(clock):
    lines = []
    loader, other = DataLoader(Images(0.002), 10), DataLoader(Images(), 10)
    with fastload.watch(loader, every=0.1, say=lines.append) as seen:
        for _ in loader:
            list(other)
    assert seen.report.verdict.label in DATA_BOUND
    assert seen.report.setting.batch_size == 10
    assert lines[0].startswith("fastload: waiting for data ")
    assert lines[-1] == f"fastload: {str(seen).splitlines()[0]}"


def test_workers_are_timed_and_everything_is_put_back():
    before = dataloader._BaseDataLoaderIter.__next__, _utils.fetch._MapDatasetFetcher.fetch
    loader = DataLoader(Images(0.002), 10, num_workers=1)
    with fastload.watch(loader, every=0) as seen:
        for _ in loader:
            pass
    assert (
        dataloader._BaseDataLoaderIter.__next__,
        _utils.fetch._MapDatasetFetcher.fetch,
    ) == before
    assert not hooks.attached()
    assert cause(seen.report.stages) == ("READ-BOUND", None)
    assert [cost.name for cost in seen.report.stages] == ["read", "dataset", "collate"]


def test_a_loop_that_trains(clock):
    loader = DataLoader(Images(), 10)
    with fastload.watch(loader, every=0) as seen:
        for _ in loader:
            time.sleep(0.05)
    assert seen.report.verdict.label == "GPU-BOUND"
    assert seen.report.rungs.step.median == pytest.approx(200)  # 10 images in 50 ms


def test_a_loader_of_another_kind(clock):
    class Other:
        def __iter__(self):
            for _ in range(20):
                time.sleep(0.005)
                yield torch.zeros(2, 3)

    with fastload.watch(Other(), every=0) as seen:
        batches = [batch.shape for batch in seen]
    assert len(batches) == 20
    assert seen.report.verdict.severity == ("HIGH",)


def test_fastloads_own_loader(folder):
    data = fastload.open(folder, [fastload.transforms.RandomResizedCrop(32)])
    for backend in ("native", "torch"):
        loader = fastload.DataLoader(data, batch_size=2, num_workers=1, backend=backend)
        with fastload.watch(loader, every=0) as seen:
            assert sum(len(images) for images, _ in loader) == 40
        assert (seen.report.setting.backend, seen.report.setting.workers) == (backend, 1)
        if backend == "native":
            assert [cost.name for cost in seen.report.stages] == [
                "read",
                "decode",
                "resize",
                "store",
            ]


def test_an_error_in_the_loop_goes_on():
    loader = DataLoader(Images(), 10)
    with pytest.raises(ZeroDivisionError), fastload.watch(loader, every=0) as seen:
        for _ in loader:
            1 / 0  # noqa: B018
    assert not hooks.attached()
    assert (
        str(seen)
        == "watch: only 1 batches were seen (want 5 of one epoch's batches or more); let it run "
        "longer"
    )


def test_what_cannot_be_watched():
    with pytest.raises(UsageError) as caught:
        fastload.watch(3)
    assert str(caught.value) == "watch: got int, want a loader, or anything that gives batches"
    for every in (-1, float("nan"), "10", None):
        with pytest.raises(UsageError) as caught:
            fastload.watch([], every=every)
        assert (
            str(caught.value) == f"watch: every is {every!r}, want 0 (no lines) or s between lines"
        )
    with (
        fastload.watch([], every=0),
        pytest.raises(UsageError) as caught,
        fastload.watch([], every=0),
    ):
        pass
    assert (
        str(caught.value)
        == "watch: another watch, or fastload profile, looks on already; leave that one first"
    )
    with pytest.raises(UsageError) as caught:
        _ = fastload.watch([]).report
    assert (
        str(caught.value)
        == "watch: nothing was seen yet; use it as `with fastload.watch(loader):` around the loop"
    )


def test_a_watch_that_nobody_opened_says_so():
    lines = []
    assert list(fastload.watch([1, 2], say=lines.append)) == [1, 2]
    assert lines == [
        (
            "fastload: watch: nothing is measured; write `with fastload.watch(loader) as batches:` "
            "around the loop"
        )
    ]
