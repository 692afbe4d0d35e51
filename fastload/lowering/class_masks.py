"""Masks of classes that move with their images through joint steps: for transforms that no op
stands for, such as those of torchvision's references/segmentation.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from PIL import Image

from fastload.errors import PipelineError
from fastload.joint.steps import Target
from fastload.lowering import joint_steps
from fastload.lowering.names import Reasons
from fastload.plan.joint import CLASSES, Joint
from fastload.plan.steps import stackable
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
    """As torchvision's wrapper makes it. Raises what Pillow does, and ValueError."""
    with Image.open(paths[number]) as mask:
        if (mask.height, mask.width) != size:
            raise ValueError(
                f"{paths[number]} has {mask.height}x{mask.width} px, want its image's "
                f"{size[0]}x{size[1]}"
            )
        return {CLASSES: dataset._wrapper(number, (None, mask))[1]}
