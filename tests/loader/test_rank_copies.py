"""What comes several times over the ranks is drawn anew each time, whoever makes the batches."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.utils.data
from torch.utils.data import BatchSampler

import fastload
from fastload import DistributedSampler, PixelBatchSampler, ProgressiveResize, UsageError
from fastload import transforms as T

OPS = [T.RandomResizedCrop((8, 8), scale=(0.1, 1.0)), T.ToImage()]
SCHEDULE = ProgressiveResize(total_epochs=4, scale=1.0)
REPEATED = {"repeats": 3}
WEIGHTED = {"weights": [1.0] * 40, "num_samples": 60}


class Cut(BatchSampler):
    """A batch sampler of the user's."""


class Repeated(torch.utils.data.Sampler[int]):
    """A user's sampler for repeated augmentation: each sample on one rank after the other."""

    def __init__(self, num_replicas: int, rank: int, times: int = 3) -> None:
        self.num_replicas, self.rank, self.times = num_replicas, rank, times

    def __len__(self) -> int:
        return 40 * self.times // self.num_replicas

    def __iter__(self) -> Iterator[int]:
        every = [sample for sample in range(40) for _ in range(self.times)]
        return iter(every[self.rank :: self.num_replicas])


def images(batches: Any) -> list[bytes]:
    return [image.numpy().tobytes() for images, *_ in batches for image in images]


def of_ranks(world: int, make: Any) -> list[bytes]:
    """The images of all ranks, in the order of the epoch. make: gives a rank's loader."""
    parts = [images(make(rank)) for rank in range(world)]
    return [image for each in zip(*parts, strict=True) for image in each]


@pytest.mark.parametrize("given", [REPEATED, WEIGHTED])
def test_pixel_batches_have_the_pixels_of_any_other(folder, given):
    data = fastload.open(folder, OPS)

    def plain(rank, world=3):
        sampler = DistributedSampler(data, world, rank, seed=5, **given)
        return fastload.DataLoader(data, 4, sampler=sampler, seed=1)

    def pixel(rank, world=3):
        sampler = DistributedSampler(data, world, rank, seed=5, **given)
        batches = PixelBatchSampler(sampler, SCHEDULE, full=8, batch_size=4)
        return fastload.DataLoader(data, batch_sampler=batches, size_schedule=SCHEDULE, seed=1)

    found = of_ranks(3, pixel)
    assert found == of_ranks(3, plain)
    assert found == of_ranks(1, lambda rank: pixel(rank, 1))[: len(found)]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_copies_of_other_samplers_differ(world, workers, folder):
    data = fastload.open(folder, OPS)

    def repeated(rank):
        return fastload.DataLoader(
            data, 5, sampler=Repeated(world, rank), seed=1, num_workers=workers
        )

    def cut(rank):
        sampler = DistributedSampler(data, world, rank, repeats=3)
        return fastload.DataLoader(data, batch_sampler=Cut(sampler, 5, False), seed=1)

    for make in (repeated, cut):
        found = of_ranks(world, make)
        assert len(set(found)) == len(found) >= 39


def test_what_comes_once_is_the_same_on_any_number_of_ranks(folder):
    data = fastload.open(folder, OPS)

    def make(rank, world):
        sampler = torch.utils.data.DistributedSampler(data, world, rank, seed=2)
        return fastload.DataLoader(data, batch_sampler=Cut(sampler, 5, False), seed=1)

    whole = of_ranks(1, lambda rank: make(rank, 1))
    assert of_ranks(2, lambda rank: make(rank, 2)) == whole


def test_copies_on_pytorchs_own_engine():
    class Drawn(torch.utils.data.Dataset[torch.Tensor]):
        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> torch.Tensor:
            return torch.rand(3)

    def found(world, **given):
        drawn = []
        for rank in range(world):
            sampler = DistributedSampler(40, world, rank, **given)
            loader = fastload.DataLoader(
                Drawn(), 4, sampler=sampler, seed=1, seed_samples=True, lazy_images=False
            )
            with pytest.warns(fastload.FallbackWarning):
                drawn += [tuple(row.tolist()) for batch in loader for row in batch]
        return drawn

    several = found(2, repeats=3)
    assert len(set(several)) == len(several) == 40
    assert set(found(2)) == set(found(1))


def test_exact_evaluation_in_pixel_batches(folder):
    data = fastload.open(folder, OPS)
    counted = 0
    for rank in range(3):
        sampler = DistributedSampler(data, 3, rank, shuffle=False, eval_exact=True)
        batches = PixelBatchSampler(sampler, SCHEDULE, full=8, batch_size=4)
        loader = fastload.DataLoader(data, batch_sampler=batches, size_schedule=SCHEDULE)
        counted += sum(int(valid.sum()) for _, _, valid in loader)
    assert counted == 40


def test_exact_evaluation_by_others_batches_is_refused(folder):
    data = fastload.open(folder, OPS)
    sampler = DistributedSampler(data, 3, 0, shuffle=False, eval_exact=True)
    with pytest.raises(UsageError) as caught:
        fastload.DataLoader(data, batch_sampler=Cut(sampler, 4, False))
    assert str(caught.value) == (
        "DataLoader: eval_exact is given, and Cut does not say which samples of a batch count "
        "(want a fastload.DistributedSampler itself, in DataLoader's own batches); give sampler= "
        "and batch_size="
    )
    with pytest.raises(fastload.BackendError, match="eval_exact cannot run this data set"):
        fastload.DataLoader(data, None, sampler=sampler)
