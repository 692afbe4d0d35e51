"""Data sets and samplers with a `state_dict` of another protocol, such as MosaicML's and LitData's
data sets: they are iterated as PyTorch's loader does, and have no state in the loader's.
"""

import pytest
import torch
import torch.utils.data

import fastload

from .resume_helpers import digest


class State:
    """It is told how far the program has got."""

    def state_dict(self, samples, from_beginning):
        raise AssertionError("called")

    def load_state_dict(self, state):
        raise AssertionError("called")


class Stream(State, torch.utils.data.IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        return iter(range(10) if info is None else range(info.id, 10, info.num_workers))


class Items(State, torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return index * index


class Order(State):
    def __len__(self):
        return 6

    def __iter__(self):
        return iter([5, 3, 3, 1, 0, 9])


class Loads(Items):
    """Its other method wants more."""

    def state_dict(self):
        raise AssertionError("called")

    def load_state_dict(self, state, samples):
        raise AssertionError("called")


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", [Stream, Items, Loads])
def test_data_sets(kind, workers):
    loaders = [
        one(kind(), 4, num_workers=workers)
        for one in (fastload.DataLoader, torch.utils.data.DataLoader)
    ]
    ours, torchs = ([digest(batch) for batch in loader] for loader in loaders)
    assert ours == torchs
    loaders[0].state_dict()


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
def test_samplers(name, folder):
    from torchvision import datasets, transforms

    chain = transforms.Compose([transforms.Resize((6, 9)), transforms.ToTensor()])
    data, order = datasets.ImageFolder(folder, chain), Order()
    given = {name: order if name == "sampler" else [[5, 3], [1]]}
    if name == "batch_sampler":
        given = {name: _Batches()}
    ours, torchs = (
        [digest(batch) for batch in one(data, **given)]
        for one in (fastload.DataLoader, torch.utils.data.DataLoader)
    )
    assert ours == torchs
    fastload.DataLoader(data, **given).state_dict()


class _Batches(Order):
    def __iter__(self):
        return iter([[5, 3], [1]])
