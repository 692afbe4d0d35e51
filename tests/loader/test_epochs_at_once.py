"""Iterators that are opened before any is read, and samplers that PyTorch opens twice."""

from typing import Any

import pytest
import torch
import torch.utils.data

import fastload
from fastload import BucketSampler, DistributedSampler, PixelBatchSampler, ShuffleSampler
from fastload import transforms as T
from fastload.progressive import PerEpoch

OPS = [T.Resize(16), T.RandomCrop(16), T.ToImage()]
KINDS = ("shuffle", "distributed", "buckets", "pixels")


class Numbers(torch.utils.data.Dataset[int]):
    """PyTorch's own engine runs it."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        return index


def arguments(kind: str, data: Any) -> dict[str, Any]:
    if kind == "shuffle":
        return {"batch_size": 7, "shuffle": True}
    if kind == "distributed":
        return {"batch_size": 7, "sampler": DistributedSampler(data, 1, 0)}
    if kind == "buckets":
        return {
            "batch_sampler": BucketSampler([(9, 16)] * 20 + [(16, 9)] * 20, 4, pixels=256, step=8)
        }
    if kind == "pixels":
        schedule = PerEpoch((8, 16, 8, 16))
        batches = PixelBatchSampler(ShuffleSampler(40), schedule, full=16, batch_size=4)
        return {"batch_sampler": batches, "size_schedule": schedule}
    return {"batch_size": None, "shuffle": True}


def made(kind: str, data: Any, workers: int) -> Any:
    given = arguments(kind, data)
    if type(data) is Numbers:
        given.pop("size_schedule", None)
    return fastload.DataLoader(data, seed=3, num_workers=workers, **given)


def flat(batches: Any) -> list[Any]:
    return [
        [part.tolist() if isinstance(part, torch.Tensor) else part for part in batch]
        if isinstance(batch, list)
        else torch.as_tensor(batch).tolist()
        for batch in batches
    ]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_the_state_is_of_the_epoch_that_was_begun_last(kind, first, folder):
    data = fastload.open(folder, OPS)
    loader = made(kind, data, 0)
    both = [iter(loader), iter(loader)]
    next(both[first]), next(both[1 - first])
    state, rest = loader.state_dict(), flat(both[1])
    again = made(kind, data, 2)
    again.load_state_dict(state)
    assert flat(again) == rest


@pytest.mark.parametrize("kind", KINDS)
def test_workers_do_not_change_whose_epoch_it_is(kind, folder):
    data = fastload.open(folder, OPS)
    loaders = [made(kind, data, workers) for workers in (0, 2)]
    pairs = [[iter(loader), iter(loader)] for loader in loaders]
    assert flat(pairs[0][1]) == flat(pairs[1][1])  # the second one is read first
    assert flat(pairs[0][0]) == flat(pairs[1][0])


@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
@pytest.mark.parametrize("kind", [*KINDS, "no batches"])
def test_pytorchs_own_engine(kind):
    loader = made(kind, Numbers(), 0)
    both = [iter(loader), iter(loader)]
    next(both[0]), next(both[1])
    state, rest = loader.state_dict(), flat(both[1])
    again = made(kind, Numbers(), 0)
    again.load_state_dict(state)
    assert flat(again) == rest


@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
@pytest.mark.parametrize("kind", ["pixels", "no batches"])
def test_workers_pass_over_no_epoch(kind):
    """PyTorch opens a sampler twice where there are workers."""
    alone, with_worker = (made(kind, Numbers(), workers) for workers in (0, 1))
    assert [flat(alone) for _ in range(2)] == [flat(with_worker) for _ in range(2)]
