"""Without `seed=`, a generator that is set back brings an epoch's order and draws back, as in
PyTorch's loader; what comes more often than the random keys can count is drawn again.
"""

import numpy as np
import pytest
import torch
import torch.utils.data
from torchvision import datasets, transforms

import fastload
from fastload.order.samplers import occurrences
from fastload.spec import OCCURRENCES, Work

from .resume_helpers import digest

CHAIN = transforms.Compose([transforms.RandomResizedCrop(9, (0.1, 0.3)), transforms.ToTensor()])
LOADERS = (fastload.DataLoader, torch.utils.data.DataLoader)


class Mine(datasets.ImageFolder):
    def __getitem__(self, index):
        return super().__getitem__(next(iter([index])))  # a call that is not followed


def epochs(loader):
    """Digests of the batches of three epochs, each after the same seed."""
    found = []
    for _ in range(3):
        torch.manual_seed(4)
        if loader.generator is not None:
            loader.generator.manual_seed(4)
        found.append([digest(batch) for batch in loader])
    return found


@pytest.mark.parametrize("own", [False, True], ids=["default", "generator"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_generator_that_is_set_back(folder, workers, own):
    for one in LOADERS:
        generator = torch.Generator() if own else None
        data = datasets.ImageFolder(folder, CHAIN)
        loader = one(data, 8, shuffle=True, num_workers=workers, generator=generator)
        first, *others = epochs(loader)
        assert all(each == first for each in others), one


def test_workers_that_outlive_epochs_go_on(folder):
    for one in LOADERS:
        data = datasets.ImageFolder(folder, CHAIN)
        loader = one(data, 8, num_workers=1, persistent_workers=True)
        first, second, third = epochs(loader)
        assert len({first[0], second[0], third[0]}) == 3


def test_a_seed_of_the_loaders_goes_on_with_the_epochs(folder):
    loader = fastload.DataLoader(datasets.ImageFolder(folder, CHAIN), 8, seed=3)
    first, second, third = epochs(loader)
    assert len({first[0], second[0], third[0]}) == 3


def test_seeds_of_samples_come_back(folder):
    loader = fastload.DataLoader(Mine(folder, CHAIN), 8, seed_samples=True)
    assert loader.explain().startswith("PyTorch's own engine")
    first, *others = epochs(loader)
    assert all(each == first for each in others)


def test_an_occurrence_beyond_the_keys_is_one_of_the_first_again():
    seen = np.array([OCCURRENCES + 3, OCCURRENCES - 1])
    samples = np.array([0, 1, 1])
    assert occurrences(samples, seen).tolist() == [3, OCCURRENCES - 1, 0]
    assert occurrences(samples[:2], seen).tolist() == [4, 1]
    work = Work(samples, np.array([1, OCCURRENCES // 2, 7]), seed=0, epoch=0, step=0)
    assert work.of_view(1, 2).occurrences.tolist() == [3, 1, 15]


def two(image):
    return CHAIN(image), CHAIN(image)


@pytest.mark.long
@pytest.mark.parametrize(
    ("transform", "again"), [(CHAIN, 1 << 16), (two, 1 << 15)], ids=["one", "two"]
)
def test_an_endless_sampler_is_never_out_of_keys(folder, transform, again):
    size = 1 << 10
    data = datasets.ImageFolder(folder, transform)
    loader = fastload.DataLoader(data, size, sampler=[0] * (again + size), num_workers=1)
    assert loader.explain().startswith("backend native")
    digests = [digest(batch) for batch in loader]
    assert digests[-1] == digests[0]
    assert len(set(digests)) == len(digests) - 1
