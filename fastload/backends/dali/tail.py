"""What DALI has no operator for, on its finished batch in torch: rows and columns that are kept,
erased boxes, bfloat16.
"""

from typing import NamedTuple

import numpy as np
import torch

from fastload.backends.native import store
from fastload.plan.plan import Plan
from fastload.spec import Array, Floats, Ints, Stage
from fastload.transforms.kinds import Values


class Tail(NamedTuple):
    """One picture's records of a batch."""

    plan: Plan  # of the batch's size
    rows: Ints | None  # int32 [1 or N, kept], and so the columns
    columns: Ints | None
    boxes: Ints | None  # int32 [N, K, 4], px


def linear(plan: Plan) -> tuple[Floats, Floats]:
    """float64 [3] each: STORE makes value * factor + shift of a uint8 value of each channel."""
    factor, shift = np.ones(3), np.zeros(3)
    for step in plan.stage(Stage.STORE):
        if isinstance(step.op, Values) and (change := step.op.linear(step.spec)) is not None:
            mean, deviation = map(np.array, change)
            factor, shift = factor / deviation, (shift - mean) / deviation
    return factor, shift


def finish(images: torch.Tensor, tail: Tail) -> torch.Tensor:
    """[N, 3, H, W] in the plan's type and memory order; images is DALI's, [N, 3, H, W] or, channels
    last, [N, H, W, 3].
    """
    out = tail.plan.out
    images = images.permute(0, 3, 1, 2) if out.channels_last else images
    if tail.rows is not None and tail.columns is not None:
        images = _gather(images, tail.rows, tail.columns)
    images = images.to(getattr(torch, out.dtype))
    fills = store.fills(tail.plan.stage(Stage.STORE), out.dtype)
    if tail.boxes is not None and fills is not None:
        _erase(images, tail.boxes, fills)
    return images.contiguous(
        memory_format=torch.channels_last if out.channels_last else torch.contiguous_format
    )


def _gather(images: torch.Tensor, rows: Ints, columns: Ints) -> torch.Tensor:
    down, across = (torch.from_numpy(kept).long().to(images.device) for kept in (rows, columns))
    if len(down) == 1 and len(across) == 1:
        return images.index_select(2, down[0]).index_select(3, across[0])
    return images.take_along_dim(down[:, None, :, None], 2).take_along_dim(
        across[:, None, None, :], 3
    )


def _erase(images: torch.Tensor, boxes: Ints, fills: Array) -> None:
    """In place; fills: [K, 3] of the images' type, bfloat16 as its bits."""
    values = torch.from_numpy(fills)
    values = values.view(torch.bfloat16) if images.dtype == torch.bfloat16 else values
    values = values.to(images.device)[..., None, None]
    for image, own in zip(images, boxes.tolist(), strict=True):
        for (top, left, height, width), value in zip(own, values, strict=True):
            if height and width:
                image[:, top : top + height, left : left + width] = value
