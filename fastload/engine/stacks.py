"""Stacks of a batch's pictures, in memory that is used again: a stack of ten crops has 96 MB, and
new memory of that size costs more, in page faults, than the copy into it.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch

from fastload.engine.slots import Ring

KEPT = 2  # free ones of each kind: the consumer holds one while the next is made


class Stacks:
    """Of one loader. A slot returns when the last tensor over it is freed."""

    def __init__(self) -> None:
        self._rings: dict[int, Ring] = {}  # by how many pictures are stacked

    def __call__(self, pictures: Sequence[torch.Tensor]) -> torch.Tensor:
        """As torch.stack(pictures, dim=1)."""
        first, count = pictures[0], len(pictures)
        if first.device.type != "cpu" or not _in_order(first):  # torch has other strides for these
            return torch.stack(tuple(pictures), dim=1)
        if count not in self._rings:
            self._rings[count] = Ring(KEPT, pinned=first.is_pinned())
        nbytes = first.nbytes * count
        memory = torch.from_numpy(self._rings[count].take((nbytes,), np.dtype(np.uint8)))
        out = memory.view(first.dtype).view(len(first), count, *first.shape[1:])
        return torch.stack(tuple(pictures), dim=1, out=out)


def _in_order(tensor: torch.Tensor) -> bool:
    """Whether its strides are those of a new one of its shape."""
    shape = tensor.shape
    return tensor.stride() == tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))
