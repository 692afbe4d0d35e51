"""What comes out: batches equal to torch's in type, shape, dtype, device and order, and generators
that stand where torch's do.
"""

import itertools

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import RandomSampler, SubsetRandomSampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

from .kinds import KINDS

REFERENCE = KINDS[0]
GIVEN = (
    {"batch_size": 7},
    {"batch_size": 7, "drop_last": True},
    {"batch_size": 7, "shuffle": True},
    {"batch_size": 64, "shuffle": True, "num_workers": 1},
    {"batch_size": 5, "num_workers": 1},
    {"batch_size": 5, "num_workers": 1, "prefetch_factor": 1},
    {"batch_size": 5, "shuffle": True, "num_workers": 1, "persistent_workers": True},
    {"batch_size": None},
    {"batch_size": None, "shuffle": True, "num_workers": 1},
    {"batch_size": 3, "sampler": [5, 1, -1, 39, -40]},
    {"batch_size": 3, "sampler": np.array([5, 1, 5])},
    {"batch_size": 3, "sampler": torch.tensor([5, 1, 5])},
    {"batch_sampler": [[1], (2, 3, 4), torch.tensor([7, 8]), np.array([0]), range(3)]},
)


def made(kind, folder, arguments):
    # "native" without batches is torch's engine too
    return kind.loader(kind.images(folder), **arguments)


def equal(got, want):
    assert type(got) is type(want)
    if isinstance(want, torch.Tensor):
        assert (got.shape, got.dtype, got.device, got.stride()) == (
            want.shape,
            want.dtype,
            want.device,
            want.stride(),
        )
        assert torch.equal(got, want)
    elif isinstance(want, (list, tuple)):
        for one, other in zip(got, want, strict=True):
            equal(one, other)
    else:
        assert got == want


@pytest.mark.parametrize("arguments", GIVEN, ids=str)
def test_batches_and_generators_are_torchs(ours, folder, arguments):
    def run(one):
        torch.manual_seed(3)
        loader, states = made(one, folder, arguments), [torch.get_rng_state()]
        epochs = []
        for _ in range(3 if arguments.get("persistent_workers") else 2):
            epochs.append(list(loader))
            states.append(torch.get_rng_state())
        return epochs, states

    (got, states), (want, torchs) = run(ours), run(REFERENCE)
    equal(got, want)
    assert all(map(torch.equal, states, torchs))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_generator_is_moved_as_torch_moves_it(ours, folder, workers):
    def run(one):
        generator = torch.Generator().manual_seed(5)
        default, moved = torch.get_rng_state(), []
        loader = one.make(folder, 9, shuffle=True, generator=generator, num_workers=workers)
        for _ in range(2):
            iterator = iter(loader)
            moved.append(generator.get_state())
            moved += [torch.cat([labels for _, labels in iterator]), generator.get_state()]
        assert torch.equal(default, torch.get_rng_state())
        return moved

    assert all(map(torch.equal, run(ours), run(REFERENCE)))


class Eager:
    """A sampler that draws in __iter__, not when it is asked for the first index."""

    def __iter__(self):
        return iter(torch.randperm(40).tolist())

    def __len__(self):
        return 40


SAMPLERS = {
    "with replacement": lambda data: RandomSampler(data, replacement=True, num_samples=30),
    "several rounds": lambda data: RandomSampler(data, num_samples=90),
    "subset": lambda _: SubsetRandomSampler([3, 1, 4, 15]),
    "weighted": lambda _: WeightedRandomSampler([1.0] * 20 + [5.0] * 20, 30),
    "distributed": lambda data: DistributedSampler(data, num_replicas=3, rank=1),
    "eager": lambda _: Eager(),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_of_all_kinds(ours, folder, name):
    def run(one):
        torch.manual_seed(4)
        data = one.images(folder)
        loader = one.loader(data, 8, sampler=SAMPLERS[name](data))
        return [torch.cat([labels for _, labels in loader]) for _ in range(2)]

    equal(run(ours), run(REFERENCE))


class InPlace:
    """Batches are parts of one array, which each round shuffles."""

    def __iter__(self):
        order, draw = np.arange(40), np.random.default_rng(2)
        for _ in range(3):
            draw.shuffle(order)
            yield from np.split(order, 8)

    def __len__(self):
        return 24


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_that_fills_its_array_anew(folder, workers):
    """Worker processes of torch's get a copy, too."""

    def run(one, workers):
        return list(one.make(folder, batch_sampler=InPlace(), num_workers=workers))

    equal(run(KINDS[2], workers), run(REFERENCE, 0))


def test_an_early_break_and_another_epoch(kind, folder):
    loader = kind.make(folder, 4, num_workers=1)
    for _ in range(2):
        for images, _ in loader:
            assert images.shape == (4, 3, 6, 9)
            break
    assert len(list(loader)) == 10


@pytest.mark.parametrize("workers", [0, 1])
def test_two_live_iterators_are_two_epochs(kind, folder, workers):
    torch.manual_seed(0)
    loader = kind.make(folder, 4, shuffle=True, num_workers=workers)
    pairs = [(first[1], second[1]) for first, second in zip(loader, loader, strict=True)]
    first, second = (torch.cat(labels) for labels in zip(*pairs, strict=True))
    assert len(pairs) == 10
    assert torch.equal(first.sort().values, second.sort().values)
    assert not torch.equal(first, second)


def test_a_loop_in_a_loop(kind, folder):
    loader = kind.make(folder, 20)
    assert len([0 for _, _ in itertools.product(loader, loader)]) == 4
    assert sum(len(list(loader)) for _ in loader) == 4


def test_persistent_workers_are_one_iterator(kind, folder):
    loader = kind.make(folder, 4, shuffle=True, num_workers=1, persistent_workers=True)
    first = iter(loader)
    next(first)
    assert loader._iterator is first
    assert iter(loader) is first  # and begins anew
    assert len(list(first)) == 10
    assert len(list(loader)) == 10
    assert iter(kind.make(folder)) is not iter(kind.make(folder))


def test_the_data_set_is_read_anew_each_epoch(kind, folder):
    data = kind.images(folder)
    loader = kind.loader(data, 8)
    assert sum(len(labels) for _, labels in loader) == 40
    data.samples += data.samples[:3]
    assert sum(len(labels) for _, labels in loader) == 43
    del data.samples[5:]
    assert sum(len(labels) for _, labels in loader) == 5


def test_a_batch_belongs_to_whoever_has_it(kind, folder):
    loader = kind.make(folder, 4, num_workers=1)
    kept = list(loader)
    kept[0][0].zero_()
    assert all(images.any() for images, _ in kept[1:])
    assert next(iter(loader))[0].any()
    if kind.name == "native":
        assert kind.differs("no processes")
    assert kept[1][0].is_shared() == (kind.name != "native")
