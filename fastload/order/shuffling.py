"""The order that a loader's `shuffle` means."""

from collections.abc import Sized

import torch

from fastload import rng
from fastload.errors import UsageError
from fastload.order import blocks, mixture
from fastload.order.distributed import DistributedSampler
from fastload.order.samplers import ShuffleSampler


def sampler_of(
    data: object, seed: int | None, generator: torch.Generator | None, *, shuffle: bool
) -> ShuffleSampler | DistributedSampler | None:
    """Of a data set with a length; None: PyTorch's own. Raises UsageError."""
    sized: Sized = data  # type: ignore[assignment]  # no IterableDataset
    mixed = mixture.of_data(data) is not None
    if not shuffle:
        if mixed:
            raise UsageError(
                "DataLoader: dataset is a mix, whose order is that of its weights; give "
                "shuffle=True, or sampler=fastload.DistributedSampler(dataset)"
            )
        return None
    # Read in any order, every sample in a store would be a request in each epoch.
    if seed is None and not mixed and blocks.of_data(data, None) is None:
        return None
    drawn = rng.draw_seed(generator) if seed is None else seed
    return DistributedSampler(sized, 1, 0, seed=drawn) if mixed else ShuffleSampler(sized, drawn)
