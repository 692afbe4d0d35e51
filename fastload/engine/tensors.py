"""Tensors of a batch in the host's memory."""

import torch

from fastload.backends.native.picture import Picture
from fastload.spec import Array, Longs


def images(picture: Picture, out: Array) -> torch.Tensor:
    """[N, C, H, W], or patches [N, length, values]; of three channels over a slot."""
    images = torch.from_numpy(out)
    if picture.plan.out.dtype == "bfloat16":
        images = images.view(torch.bfloat16)
    if picture.plan.patch:
        return images
    images = images.permute(0, 3, 1, 2) if picture.host_channels_last else images
    # Three equal channels are made, of which one may be wanted.
    return images[:, :1].contiguous() if picture.plan.out.channels == 1 else images


def at(part: torch.Tensor, positions: Longs) -> torch.Tensor:
    """Images or labels at these positions of the batch."""
    return part.index_select(0, torch.from_numpy(positions))


def own(array: Array) -> torch.Tensor:
    """A tensor in torch's own memory, which a program may resize."""
    return torch.from_numpy(array).clone()
