"""Masks of classes that move with their images through joint steps: for transforms that no op
stands for, such as those of torchvision's references/segmentation.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from fastload import _native
from fastload.errors import PipelineError
from fastload.joint.steps import Target
from fastload.lowering import joint_steps
from fastload.lowering.names import Reasons
from fastload.plan.joint import CLASSES, Joint
from fastload.plan.steps import stackable
from fastload.sources.masks import Masks
from fastload.transforms import Op


def planned(ops: tuple[Op, ...]) -> bool:
    """Whether ops give images of one size, in an order that they may have."""
    try:
        return bool(stackable(ops))
    except PipelineError:
        return False


def joint(
    dataset: Any, transforms: object, paths: Sequence[str], one: joint_steps.Lower
) -> tuple[Joint | None, Reasons]:
    """What moves the image and the mask of a wrapped data set together; or why nothing does.

    paths: of the masks.
    """
    made = joint_steps.of(transforms, one)
    if made.unknown:
        return None, made.unknown
    target = partial(_target, dataset, tuple(paths))
    name = type(dataset._dataset).__name__
    return Joint(name, target, made.steps, made.kind, made.table, alone=CLASSES), []


def _target(dataset: Any, paths: Sequence[str], number: int, size: tuple[int, int]) -> Target:
    """As torchvision's wrapper makes it. Raises OSError, what Pillow does, and ValueError."""
    if (numbers := _numbers(paths[number], size)) is not None:
        return {CLASSES: numbers}
    with Image.open(paths[number]) as mask:
        if (mask.height, mask.width) != size:
            raise ValueError(
                f"{paths[number]} has {mask.height}x{mask.width} px, want its image's "
                f"{size[0]}x{size[1]}"
            )
        return {CLASSES: dataset._wrapper(number, (None, mask))[1]}


def _numbers(path: str, size: tuple[int, int]) -> object:
    """The mask, where it is a PNG of one byte per pixel and this size, as most are: in half of
    Pillow's time. Else None. Raises OSError.
    """
    import torch
    from torchvision import tv_tensors

    out = np.empty((1, *size), np.uint8)
    try:
        _native.png_numbers(Masks("", (path,)).read(0), out[0])
    except ValueError:
        return None
    return tv_tensors.Mask(torch.from_numpy(out))
