"""A program's own transform that pads images up to a size."""

from dataclasses import dataclass
from typing import Any

import torch

from fastload.joint.classes import ClassMask
from fastload.joint.picture import BLACK, Fill, Picture, Size
from fastload.joint.steps import Draw, JointStep, Params, Target


@dataclass(frozen=True)
class OwnPadding(JointStep):
    """The program's code says how far, and moves the target; the image is padded here."""

    fill: Fill = BLACK
    of_masks: int | None = None  # what masks are filled with; None: not known

    draws_nothing = True

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return asked(self.of, picture.size)

    def move(self, picture: Picture, params: Params) -> None:
        picture.pad(params["padding"], self.fill)

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        if self.of_masks is None:
            return super().of_classes(mask, params)
        return mask.pad(params["padding"], self.of_masks)


def asked(transform: Any, size: Size) -> Params:
    """What the transform's `make_params` gives for an image of this size."""
    from torchvision import tv_tensors

    nothing = torch.empty(1, dtype=torch.uint8).expand(3, *size)
    params: Params = transform.make_params([tv_tensors.Image(nothing)])
    return params
