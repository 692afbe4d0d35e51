"""What the arguments do, and the iterator that programs look into."""

import copy
import functools
import os
import pickle
import random
import sys
import time
import types
import warnings

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from fastload.backends.native.runner import Runner

from .kinds import KINDS, Numbers, Stream, first


def shapes(samples):
    return [tuple(image.shape) for image, _ in samples]


def test_collate_fn(cls, folder):
    for workers in (0, 1):
        loader = cls(KINDS[2].images(folder), 3, collate_fn=shapes, num_workers=workers)
        assert next(iter(loader)) == [(3, 6, 9)] * 3


def test_collate_fn_may_be_set_later(kind, folder):
    loader = kind.make(folder, 3)
    assert next(iter(loader))[0].shape == (3, 3, 6, 9)
    loader.collate_fn = shapes
    assert next(iter(loader)) == [(3, 6, 9)] * 3
    loader.collate_fn = torch.utils.data.default_collate
    assert next(iter(loader))[0].shape == (3, 3, 6, 9)


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
        assert loader.explain() == f"PyTorch's own engine, unchanged:\n  {text}"
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


@pytest.mark.skipif(
    torch.accelerator.is_available()
    if hasattr(torch, "accelerator")
    else torch.cuda.is_available(),
    reason="pins here",
)
def test_pin_memory_without_an_accelerator(kind, folder):
    def warned(one):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            images, _ = first(one.make(folder, 4, pin_memory=True))
        assert not images.is_pinned()
        return [str(each.message) for each in found]

    assert warned(kind) == warned(KINDS[0])
    assert all(
        text.startswith("'pin_memory' argument is set as true but no accelerator is found")
        for text in warned(kind)
    )


@pytest.mark.skipif(
    "in_order" not in torch.utils.data.DataLoader.__init__.__annotations__,
    reason="torch has it from 2.6 on",
)
def test_in_order(kind, folder):
    loader = kind.make(folder, 4, num_workers=1, in_order=False)
    assert sorted(torch.cat([labels for _, labels in loader]).tolist()) == sorted(
        kind.images(folder).targets
    )
    if kind.name == "native":
        assert kind.differs("in_order")
        assert (
            "  in_order=False: batches come in order all the same, which costs threads nothing"
            in loader.explain().splitlines()
        )


@pytest.mark.parametrize("workers", [0, 1])
def test_the_iterator_is_one_that_programs_know(kind, folder, workers):
    loader = kind.make(folder, 4, num_workers=workers)
    iterator = iter(loader)
    assert iter(iterator) is iterator
    assert len(iterator) == 10
    assert isinstance(iterator, _BaseDataLoaderIter)
    if kind.name == "native":
        assert kind.differs("iterator class")
        assert iterator._workers == []
    else:
        assert isinstance(
            iterator, _MultiProcessingDataLoaderIter if workers else _SingleProcessDataLoaderIter
        )
        assert len(getattr(iterator, "_workers", [])) == workers
    assert (
        iterator._num_workers,
        iterator._pin_memory,
        iterator._timeout,
        iterator._num_yielded,
    ) == (workers, False, 0, 0)
    assert (iterator._dataset, iterator._index_sampler, iterator._collate_fn) == (
        loader.dataset,
        loader.batch_sampler,
        loader.collate_fn,
    )
    assert iterator._persistent_workers is False
    assert iterator._drop_last is False
    next(iterator)
    assert iterator._num_yielded == 1
    assert not hasattr(iterator, "_pin_memory_thread")  # nothing is pinned
    assert len(list(iterator)) == 9
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("workers", [0, 1])
def test_profilers_see_the_loader(kind, folder, workers):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        list(kind.make(folder, 20, num_workers=workers))
    names = {
        event.key
        for event in profile.key_averages()
        if event.key.startswith("enumerate(DataLoader)")
    }
    own = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
    assert names == {f"enumerate(DataLoader)#{'Native' if kind.name == 'native' else own}.__next__"}


def test_an_iterator_cannot_be_pickled(kind, folder):
    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(kind.make(folder)))


def test_frameworks_may_end_the_workers(kind, folder):
    loader = kind.make(folder, 4, num_workers=1, persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    iterator._shutdown_workers()
    loader._iterator = None
    assert len(list(loader)) == 10


@pytest.mark.parametrize(
    "copying",
    [copy.copy, copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))],
    ids=["copy", "deep", "pickle"],
)
def test_a_loader_can_be_copied(kind, folder, copying):
    loader = kind.make(folder, 4, shuffle=True, num_workers=1)
    first(loader)
    twin = copying(loader)
    assert type(twin) is type(loader)
    runs = []
    for one in (loader, twin):
        torch.manual_seed(8)
        runs.append(torch.cat([labels for _, labels in one]))
    assert torch.equal(*runs)


def test_a_loader_with_living_workers_can_be_pickled(kind, folder):
    loader = kind.make(folder, 4, num_workers=1, persistent_workers=True)
    first(loader)
    if kind.name == "torch":
        with pytest.raises(NotImplementedError):
            pickle.dumps(loader)
        return
    assert kind.differs("pickling")
    assert len(list(pickle.loads(pickle.dumps(loader)))) == 10


@pytest.mark.parametrize("workers", [0, 1])
def test_iterable_data_sets(cls, workers):
    def batches(**arguments):
        return [batch.tolist() for batch in cls(Stream(7, 7), num_workers=workers, **arguments)]

    assert batches(batch_size=3) == [[0, 1, 2], [3, 4, 5], [6]]
    assert batches(batch_size=3, drop_last=True) == [[0, 1, 2], [3, 4, 5]]
    assert list(cls(Stream(3), batch_size=None, num_workers=workers)) == [0, 1, 2]
    lengths = [
        len(cls(Stream(7, 7), size, drop_last=drop))
        for size, drop in ((3, False), (3, True), (None, False))
    ]
    assert lengths == [3, 2, 7]
    with pytest.raises(TypeError, match=r"^object of type 'Stream' has no len\(\)$"):
        len(cls(Stream(3)))


def test_an_iterable_data_set_that_lies_about_its_length(cls):
    loader = cls(Stream(3, 2), batch_size=None)
    assert len(loader) == 2
    text = (
        r"was reported to be 2\(when accessing len\(dataloader\)\), but 3 samples have been fetched"
    )
    with pytest.warns(UserWarning, match=text):
        assert list(loader) == [0, 1, 2]


class Draws(Numbers):
    def __getitem__(self, index):
        return torch.tensor(
            [
                random.randrange(1 << 30),
                np.random.randint(1 << 30),  # noqa: NPY002  what data sets do
                torch.randint(1 << 30, ()).item(),
            ]
        )


@pytest.mark.parametrize("workers", [0, 1])
def test_a_data_sets_own_draws_are_torchs(kind, workers):
    def run(cls):
        torch.manual_seed(1)
        random.seed(2)
        np.random.seed(3)  # noqa: NPY002
        return torch.cat(list(cls(Draws(), 4, num_workers=workers)))

    assert torch.equal(run(kind.loader), run(KINDS[0].loader))


def test_random_transforms_move_the_programs_generators_or_not(kind, folder):
    from torchvision import transforms

    transform = transforms.Compose([transforms.RandomResizedCrop((6, 9)), transforms.ToTensor()])
    torch.manual_seed(1)
    torch.empty((), dtype=torch.int64).random_()  # the base seed
    before = torch.get_rng_state()
    torch.manual_seed(1)
    list(kind.loader(kind.images(folder, transform), 8))
    assert torch.equal(before, torch.get_rng_state()) == (kind.name == "native")
    if kind.name == "native":
        assert kind.differs("random numbers")


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
