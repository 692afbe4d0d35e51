"""What the arguments do, and the iterator that programs look into."""

import copy
import pickle
import random
import warnings

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

import fastload

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
            warnings.simplefilter("ignore", fastload.FallbackWarning)
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


def test_iter_warns_of_nothing(kind, folder):
    loader = kind.make(folder)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        list(loader)
    own = kind.name == "own" and kind.differs("fallback")
    assert [one.category for one in said] == [fastload.FallbackWarning] * own
