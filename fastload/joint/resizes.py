"""Joint transforms that give each image a size of its own."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastload.joint.classes import ClassMask
from fastload.joint.picture import Picture, Size
from fastload.joint.steps import Draw, JointStep, Params, Target


@dataclass(frozen=True)
class Resizing(JointStep):
    """Resize, which draws nothing."""

    filter: str = "bilinear"

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return {}

    def move(self, picture: Picture, params: Params) -> None:
        picture.resize(*resized(self.of, params, picture.size), self.filter)

    def of_classes(self, mask: ClassMask, params: Params) -> Any:
        return mask.resize(*resized(self.of, params, mask.size))


@dataclass(frozen=True)
class RandomResizing(Resizing):
    """RandomResize: the shorter edge is drawn."""

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        low, high = self.of.min_size, self.of.max_size
        return {"size": [low + int(draw(1)[0] * (high - low))]}


@dataclass(frozen=True)
class Jitter(Resizing):
    """ScaleJitter: a share of what fits into a size."""

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        (height, width), (low, high) = picture.size, self.of.scale_range
        # As torchvision has it: the first number of its target size goes with the width.
        fits = min(self.of.target_size[1] / height, self.of.target_size[0] / width)
        return {"size": _scaled(picture.size, fits * (low + draw(1)[0] * (high - low)))}


@dataclass(frozen=True)
class ShortestSize(Resizing):
    """RandomShortestSize: the shorter edge is one of a list, the longer one has a limit."""

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        sides = self.of.min_size
        side = sides[int(draw(1)[0] * len(sides))]
        ratio = side / min(picture.size)
        if self.of.max_size is not None:
            ratio = min(ratio, self.of.max_size / max(picture.size))
        return {"size": _scaled(picture.size, ratio)}


def _scaled(size: Size, ratio: float) -> Size:
    height, width = int(size[0] * ratio), int(size[1] * ratio)
    if min(height, width) < 1:
        raise ValueError(
            f"an image of {size[0]}x{size[1]} px would be resized to {height}x{width} px; leave it "
            "out, or scale it less"
        )
    return height, width


def resized(transform: Any, params: Params, size: Size) -> Size:
    """The size that torchvision gives an image of this size."""
    drawn = params.get("size")
    if isinstance(drawn, tuple):
        return drawn[0], drawn[1]
    edges = transform.size if drawn is None else drawn
    most = transform.max_size if drawn is None else None  # RandomResize's is something else
    return _by_torchvision(tuple(edges) if isinstance(edges, list) else edges, most, size)


@lru_cache(maxsize=1024)  # an image is asked for, and then its mask
def _by_torchvision(edges: Any, max_size: int | None, size: Size) -> Size:
    """Of what its resize makes of no boxes."""
    import torch
    from torchvision import tv_tensors
    from torchvision.transforms.v2 import functional

    nothing = tv_tensors.BoundingBoxes(
        torch.zeros((0, 4)), format=tv_tensors.BoundingBoxFormat.XYXY, canvas_size=size
    )
    wanted = list(edges) if isinstance(edges, tuple) else edges
    height, width = functional.resize(nothing, wanted, max_size=max_size).canvas_size
    return int(height), int(width)
