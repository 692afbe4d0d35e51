"""A batch's memory that its samples are made in, where they have one size: nothing is copied to
stack them.
"""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from fastload.engine.slots import Ring
from fastload.spec import Array, Dtype

Take = Callable[[tuple[int, int, int], Dtype], Array]


class Gathered:
    """Of one batch. The first sample that is made says of which size they are."""

    def __init__(self, count: int, whole: Ring, apart: Take) -> None:
        """whole: where the memory comes from; apart: gives that of samples of another size."""
        self.count, self.whole, self.apart = count, whole, apart
        self._lock = threading.Lock()
        self._memory: Array | None = None

    def take(self, position: int, shape: tuple[int, int, int], dtype: Dtype) -> Array:
        """Memory for the sample at this position."""
        with self._lock:
            if self._memory is None:
                self._memory = self.whole.take((self.count, *shape), dtype)
            memory = self._memory
        if memory.shape[1:] == shape and memory.dtype == dtype:
            row: Array = memory[position]
            return row
        return self.apart(shape, dtype)

    def tensor(self, made: Sequence[object]) -> torch.Tensor | None:
        """All of it; None where these are not the samples that were made in it, in order."""
        if self._memory is None or len(made) != self.count:
            return None
        whole = torch.from_numpy(self._memory)
        step = whole.nbytes // self.count
        inside = all(
            isinstance(one, torch.Tensor)
            and one.dtype == whole.dtype
            and one.shape == whole.shape[1:]
            and one.data_ptr() == whole.data_ptr() + position * step
            for position, one in enumerate(made)
        )
        return whole if inside else None


class Room(NamedTuple):
    """For a batch's images and its masks of classes."""

    images: Gathered
    masks: Gathered
