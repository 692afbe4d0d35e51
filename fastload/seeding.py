"""`seed_samples=True`: Python, NumPy and torch are seeded before each sample of a data set that PyTorch's own engine runs.

The seeds are functions of (seed, epoch, sample, occurrence), so that a data set's own augmentation no longer depends on the worker
that happens to run it. Torch's CPU generator is meant; a GPU's generators are left alone.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.utils.data

from fastload import rng
from fastload.spec import Work

WORDS = 5  # 32-bit ones per sample: two for Python, one for NumPy, two for torch


class Order(NamedTuple):
    """What goes to a worker in place of a batch's indices (or of one index): they and all that the seeds depend on."""

    index: Any  # a list of indices, or one index where there are no batches
    samples: Any  # int64 [N]: the indices as 0..length-1
    occurrences: Any  # int64 [N]
    seed: int
    epoch: int

    def fetch(self, dataset: Any) -> Any:
        """The samples from `dataset`, each after seeding. In the main process the generators are as before, afterwards."""
        work = Work(self.samples, self.occurrences, self.seed, self.epoch, 0)
        words = (rng.sample_uniforms(work, rng.SEEDS_OP, WORDS) * 2.0**32).astype(np.uint64).tolist()
        with _kept():
            if not isinstance(self.index, list):
                return _one(dataset, self.index, words[0])
            return [_one(dataset, index, seeds) for index, seeds in zip(self.index, words, strict=True)]


def _one(dataset: Any, index: Any, words: list[int]) -> Any:
    random.seed(words[0] << 32 | words[1])
    np.random.seed(words[2])  # noqa: NPY002  the generator that data sets draw from
    torch.default_generator.manual_seed(words[3] << 32 | words[4])
    return dataset[index]


@contextmanager
def _kept() -> Iterator[None]:
    """Workers are made for this; the main process's generators are the user's."""
    if torch.utils.data.get_worker_info() is not None:
        yield
        return
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])


class Seeded(torch.utils.data.Dataset[Any]):
    """A data set that takes orders; in everything else it is the one inside, so that a worker_init_fn finds what it knows."""

    def __init__(self, dataset: Any) -> None:
        self.__dict__["_inside"] = dataset

    def __getitems__(self, order: Any) -> Any:
        inside = self.__dict__["_inside"]
        return order.fetch(inside) if isinstance(order, Order) else [inside[index] for index in order]

    def __getitem__(self, order: Any) -> Any:
        inside = self.__dict__["_inside"]
        return order.fetch(inside) if isinstance(order, Order) else inside[order]

    def __len__(self) -> int:
        return len(self.__dict__["_inside"])

    def __getattr__(self, name: str) -> Any:
        if name == "_inside":  # asked while unpickling, when there is nothing yet
            raise AttributeError(name)
        return getattr(self.__dict__["_inside"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_inside"], name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
