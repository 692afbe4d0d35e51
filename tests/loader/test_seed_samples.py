"""seed_samples=True: a data set's own random numbers depend on the sample, not on the worker."""

import random

import numpy as np
import pytest
import torch
import torch.utils.data
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.order.seeding import Seeded


class Draws(torch.utils.data.Dataset):
    """Items are the next numbers of all three generators."""

    def __init__(self, length: int = 10) -> None:
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.tensor(
            [
                random.randrange(1 << 30),
                np.random.randint(1 << 30),  # noqa: NPY002
                torch.randint(1 << 30, ()).item(),
            ]
        )


class InBatches(Draws):
    def __getitems__(self, indices):
        raise AssertionError("one seeding for a whole batch")


def rows(workers=0, data=None, **arguments):
    named = {"batch_size": 4, "seed_samples": True, "seed": 5, **arguments}
    return torch.cat(
        list(fastload.DataLoader(data or Draws(), num_workers=workers, **named))
    ).tolist()


def test_any_number_of_workers_and_any_batch_size_give_the_same():
    want = rows()
    assert len({tuple(row) for row in want}) == 10
    assert rows(workers=1) == rows(batch_size=3) == rows(data=InBatches()) == want
    assert rows(workers=1, batch_size=1, persistent_workers=True) == want
    assert rows(seed=6) != want


def test_without_batches():
    loader = fastload.DataLoader(Draws(), None, seed_samples=True, seed=5)
    assert torch.stack(list(loader)).tolist() == rows()


@pytest.mark.long
def test_each_epoch_is_another_and_set_epoch_brings_it_back():
    for arguments in ({}, {"num_workers": 1, "persistent_workers": True}):
        loader = fastload.DataLoader(Draws(), 4, seed_samples=True, seed=5, **arguments)
        epochs = [torch.cat(list(loader)).tolist() for _ in range(3)]
        assert epochs[0] == rows()
        assert epochs[0] != epochs[1] != epochs[2]
        loader.set_epoch(1)
        assert torch.cat(list(loader)).tolist() == epochs[1]


def test_a_sample_has_its_numbers_wherever_it_stands():
    want = rows()
    assert rows(sampler=[7, 2, -1]) == [want[7], want[2], want[9]]
    again = rows(sampler=[7, 2, 7, 7], batch_size=2)
    assert again[:2] == [want[7], want[2]]
    assert len({tuple(row) for row in again}) == 4  # each appearance is another


def test_torch_manual_seed_governs_where_no_seed_is_given():
    def run(seed, workers):
        torch.manual_seed(seed)
        return rows(seed=None, workers=workers)

    assert run(1, 0) == run(1, 1) != run(2, 0)


def test_the_programs_generators_are_left_alone():
    loader = fastload.DataLoader(Draws(), 4, seed_samples=True, seed=5)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    iterator = iter(loader)  # draws the base seed, as torch does
    numpy_state = np.random.get_state()[1].tolist()  # noqa: NPY002
    before = random.getstate(), numpy_state, torch.get_rng_state().tolist()
    list(iterator)
    assert (
        random.getstate(),
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        torch.get_rng_state().tolist(),
    ) == before


def noisy(samples):
    return torch.stack(samples) + torch.randint(1 << 30, (1, 1)) + random.randrange(1 << 30)


@pytest.mark.parametrize("size", [4, None])
def test_what_a_collate_function_draws_depends_on_no_worker_either(size):
    collate_fn = noisy if size else lambda row: noisy([row])
    torch.manual_seed(1)
    want = rows(collate_fn=collate_fn, batch_size=size)
    torch.manual_seed(2)
    random.seed(2)
    assert rows(collate_fn=collate_fn, batch_size=size) == want
    assert rows(workers=1, collate_fn=collate_fn, batch_size=size) == want


class Breaks(Draws):
    def __getitem__(self, index):
        random.random()
        raise KeyError(index)


def test_they_are_put_back_after_an_error_too():
    before = random.getstate()
    with pytest.raises(KeyError):
        rows(data=Breaks())
    assert random.getstate() == before


def test_wrong_indices_are_the_data_sets_business():
    with pytest.raises(TypeError, match=r"^list indices must be integers or slices, not str$"):
        list(fastload.DataLoader([1, 2, 3], seed_samples=True, sampler=["a"]))
    with pytest.raises(IndexError, match=r"^list index out of range$"):
        list(fastload.DataLoader([1, 2, 3], seed_samples=True, sampler=[3]))


class Elastic(torch.nn.Module):
    """A transform that fastload does not know."""

    def forward(self, image):
        return image.rotate(random.uniform(-20, 20))


@pytest.mark.long
def test_pictures_of_a_folder(folder):
    data = ImageFolder(folder, v1.Compose([Elastic(), v1.RandomResizedCrop((6, 9)), v1.ToTensor()]))

    def epoch(workers):
        loader = fastload.DataLoader(
            data, 8, shuffle=True, num_workers=workers, seed=3, seed_samples=True
        )
        assert loader.explain().endswith(
            "\n  seed_samples: every sample is fetched after seeding Python, NumPy and torch"
        )
        return torch.cat([images for images, _ in loader])

    assert torch.equal(epoch(0), epoch(1))


def test_it_is_void_natively(folder):
    loader = fastload.DataLoader(
        fastload.open(folder, v1.RandomResizedCrop(8)), 8, seed_samples=True
    )
    assert loader.explain().endswith("\n  seed_samples: every draw is already keyed by its sample")


def test_streams_have_no_samples_to_key():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    text = (
        r"^DataLoader: seed_samples=True, but an IterableDataset has no sample numbers to make "
        r"seeds of; leave it out$"
    )
    with pytest.raises(fastload.UsageError, match=text):
        fastload.DataLoader(Stream(), seed_samples=True)


def change(worker):
    info = torch.utils.data.get_worker_info()
    info.dataset.length = info.dataset.length * 10 + worker


class Tells(Draws):
    def __getitem__(self, index):
        return self.length


def test_workers_find_the_data_set_that_they_know():
    loader = fastload.DataLoader(
        Tells(), 10, num_workers=1, worker_init_fn=change, seed_samples=True
    )
    assert next(iter(loader)).tolist() == [100] * 10
    assert isinstance(loader.dataset, Tells)
    assert Seeded(Tells(3)).length == 3
