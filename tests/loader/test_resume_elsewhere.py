"""A state restored on another machine, with another batch size, or in another number of ranks."""

import numpy as np
import pytest
import torch
import torch.utils.data

from fastload import DistributedSampler, ShuffleSampler

from .resume_cases import maker
from .resume_helpers import check_every_step, digest


@pytest.mark.long
def test_another_machine(folder):
    """Workers and backend may change between the parts of a run."""
    make = maker(folder)
    check_every_step(make, lambda: make(num_workers=0), epochs=1)
    check_every_step(make, lambda: make(num_workers=1, prefetch_factor=5), epochs=1)
    check_every_step(make, lambda: make(backend="torch", num_workers=0), epochs=1)
    check_every_step(lambda: make(backend="torch", num_workers=0), make, epochs=1)


def rows(loader):
    """Every sample's bytes with its label, in order."""
    return [
        (digest(image), int(label))
        for images, labels in loader
        for image, label in zip(images, labels, strict=True)
    ]


@pytest.mark.parametrize(("size", "step"), [(2, 4), (6, 2), (1, 5), (12, 8), (4, 4), (7, 14)])
def test_another_batch_size(folder, size, step):
    """`step` batches of 3, then batches of `size`; the last case is a finished epoch."""
    make = maker(folder)
    whole, loader = rows(make()), make()
    iterator = iter(loader)
    taken = sum(len(next(iterator)[1]) for _ in range(step))
    other = make(batch_size=size)
    other.load_state_dict(loader.state_dict())
    assert rows(other) == whole[taken:]


def world(make, ranks, state=None, **named):
    """The loaders of all ranks, as one epoch in the global order: per step the rows of all ranks in
    turn.
    """
    loaders = [
        make(sampler=named["sampler"](ranks, rank), batch_size=12 // ranks) for rank in range(ranks)
    ]
    if state:
        for loader in loaders:
            loader.load_state_dict(state)
    return loaders


@pytest.mark.parametrize("kind", ["shuffle", "torch", "repeats", "weights"])
@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 2), (2, 3)])
def test_another_world(folder, kind, before, after):
    makes = {
        "shuffle": lambda ranks, rank: ShuffleSampler(40, 6, num_replicas=ranks, rank=rank),
        "torch": lambda ranks, rank: torch.utils.data.DistributedSampler(
            range(40), ranks, rank, seed=6
        ),
        "repeats": lambda ranks, rank: DistributedSampler(40, ranks, rank, seed=6, repeats=3),
        "weights": lambda ranks, rank: DistributedSampler(
            40, ranks, rank, seed=6, weights=np.arange(40)
        ),
    }
    make = maker(folder, shuffle=None, drop_last=True)

    def steps(loaders):
        return [
            [
                (digest(batch[0][n]), int(batch[1][n]))
                for n in range(len(batches[0][1]))
                for batch in batches
            ]
            for batches in zip(*loaders, strict=True)
        ]

    whole = steps(world(make, before, sampler=makes[kind]))
    assert len(whole) == 3
    loaders = world(make, before, sampler=makes[kind])
    iterators = [iter(loader) for loader in loaders]
    for iterator in iterators:
        next(iterator)
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)
    assert steps(world(make, after, states[0], sampler=makes[kind])) == whole[1:]
