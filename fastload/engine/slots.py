"""Batch memory: a ring of slots.

A slot returns when the last tensor over it is freed, so kept batches are never overwritten.
Page-locked memory that the user gets goes back to PyTorch then: a copy of it to a GPU may still be
under way (`non_blocking=True`), and only PyTorch knows when it is over.
"""

import math
from collections import deque
from typing import NamedTuple

import numpy as np
import torch

from fastload.spec import Array, Dtype
from fastload.system import room


class Ring:
    """`take` gives a free slot or a new one; at most `keep` free ones are held."""

    def __init__(self, keep: int, *, pinned: bool, lent: bool = True) -> None:
        """lent: whether the user gets tensors over slots."""
        self.pinned = pinned
        keep = 0 if pinned and lent else keep
        self.nbytes = 0  # of a slot; grows to the largest batch seen
        # Its append and pop are atomic: leases end on any thread.
        self._free: deque[_Slot] = deque(maxlen=keep)

    def take(self, shape: tuple[int, ...], dtype: Dtype) -> Array:
        """An array in a slot; every view of it, NumPy's or torch's, keeps the slot away from the
        ring.
        """
        nbytes = math.prod(shape) * dtype.itemsize
        self.nbytes = max(self.nbytes, nbytes)
        slot = self._pop()
        if slot is None or slot.nbytes < nbytes:
            memory = allocated(self.nbytes, pinned=self.pinned)
            slot = _Slot(memory, memory.numel(), memory.data_ptr())
        return np.asarray(_Lease(slot, self._free, shape, dtype))

    def _pop(self) -> "_Slot | None":
        try:
            return self._free.pop()
        except IndexError:
            return None


def allocated(nbytes: int, *, pinned: bool) -> torch.Tensor:
    """Raises HostMemoryError."""
    room.check("a batch", nbytes)
    return torch.empty(nbytes, dtype=torch.uint8, pin_memory=pinned)


class _Slot(NamedTuple):
    """What torch says of the memory is asked once."""

    memory: torch.Tensor
    nbytes: int
    address: int


class _Lease:
    """NumPy keeps the object that described the memory alive until the last view has gone."""

    def __init__(
        self, slot: _Slot, free: deque[_Slot], shape: tuple[int, ...], dtype: Dtype
    ) -> None:
        self.slot, self.free = slot, free
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": shape,
            "data": (slot.address, False),
        }

    def __del__(self) -> None:
        self.free.append(self.slot)
