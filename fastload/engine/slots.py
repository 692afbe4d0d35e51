"""Batch memory: a ring of slots.

A slot returns when the last tensor over it is freed, so kept batches are never overwritten.
Page-locked memory that the user gets goes back to PyTorch then: a copy of it to a GPU may still be
under way (`non_blocking=True`), and only PyTorch knows when it is over.
"""

import math
import weakref
from collections import deque
from typing import NamedTuple

import numpy as np
import torch

from fastload.backends.native.picture import Picture
from fastload.engine import tensors
from fastload.spec import Array, Dtype
from fastload.system import room

TOGETHER = 16  # covers of a slot that are made at once


class Cover(NamedTuple):
    """A slot as the engine fills it and as the caller gets it."""

    array: Array
    images: torch.Tensor


class Ring:
    """`take` and `cover` give a free slot or a new one; at most `keep` free ones are held."""

    def __init__(self, keep: int, *, pinned: bool, lent: bool = True) -> None:
        """lent: whether the user gets tensors over slots."""
        self.pinned = pinned
        keep = 0 if pinned and lent else keep
        self.nbytes = 0  # of a slot; grows to the largest batch seen
        # Its append and pop are atomic: leases end on any thread.
        self._free: deque[_Slot] = deque(maxlen=keep)
        # A batch that is kept keeps its own slot, not the free ones
        self._back = weakref.ref(self._free)

    def take(self, shape: tuple[int, ...], dtype: Dtype) -> Array:
        """An array in a slot; every view of it, NumPy's or torch's, keeps the slot away from the
        ring.
        """
        slot = self._fitting(self._pop(), math.prod(shape) * dtype.itemsize)
        lease = _lease(slot, shape, dtype)
        lease.give(slot, self._back)
        return np.asarray(lease)

    def cover(self, picture: Picture, count: int) -> Cover:
        """The same for `count` images, with the tensor that the caller gets.

        Where NumPy and torch are called once for each batch, their code is cold, and a tensor takes
        as long as ten in a row. So a slot that has images as before makes several at once.
        """
        slot = self._pop()
        if slot is None or slot.images != count or slot.picture is not picture:
            shape, dtype = picture.host_shape(count), picture.host_dtype
            slot = self._fitting(slot, math.prod(shape) * dtype.itemsize)
            slot.picture, slot.images = picture, count
            slot.covers = [_cover(slot, shape, dtype)]
        elif not slot.covers:
            shape, dtype = picture.host_shape(count), picture.host_dtype
            with torch.inference_mode(False):  # whoever asks may be in it, and others get them
                slot.covers = [_cover(slot, shape, dtype) for _ in range(TOGETHER)]
        lease, cover = slot.covers.pop()
        lease.give(slot, self._back)
        return cover

    def _fitting(self, slot: "_Slot | None", nbytes: int) -> "_Slot":
        """The slot, or another one if it has too little memory."""
        self.nbytes = most = max(self.nbytes, nbytes)
        if slot is None or slot.nbytes < nbytes:
            slot = _Slot(allocated(most, pinned=self.pinned))
        return slot

    def _pop(self) -> "_Slot | None":
        try:
            return self._free.pop()
        except IndexError:
            return None


def allocated(nbytes: int, *, pinned: bool) -> torch.Tensor:
    """Raises HostMemoryError."""
    room.check("a batch", nbytes)
    return torch.empty(nbytes, dtype=torch.uint8, pin_memory=pinned)


class _Slot:
    """Memory of batches. What torch says of it is asked once."""

    def __init__(self, memory: torch.Tensor) -> None:
        self.memory, self.nbytes, self.address = memory, memory.numel(), memory.data_ptr()
        # Covers that nobody has had, and what they are of
        self.covers: list[tuple[_Lease, Cover]] = []
        self.picture: Picture | None = None
        self.images = 0


class _Lease:
    """NumPy keeps the object that described the memory alive until the last view has gone."""

    def __init__(self, memory: torch.Tensor, interface: dict[str, object]) -> None:
        self.memory, self.__array_interface__ = memory, interface
        # Only of one that is given: covers lie in their slot, and nobody frees a circle
        self.slot: _Slot | None = None

    def give(self, slot: _Slot, back: "weakref.ref[deque[_Slot]]") -> None:
        """The slot goes there when the last view has gone, if the ring is still there."""
        self.slot, self.back = slot, back

    def __del__(self) -> None:
        if self.slot is not None and (free := self.back()) is not None:
            free.append(self.slot)


def _lease(slot: _Slot, shape: tuple[int, ...], dtype: Dtype) -> _Lease:
    data = {"version": 3, "typestr": dtype.str, "shape": shape, "data": (slot.address, False)}
    return _Lease(slot.memory, data)


def _cover(slot: _Slot, shape: tuple[int, ...], dtype: Dtype) -> tuple[_Lease, Cover]:
    assert slot.picture is not None
    lease = _lease(slot, shape, dtype)
    array = np.asarray(lease)
    return lease, Cover(array, tensors.images(slot.picture, array))
