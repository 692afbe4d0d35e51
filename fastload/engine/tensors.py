"""Tensors of a batch in the host's memory."""

from collections import deque

import numpy as np
import torch

from fastload.backends.native.picture import Picture
from fastload.spec import Array, Longs

TOGETHER = 16  # tensors of labels that are made at once


def copied(picture: Picture) -> bool:
    """Whether `images` copies pixels, so that they must be there: three equal channels are made, of
    which one is wanted.
    """
    return picture.plan.out.channels == 1 and not picture.plan.patch


def images(picture: Picture, out: Array) -> torch.Tensor:
    """[N, C, H, W], or patches [N, length, values]; of three channels over a slot."""
    # Turned as an array: torch's operators give up Python's lock, and each wait for it is dear
    turned = picture.host_channels_last and not picture.plan.patch
    images = torch.from_numpy(out.transpose(0, 3, 1, 2) if turned else out)
    if picture.plan.out.dtype == "bfloat16":
        images = images.view(torch.bfloat16)
    # A batch of one image is contiguous as it lies, with three channels between
    one = torch.contiguous_format
    return images[:, :1].clone(memory_format=one) if copied(picture) else images


def own(array: Array) -> torch.Tensor:
    """A copy in torch's own memory, which a program may resize."""
    return torch.from_numpy(array).clone()


class Owned:
    """The same in less time. Where torch is called once for each batch, its code is cold, and a
    tensor of labels takes as long as twenty in a row.
    """

    def __init__(self) -> None:
        # Tensors, and their memory as arrays. Append and pop are atomic: any thread may come
        self._made: deque[tuple[torch.Tensor, Longs]] = deque()
        self._count = 0  # labels of the batch before

    def __call__(self, array: Array) -> torch.Tensor:
        if array.ndim != 1 or array.dtype != np.int64 or not len(array):
            return own(array)
        before, self._count = self._count, len(array)
        if before != len(array):  # of lengths that change, most would be made in vain
            return own(array)
        while True:
            try:
                tensor, memory = self._made.pop()
            except IndexError:
                self._make(len(array))
                continue
            if len(memory) == len(array):
                memory[...] = array
                return tensor

    def _make(self, count: int) -> None:
        with torch.inference_mode(False):  # whoever asks may be in it, and others get them
            for _ in range(TOGETHER):
                tensor = torch.empty(count, dtype=torch.int64, device="cpu")
                # tensor.numpy() would forbid resizing
                self._made.append((tensor, np.asarray(_Memory(tensor))))


class _Memory:
    """Of a tensor, for NumPy."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.int64).str,
            "shape": tuple(tensor.shape),
            "data": (tensor.data_ptr(), False),
        }
