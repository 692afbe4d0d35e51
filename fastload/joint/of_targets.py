"""Joint transforms that draw nothing and do nothing to the image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fastload.joint.picture import Picture
from fastload.joint.steps import Draw, JointStep, Params, Target


@dataclass(frozen=True)
class OfTargets(JointStep):
    """One that torchvision is called for, on the whole target.

    Args:
        image: Of torchvision's, 1 px: beside it no label is taken for an image.
    """

    draws_nothing = True
    image: Any = None

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return {}

    def move(self, picture: Picture, params: Params) -> None:
        return

    def targets(self, target: Target, params: Params) -> Target:
        moved: Target = self.of(self.image, target)[1]
        return moved


@dataclass(frozen=True)
class OfKind(OfTargets):
    """One that changes each tensor of some classes by itself. Most of a call of torchvision's on a
    whole target is spent in finding these.
    """

    kinds: tuple[type, ...] = ()

    def targets(self, target: Target, params: Params) -> Target:
        return {
            key: self.of.transform(value, params) if isinstance(value, self.kinds) else value
            for key, value in target.items()
        }


@dataclass(frozen=True)
class Sanitize(OfTargets):
    """SanitizeBoundingBoxes: boxes that are too small or reach beyond the image go, with their
    masks and labels.
    """

    def targets(self, target: Target, params: Params) -> Target:
        from torchvision import tv_tensors
        from torchvision.transforms.v2 import functional

        boxes = [value for value in target.values() if isinstance(value, tv_tensors.BoundingBoxes)]
        labels = self._labels(target)
        if len(boxes) != 1 or any(len(label) != len(boxes[0]) for label in labels):
            return super().targets(target, params)  # which says what is wrong
        if _all_valid(boxes[0], self.of.min_size, self.of.min_area):
            return target
        _, valid = functional.sanitize_bounding_boxes(
            boxes[0], min_size=self.of.min_size, min_area=self.of.min_area
        )
        told = {"valid": valid, "labels": labels}
        return {key: self.of.transform(value, told) for key, value in target.items()}

    def _labels(self, target: Target) -> Sequence[Any]:
        """The tensors of labels."""
        found = self.of._labels_getter((self.image, target))
        return () if found is None else (found,) if isinstance(found, torch.Tensor) else found


def _all_valid(boxes: Any, min_size: float, min_area: float) -> bool:
    """Whether no box goes, as most often: NumPy says so in a twentieth of torchvision's time. False
    where it cannot tell.
    """
    from torchvision import tv_tensors

    if boxes.format != tv_tensors.BoundingBoxFormat.XYXY:
        return False
    left, top, right, bottom = boxes.as_subclass(torch.Tensor).numpy().reshape(-1, 4).T
    height, width = boxes.canvas_size
    wide, high = right - left, bottom - top
    large = (wide >= min_size) & (high >= min_size) & (wide * high >= min_area)
    inside = (left >= 0) & (top >= 0) & (right <= width) & (bottom <= height)
    return bool((large & inside).all())
