"""What an epoch will ask for: the samples of all ranks at any position of its order."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler

from fastload.order.distributed import DistributedSampler
from fastload.order.samplers import ShuffleSampler
from fastload.spec import Longs


class Future(NamedTuple):
    """Positions go round the ranks: p is of rank p % world."""

    at: Callable[[Longs], Longs]  # the samples at these positions
    length: int  # positions in the epoch
    world: int
    rank: int
    batch: int  # samples of one rank in one step


def of_epoch(batches: object, order_seed: int | None) -> Future | None:
    """Of an epoch under way; None: only its sampler knows.

    order_seed: that a RandomSampler without a generator has drawn.
    """
    if type(batches) is not BatchSampler:
        return None
    sampler: object = batches.sampler
    size = int(batches.batch_size)
    if type(sampler) in (ShuffleSampler, DistributedSampler):
        assert isinstance(sampler, (ShuffleSampler, DistributedSampler))
        world, epoch = sampler.num_replicas, sampler.epoch
        length = len(sampler) * world
        return Future(lambda p: sampler.at(p, epoch), length, world, sampler.rank, size)
    if type(sampler) is SequentialSampler:
        return Future(lambda p: p, len(sampler), 1, 0, size)
    if (
        type(sampler) is RandomSampler
        and sampler.generator is None
        and not sampler.replacement
        and order_seed is not None
    ):
        count = len(sampler.data_source)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(order_seed)).numpy()
        return Future(lambda p: np.ascontiguousarray(order[p]), len(sampler), 1, 0, size)
    return None
