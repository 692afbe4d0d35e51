"""How far a batch is from the reference's, image by image, in levels: one of the 255 steps of a
uint8 value, whatever is stored.
"""

from typing import NamedTuple

import numpy as np
import torch

from fastload.backends.native import store
from fastload.plan.plan import Plan
from fastload.spec import Floats, Stage


class PerImage(NamedTuple):
    """Of N images, each float64 [N]."""

    largest: Floats  # difference of a value, levels
    mean: Floats  # difference of a value, levels
    share: Floats  # of the pixels, 0..1: any of their channels has other bits


def level(plan: Plan) -> torch.Tensor:
    """float64 [C]: what one level is in the images that `plan` makes; 1 for uint8, 1/255/std where
    values are normalised.
    """
    table = store.table(plan.stage(Stage.STORE), plan.out.dtype)
    if table is None:
        return torch.ones(plan.out.channels, dtype=torch.float64)
    entries = torch.from_numpy(table)
    values = (entries.view(torch.bfloat16) if plan.out.dtype == "bfloat16" else entries).to(
        torch.float64
    )
    return ((values[:, 255] - values[:, 0]).abs() / 255)[: plan.out.channels]


def in_levels(images: torch.Tensor, one: torch.Tensor) -> torch.Tensor:
    """float64 [N, C, H, W]; one: of `level`. What normalising has subtracted stays subtracted."""
    return images.to(torch.float64) / one[:, None, None]


def mismatch(got: torch.Tensor, want: torch.Tensor) -> str:
    """Why two batches of images cannot be compared; empty where they can."""
    if (got.shape, got.dtype, _layouts(got)) == (want.shape, want.dtype, _layouts(want)):
        return ""
    return f"images are {_what(got)}, want {_what(want)}"


def _layouts(images: torch.Tensor) -> tuple[bool, bool]:
    """Whether memory is in order as [N, C, H, W] and as [N, H, W, C]; both, where a side is 1."""
    return images.is_contiguous(), images.is_contiguous(memory_format=torch.channels_last)


def _what(images: torch.Tensor) -> str:
    plain, last = _layouts(images)
    order = "" if plain else ", channels last" if last else ", in another order"
    return f"{str(images.dtype).removeprefix('torch.')} {list(images.shape)}{order}"


def of_batch(got: torch.Tensor, want: torch.Tensor, one: torch.Tensor) -> PerImage:
    """Of batches [N, C, H, W] that are no mismatch; one: of `level`."""
    other = _bits(got) != _bits(want)
    # The same bits are no difference, even of values that are not finite; against finite values
    # these are an endless one.
    apart = (
        (in_levels(got, one) - in_levels(want, one))
        .abs()
        .nan_to_num(nan=torch.inf, posinf=torch.inf)
    )
    apart = torch.where(other, apart, torch.zeros((), dtype=torch.float64)).flatten(1)
    share = other.any(dim=1).flatten(1).to(torch.float64).mean(dim=1)
    return PerImage(
        *(
            np.asarray(values.numpy(), np.float64)
            for values in (apart.amax(dim=1), apart.mean(dim=1), share)
        )
    )


def _bits(images: torch.Tensor) -> torch.Tensor:
    """The same numbers as whole ones, so that NaN is itself and -0 is not 0."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return images.contiguous().view(kinds[images.element_size()])
