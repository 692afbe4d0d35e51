"""Joint transforms: what each draws, and what it does to an image.

Boxes, masks and keypoints are moved by torchvision's own transform, which is told what was drawn.
So they are torchvision's by construction. Only the draws and the pixels are made here. A draw is
the dictionary that torchvision's `make_params` would give.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastload.joint import classes
from fastload.joint.classes import ClassMask
from fastload.joint.picture import BLACK, Fill, Picture
from fastload.spec import Floats

Draw = Callable[[int], Floats]  # the first so many of a step's uniforms of a sample, [count]
Params = dict[str, Any]
Target = dict[Any, Any]


@dataclass(frozen=True)
class JointStep(ABC):
    """One of torchvision's v2 transforms on an image and its target.

    Args:
        of: torchvision's transform.
    """

    of: Any

    draws_nothing: ClassVar[bool] = False

    def among(self, draw: Draw, fetch: Callable[[float, int], Any]) -> "JointStep":
        """The step of one sample; a mix has its partners, which `fetch` gives."""
        return self

    @abstractmethod
    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        """What torchvision's `make_params` gives; None: nothing is done to this sample.

        Raises ValueError where torchvision raises something.
        """

    @abstractmethod
    def move(self, picture: Picture, params: Params) -> None:
        """Do it to the image."""

    def targets(self, target: Target, params: Params) -> Target:
        """Do it to boxes, masks and keypoints."""
        return {key: self.moved(value, params) for key, value in target.items()}

    def moved(self, value: Any, params: Params) -> Any:
        """A value of the target, after it."""
        if isinstance(value, ClassMask):  # a pure tensor beside an image is none to torchvision
            return self.of_classes(value, params) if is_moved(value.kind) else value
        return self.of.transform(value, params) if is_moved(value) else value

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        """A mask of classes after it: here by torchvision, of all its pixels."""
        return classes.lazy(self.of.transform(mask.tensor(), params))

    @property
    def words(self) -> str:
        return said(self.of)


@dataclass(frozen=True)
class Flip(JointStep):
    """RandomHorizontalFlip."""

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return {} if draw(1)[0] < self.of.p else None

    def move(self, picture: Picture, params: Params) -> None:
        picture.flip()

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        return mask.flip()


@dataclass(frozen=True)
class ZoomOut(JointStep):
    """RandomZoomOut: the image anywhere on a larger canvas."""

    fill: Fill = BLACK

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        applied, larger, x, y = draw(4)
        if applied >= self.of.p:
            return None
        (height, width), (low, high) = picture.size, self.of.side_range
        ratio = low + larger * (high - low)
        more_wide, more_high = int(width * ratio) - width, int(height * ratio) - height
        left, top = int(more_wide * x), int(more_high * y)
        return {"padding": [left, top, more_wide - left, more_high - top]}

    def move(self, picture: Picture, params: Params) -> None:
        picture.pad(params["padding"], self.fill)

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        fill = classes.fill_of(self.of._fill)
        return (
            super().of_classes(mask, params) if fill is None else mask.pad(params["padding"], fill)
        )


@dataclass(frozen=True)
class Crop(JointStep):
    """RandomCrop, with padding where it is asked for."""

    fill: Fill = BLACK

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        height, width = self.of.size
        now_high, now_wide = picture.size
        left, right, top, bottom = self.of.padding or (0, 0, 0, 0)
        if self.of.pad_if_needed:  # as much on both sides as is missing in all, as torchvision does
            more_high = max(0, height - now_high - top - bottom)
            more_wide = max(0, width - now_wide - left - right)
            left, right, top, bottom = (
                left + more_wide, right + more_wide, top + more_high, bottom + more_high
            )  # fmt: skip
        spare_high = now_high + top + bottom - height
        spare_wide = now_wide + left + right - width
        if spare_high < 0 or spare_wide < 0:
            raise ValueError(
                f"RandomCrop takes {height}x{width} px of an image of {now_high}x{now_wide} px; "
                "make the crop smaller, or pass pad_if_needed=True"
            )
        u = draw(2)
        return {
            "needs_crop": spare_high > 0 or spare_wide > 0,
            "top": int(u[0] * (spare_high + 1)), "left": int(u[1] * (spare_wide + 1)),
            "height": height, "width": width,
            "needs_pad": bool(left or right or top or bottom),
            "padding": [left, top, right, bottom],
        }  # fmt: skip

    def move(self, picture: Picture, params: Params) -> None:
        if params["needs_pad"]:
            picture.pad(params["padding"], self.fill)
        if params["needs_crop"]:
            picture.cut(params["top"], params["left"], params["height"], params["width"])

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        fill = classes.fill_of(self.of._fill)
        if fill is None and params["needs_pad"]:
            return super().of_classes(mask, params)
        if params["needs_pad"]:
            mask = mask.pad(params["padding"], fill or 0)
        if params["needs_crop"]:
            mask = mask.cut(params["top"], params["left"], params["height"], params["width"])
        return mask


@dataclass(frozen=True)
class FixedCrop(JointStep):
    """fastload.detection's FixedSizeCrop, which crops before it pads."""

    fill: Fill = BLACK

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        params: Params = self.of.placed(picture.size, float(draw(1)[0]))
        return params

    def move(self, picture: Picture, params: Params) -> None:
        if params["needs_crop"]:
            picture.cut(params["top"], params["left"], params["height"], params["width"])
        if params["needs_pad"]:
            picture.pad(params["padding"], self.fill)


def is_moved(value: object) -> bool:
    """Whether it is a tensor that moves with its image, or the class of such tensors."""
    from torchvision import tv_tensors  # who has joint transforms has it

    kind = value if isinstance(value, type) else type(value)
    return issubclass(kind, tv_tensors.TVTensor)


def said(transform: Any) -> str:
    """A transform in one line, as `explain()` shows it."""
    return " ".join(f"{type(transform).__name__}({transform.extra_repr()})".split())


def uniform(u: float, ends: tuple[float, float]) -> float:
    """A number between the ends, rounded to float32 as torchvision's are."""
    return float(np.float32(ends[0] + u * (ends[1] - ends[0])))
