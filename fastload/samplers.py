"""Orders of an epoch that need no table."""

from collections.abc import Iterator

import numpy as np
import torch.utils.data

from fastload import rng

CHUNK = 4096  # positions permuted at once


class ShuffleSampler(torch.utils.data.Sampler[int]):
    """A new permutation each epoch, a pure function of (seed, epoch): constant memory, any length.

    Without `set_epoch` each iteration is one epoch further.
    """

    def __init__(self, length: int, seed: int) -> None:
        self.length, self.seed = length, seed
        self.epoch = -1

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is this epoch, from 0. Raises UsageError."""
        self.epoch = rng.checked_epoch("ShuffleSampler.set_epoch", epoch) - 1

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        return self._order(self.epoch)

    def _order(self, epoch: int) -> Iterator[int]:
        for start in range(0, self.length, CHUNK):
            positions = np.arange(start, min(start + CHUNK, self.length))
            yield from rng.permute(positions, self.length, self.seed, epoch).tolist()
