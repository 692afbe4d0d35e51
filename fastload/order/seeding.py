"""`seed_samples=True`: Python, NumPy and torch are seeded before each sample of a data set that
PyTorch's own engine runs.

The seeds are functions of (seed, epoch, sample, occurrence), so that a data set's own augmentation
no longer depends on the worker that happens to run it. Torch's CPU generator is meant; a GPU's
generators are left alone.
"""

import random
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.utils.data

from fastload import rng
from fastload.order import loaders
from fastload.spec import Longs, Work

WORDS = 5  # 32-bit ones per sample: two for Python, one for NumPy, two for torch


class Indexed(Protocol):
    """A map-style data set, of anybody's."""

    def __getitem__(self, index: object, /) -> object: ...


class SeededIndices(NamedTuple):
    """What goes to a worker in place of a batch's indices (or of one index): they and all that the
    seeds depend on.
    """

    indices: object  # a list of indices, or one index where there are no batches
    samples: Longs  # [N]: the indices as 0..length-1
    occurrences: Longs  # [N]
    seed: int
    epoch: int

    def fetch(self, dataset: Indexed) -> object:
        """The samples from `dataset`, each after seeding."""
        work = Work(self.samples, self.occurrences, self.seed, self.epoch, 0)
        words = (
            (rng.sample_uniforms(work, rng.SEEDS_OP, WORDS) * 2.0**32).astype(np.uint64).tolist()
        )
        if not isinstance(self.indices, list):
            return _sample(dataset, self.indices, words[0])
        return [
            _sample(dataset, index, seeds) for index, seeds in zip(self.indices, words, strict=True)
        ]


def _sample(dataset: Indexed, index: object, words: list[int]) -> object:
    random.seed(words[0] << 32 | words[1])
    np.random.seed(words[2])  # noqa: NPY002  the generator that data sets draw from
    torch.default_generator.manual_seed(words[3] << 32 | words[4])
    return dataset[index]


class Fetcher(Protocol):
    """What PyTorch makes a batch with."""

    def fetch(self, indices: object, /) -> object: ...


class Restoring:
    """PyTorch's fetcher in the main process, whose generators are the program's: after each batch
    they are as before.
    """

    def __init__(self, fetcher: Fetcher) -> None:
        self.fetcher = fetcher

    def fetch(self, indices: object) -> object:
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
        try:
            return self.fetcher.fetch(indices)  # what collate_fn draws follows from the seeds, too
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            torch.set_rng_state(states[2])


class Around(torch.utils.data.Dataset[object]):
    """A data set that stands for the one inside, in everything that programs ask of it: a
    worker_init_fn finds what it knows.
    """

    def __init__(self, dataset: object) -> None:
        self.__dict__["_inside"] = dataset

    def __len__(self) -> int:
        return loaders.length(self.__dict__["_inside"])

    def __getattr__(self, name: str) -> object:
        if name == "_inside":  # asked while unpickling, when there is nothing yet
            raise AttributeError(name)
        return getattr(self.__dict__["_inside"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_inside"], name, value)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)


class Seeded(Around):
    """A data set that takes SeededIndices."""

    def __getitems__(self, indices: SeededIndices | list[object]) -> object:
        inside = self.__dict__["_inside"]
        if isinstance(indices, SeededIndices):
            return indices.fetch(inside)
        return [inside[index] for index in indices]

    def __getitem__(self, index: object) -> object:
        inside = self.__dict__["_inside"]
        return index.fetch(inside) if isinstance(index, SeededIndices) else inside[index]
