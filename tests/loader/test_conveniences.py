"""What a loader adds to PyTorch's interface: automatic workers, statistics, strictness."""

import functools
import sys
import time
import types

import pytest
import torch
import torch.utils.data
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.attach.looking import samples_in
from fastload.loader import arguments
from fastload.system.meter import Meter
from fastload.transforms import RandomResizedCrop

OPS = [RandomResizedCrop((6, 9))]
NUMBERS = torch.utils.data.TensorDataset(torch.arange(10))


@pytest.mark.parametrize(
    ("cores", "ranks", "workers"),
    [(1, None, 1), (8, None, 8), (8, "1", 8), (8, "3", 2), (2, "8", 1), (8, "x", 8), (8, "0", 8)],
)
def test_auto_workers_share_the_cores_between_ranks(monkeypatch, cores, ranks, workers):
    monkeypatch.setattr("fastload.system.machine.usable_cores", lambda: cores)
    monkeypatch.setattr(
        "os.sched_getaffinity", lambda _: set(range(64))
    )  # no warning about too many
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if ranks is not None:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert fastload.DataLoader(NUMBERS, num_workers="auto").num_workers == workers


def test_usable_cores_are_those_of_affinity_and_quota(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(6)))
    for quota, cores in ((None, 6), (2.5, 3), (0.2, 1), (64.0, 6)):
        monkeypatch.setattr("fastload.system.machine.cpu_quota", lambda quota=quota: quota)
        assert arguments.auto_workers() == cores


@pytest.mark.parametrize("workers", [0, 2])
def test_stats(folder, workers):
    loader = fastload.DataLoader(
        fastload.open(folder, OPS), 16, num_workers=workers, seek_index="off"
    )
    empty = dict.fromkeys(
        ("images", "batches", "images_per_s", "elapsed_s", "wait_s", "queue_depth", "bad_samples"),
        0,
    )
    none = {"possible_images_per_s": None, "fallbacks": (), "stages": {}}
    assert loader.stats() == {**empty, **none}
    list(loader)
    next(iter(loader))
    stats = loader.stats()
    assert (stats["images"], stats["batches"], stats["bad_samples"], stats["fallbacks"]) == (
        56,
        4,
        0,
        (),
    )
    assert 0 < stats["wait_s"] <= stats["elapsed_s"]
    assert stats["images_per_s"] == pytest.approx(56 / stats["elapsed_s"])
    assert stats["stages"]["decode"]["cpu_s"] > 0
    if not workers:
        assert stats["queue_depth"] == 0


@pytest.mark.parametrize("workers", [0, 1])
def test_stats_of_what_runs_on_pytorchs_engine(workers):
    loader = fastload.DataLoader(NUMBERS, 4, num_workers=workers)
    assert len(list(loader)) == 3
    stats = loader.stats()
    assert (stats["images"], stats["batches"], stats["stages"]) == (10, 3, {})
    _, tier, *reasons = loader.explain().splitlines()[: -2 if workers else -1]
    assert tier.startswith("  tier 3 of 3: ")
    assert stats["fallbacks"] == tuple(line.strip() for line in reasons)


def test_the_meter_sums():
    meter = Meter()
    meter.count(8, ready=2, asked=10.0, last=9.0, now=10.5)
    meter.count(4, ready=1, asked=11.0, last=10.5, now=11.25)
    assert meter.as_dict() == {
        "images": 12, "batches": 2, "images_per_s": 12 / 2.25, "elapsed_s": 2.25, "wait_s": 0.75,
        "queue_depth": 1.5, "bad_samples": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        ([torch.zeros(3, 2), torch.zeros(3)], 3),
        ({"image": (torch.zeros(5, 1),)}, 5),
        (torch.zeros(2), 2),
        (torch.tensor(1.0), 0),
        ("text", 0),
        ([], 0),
        ([["a", "b"]], 0),
        (None, 0),
    ],
    ids=str,
)
def test_the_size_of_any_batch(batch, size):
    assert samples_in(batch) == size


def test_a_queue_that_is_full_has_depth(folder):
    loader = fastload.DataLoader(fastload.open(folder, OPS), 8, num_workers=1, prefetch_factor=4)
    iterator = iter(loader)
    first = next(iterator)
    batches = iterator._batches
    while batches.ready < batches.pending:  # the feeder is on its way
        time.sleep(0.001)
    assert batches.pending == 4
    rest = list(iterator)
    assert len(rest) == 4
    assert loader.stats()["queue_depth"] >= 4 / 5  # the second batch found four
    assert len(first[1]) == 8


def test_strict_makes_errors_of_fallbacks(folder, monkeypatch):
    monkeypatch.setenv("FASTLOAD_STRICT", "1")
    text = (
        r"^loader: FASTLOAD_STRICT forbids PyTorch's own engine: data set "
        r"torch\.utils\.data\.dataset\.TensorDataset is not one that"
    )
    with pytest.raises(fastload.BackendError, match=text):
        fastload.DataLoader(NUMBERS)
    twice = fastload.open(folder, [RandomResizedCrop((9, 9)), RandomResizedCrop((6, 9))])
    with pytest.raises(
        fastload.BackendError,
        match=r"^loader: FASTLOAD_STRICT forbids the torch backend: backend native cannot run",
    ):
        fastload.DataLoader(twice)
    assert fastload.DataLoader(twice, backend="torch").backend == "torch"  # asked for
    data = ImageFolder(folder, v1.Compose([v1.RandomResizedCrop(8), v1.ToTensor()]))
    loader = fastload.DataLoader(data, 8)
    assert len(list(loader)) == 5
    loader.collate_fn = len
    with pytest.raises(
        fastload.BackendError,
        match=r"^loader: FASTLOAD_STRICT forbids PyTorch's own engine: collate_fn is <built-in "
        r"function len>$",
    ):
        iter(loader)
    monkeypatch.setenv("FASTLOAD_STRICT", "0")
    assert list(loader) == [8] * 5


def module(name, function):
    def made(worker_id, **_):
        raise AssertionError("called")

    made.__module__, made.__qualname__ = name, function
    return types.SimpleNamespace(**{function: made}), made


@pytest.mark.parametrize(("name", "function"), arguments.SEEDING)
def test_functions_that_only_seed(name, function, folder, monkeypatch):
    there, seeds = module(name, function)
    assert not arguments.only_seeds(seeds)  # the library is not imported
    monkeypatch.setitem(sys.modules, name, there)
    data = fastload.open(folder, OPS)
    for one in (
        seeds,
        functools.partial(seeds, rank=3),
        functools.partial(functools.partial(seeds), worker_seeding="all"),
    ):
        loader = fastload.DataLoader(data, 8, num_workers=1, worker_init_fn=one)
        assert loader.explain().startswith("backend native")
        assert (
            f"  worker_init_fn {name}.{function} only seeds worker processes, and there are none"
            in loader.explain().splitlines()
        )
        assert len(list(loader)) == 5
    assert not arguments.only_seeds(functools.partial(seeds, worker_seeding=print))
    assert not arguments.only_seeds(lambda _: seeds(0))


def test_the_functions_of_installed_libraries_are_known():
    timm = pytest.importorskip("timm.data.loader", reason="timm is not installed")
    assert arguments.only_seeds(functools.partial(timm._worker_init, worker_seeding="all"))
    assert not arguments.only_seeds(
        functools.partial(timm._worker_init, worker_seeding=lambda _: 1)
    )


def test_in_order_needs_a_torch_that_has_it(monkeypatch):
    monkeypatch.setattr("fastload.loader.arguments.TORCHS", arguments.TORCHS - {"in_order"})
    assert fastload.DataLoader(NUMBERS, 5).batch_size == 5
    with pytest.raises(
        fastload.UsageError,
        match=r"^DataLoader: in_order is False, but torch 2\S+ has no such argument \(want 2\.6",
    ):
        fastload.DataLoader(NUMBERS, in_order=False)
