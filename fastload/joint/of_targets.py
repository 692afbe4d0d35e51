"""Joint transforms that draw nothing and do nothing to the image."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from fastload.joint import classes
from fastload.joint.classes import ClassMask
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
        whole = {key: classes.settled(value) for key, value in target.items()}
        moved: Target = self.of(self.image, whole)[1]
        return moved


@dataclass(frozen=True)
class OfKind(OfTargets):
    """One that changes each tensor of some classes by itself. Most of a call of torchvision's on a
    whole target is spent in finding these.
    """

    kinds: tuple[type, ...] = ()

    def targets(self, target: Target, params: Params) -> Target:
        return {key: self.moved(value, params) for key, value in target.items()}

    def moved(self, value: Any, params: Params) -> Any:
        if isinstance(value, ClassMask):
            return self.of_classes(value, params)
        return self.of.transform(value, params) if isinstance(value, self.kinds) else value

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        if not issubclass(mask.kind, self.kinds):
            return mask
        return replace(mask, kind=torch.Tensor)  # ToPureTensor is the only one of masks


@dataclass(frozen=True)
class Types(OfTargets):
    """ToDtype with a dictionary of types."""

    def targets(self, target: Target, params: Params) -> Target:
        mask = next(iter(target.values()), None)
        if len(target) == 1 and isinstance(mask, ClassMask):
            dtype = self.of.dtype.get(mask.kind, self.of.dtype.get("others", ...))
            if mask.kind is torch.Tensor:  # which torchvision leaves alone beside an image
                return target
            if dtype is None or dtype in classes.DTYPES:
                typed = mask if dtype is None else replace(mask, dtype=dtype)
                return dict.fromkeys(target, typed)
        return super().targets(target, params)


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
