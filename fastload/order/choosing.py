"""Whose sampler orders the samples where the user gives none."""

from typing import Any

import torch

from fastload import rng
from fastload.order import blocks
from fastload.order.samplers import ShuffleSampler


def own_order(
    dataset: Any, shuffle: bool | None, sampler: Any, seed: int | None, generator: Any
) -> tuple[Any, bool | None]:
    """The sampler and `shuffle` that PyTorch's class is given: fastload's own sampler where a seed
    fixes the order, or where samples of a store are not to be one request each.
    """
    if not shuffle or sampler is not None:
        return sampler, shuffle
    streams = isinstance(dataset, torch.utils.data.IterableDataset)  # these have no length
    if seed is not None and not streams:
        return ShuffleSampler(dataset, seed), None
    if blocks.of_data(dataset, None):
        return ShuffleSampler(dataset, rng.draw_seed(generator)), None
    return sampler, shuffle
