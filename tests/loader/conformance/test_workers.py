"""What workers are told, how they are started and ended, and how far they read ahead."""

import functools
import os
import pickle
import sys
import time
import types

import pytest
import torch
import torch.utils.data
from torch.utils.data import get_worker_info

from fastload.backends.native.runner import Runner
from tests.loader.explained import own

from .kinds import KINDS, first


class Who(torch.utils.data.Dataset):
    """Items tell about the worker that made them."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return (
            None
            if info is None
            else (
                info.id,
                info.num_workers,
                info.seed - info.id,
                type(info.dataset).__name__,
                os.getpid(),
            )
        )


def listed(samples):
    return samples


def test_get_worker_info(cls):
    assert get_worker_info() is None
    assert list(cls(Who(), 2, collate_fn=listed)) == [[None, None]] * 2
    generator = torch.Generator().manual_seed(1)
    want = (
        torch.empty((), dtype=torch.int64)
        .random_(generator=torch.Generator().manual_seed(1))
        .item()
    )
    found = [
        item
        for batch in cls(Who(), 2, collate_fn=listed, num_workers=1, generator=generator)
        for item in batch
    ]
    assert {item[:4] for item in found} == {(0, 1, want, "Who")}
    assert os.getpid() not in {item[4] for item in found}


def mark(worker, where):
    with open(os.path.join(where, f"worker{worker}"), "w"):
        pass


def test_worker_init_fn_runs_in_each_worker(kind, folder, tmp_path):
    init = functools.partial(mark, where=str(tmp_path))
    loader = kind.loader(kind.images(folder), 8, num_workers=1, worker_init_fn=init)
    if kind.name == "native":
        text = f"worker_init_fn is functools.partial({mark!r}), and there are no worker processes"
        assert loader.explain() == own(text, native="ToTensor", workers=True)
    assert len(list(loader)) == 5
    assert os.listdir(tmp_path) == ["worker0"]


def failing(worker):
    raise RuntimeError("no start")


def test_an_init_that_fails(cls, folder):
    with pytest.raises(
        RuntimeError, match=r"(?s)^Caught RuntimeError in DataLoader worker process 0\..*no start"
    ):
        first(cls(KINDS[2].images(folder), num_workers=1, worker_init_fn=failing))


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        time.sleep(1)


def test_timeout(kind, folder, monkeypatch):
    begin = Runner.begin
    monkeypatch.setattr(Runner, "begin", lambda *given: (time.sleep(1), begin(*given))[1])
    data = kind.images(folder) if kind.name == "native" else Slow()
    loader = kind.loader(data, 1, num_workers=1, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0\.2 seconds$"):
        first(loader)


def test_a_timeout_that_is_not_reached(kind, folder):
    assert len(list(kind.make(folder, 4, num_workers=1, timeout=60))) == 10


@pytest.mark.parametrize(
    "context", ["fork", torch.multiprocessing.get_context("fork")], ids=["name", "object"]
)
def test_multiprocessing_context(kind, folder, context):
    loader = kind.make(folder, 4, num_workers=1, multiprocessing_context=context)
    assert len(list(loader)) == 10
    if kind.name == "native":
        assert (
            "  multiprocessing_context: there are no processes to start"
            in loader.explain().splitlines()
        )


def test_frameworks_may_end_the_workers(kind, folder):
    loader = kind.make(folder, 4, num_workers=1, persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    iterator._shutdown_workers()
    loader._iterator = None
    assert len(list(loader)) == 10


def test_a_loader_with_living_workers_can_be_pickled(kind, folder):
    loader = kind.make(folder, 4, num_workers=1, persistent_workers=True)
    first(loader)
    if kind.name == "torch":
        with pytest.raises(NotImplementedError):
            pickle.dumps(loader)
        return
    assert kind.differs("pickling")
    assert len(list(pickle.loads(pickle.dumps(loader)))) == 10


@pytest.mark.parametrize("workers", [0, 1, "auto"])
def test_num_workers(kind, folder, workers, monkeypatch):
    monkeypatch.setattr("fastload.system.machine.usable_cores", lambda: 1)
    if kind.name == "torch" and workers == "auto":
        with pytest.raises(TypeError):
            kind.make(folder, num_workers=workers)
        return
    loader = kind.make(folder, 8, num_workers=workers)
    assert loader.num_workers == (1 if workers == "auto" else workers)
    assert workers != "auto" or kind.differs("auto")
    assert len(list(loader)) == 5


class Watched:
    """A sampler that knows how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __iter__(self):
        for index in range(40):
            self.asked += 1
            yield index

    def __len__(self):
        return 40


@pytest.mark.parametrize(
    ("workers", "factor", "ahead"), [(0, None, 0), (1, None, 2), (1, 5, 5), (1, 12, 12)]
)
def test_how_far_the_sampler_is_read_ahead(kind, folder, workers, factor, ahead):
    sampler = Watched()
    iterator = iter(
        kind.make(folder, 1, sampler=sampler, num_workers=workers, prefetch_factor=factor)
    )
    most = 8 if kind.name == "native" and kind.differs("look-ahead") else 99
    assert sampler.asked == min(ahead, most)
    next(iterator)
    assert sampler.asked == min(ahead, most) + 1


def seed_nothing(worker):
    raise AssertionError("called")


def test_an_init_that_only_seeds_is_not_called(kind, folder, monkeypatch):
    monkeypatch.setattr("fastload.loader.arguments.SEEDING", ((__name__, "seed_nothing"),))
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(seed_nothing=seed_nothing))
    loader = kind.make(folder, 8, num_workers=1, worker_init_fn=functools.partial(seed_nothing))
    if kind.name == "native":
        assert kind.differs("worker_init_fn")
        assert len(list(loader)) == 5
        line = (
            f"  worker_init_fn {__name__}.seed_nothing only seeds worker processes, and there "
            "are none"
        )
        assert line in loader.explain().splitlines()
        return
    with pytest.raises(AssertionError, match="called"):
        first(loader)
