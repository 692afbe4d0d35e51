"""CROP: the ops that choose a box and a size.

Names, defaults and arithmetic are torchvision v2's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import (
    FILTERS,
    Params,
    definition_problems,
    everywhere,
    filter_name,
    filter_problems,
    fitted_size,
    pair,
    scaled_size,
    size_problems,
)
from fastload.transforms.boxes import TRIES, crop_boxes
from fastload.transforms.covering import Cover
from fastload.transforms.kinds import Region, Whole, Window

# timm 1.0.31: where the interpolation is "random", an image gets one of these, half the time each.
RANDOM = ("bilinear", "bicubic")


@dataclass(frozen=True)
class RandomResizedCrop(Region):
    """Cut a random box and resize it to `size`.

    Source: Szegedy et al. 2014, arXiv:1409.4842, section 6.

    Args:
        size: Output height and width, or one number for both, px; kept as a pair.
        scale: Share of the image's area to keep: smallest, largest.
        ratio: Width / height of the box, log-uniform: smallest, largest.
        interpolation: torchvision's or its name; timm's "random" draws bilinear or bicubic for
            each image.
        antialias: Taken, as torchvision does; PIL images are always antialiased.
        definition: Whose way of drawing: "torchvision" in float32, "timm" in float64.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandomResizedCrop((48, 64))(Image.new("RGB", (120, 90))).size
        (64, 48)
    """

    size: Any
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"
    antialias: bool | None = True
    definition: Literal["torchvision", "timm"] = field(default="torchvision", repr=False)

    torchvision = ("size", "scale", "ratio", "interpolation", "antialias")

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", pair(self.size))
        object.__setattr__(self, "scale", tuple(self.scale))
        object.__setattr__(self, "ratio", tuple(self.ratio))
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        problems = size_problems(self.size) + filter_problems(
            self.interpolation, (*FILTERS, "random")
        )
        problems += definition_problems(self.definition, "torchvision", "timm")
        for name, pair_, low, high in (
            ("scale", self.scale, 0, 1),
            ("ratio", self.ratio, 0, float("inf")),
        ):
            if len(pair_) != 2 or not low < pair_[0] <= pair_[1] <= high:
                problems.append(
                    f"{name} is {pair_}, want two rising numbers above {low}"
                    + (" and up to 1" if high == 1 else "")
                )
        return problems

    def draws(self, spec: Spec) -> int:
        # Area, ratio, top and left of each try, and the filter
        return 4 * TRIES + (self.interpolation == "random")

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(*self.size)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 4] top, left, height, width of the box, px; [N, 5] with PIL's number
        of the filter where that is drawn.
        """
        boxes = crop_boxes(
            u[:, : 4 * TRIES], sizes, self.scale, self.ratio, self.definition == "torchvision"
        )
        if self.interpolation == "random":
            drawn = look_up(
                np.array([FILTERS[name] for name in RANDOM], np.int32),
                (u[:, -1:] * len(RANDOM)).astype(np.int64),
            )
            boxes = np.concatenate([boxes, drawn], axis=1)
        return Params(boxes, everywhere(self.size, sizes))

    def targets(self, records: Ints, sizes: Ints) -> Ints:
        return everywhere(self.size, sizes)

    def filters(self, records: Ints) -> Ints | None:
        return records[:, 4] if self.interpolation == "random" else None

    def scaled(self, factor: float) -> "RandomResizedCrop":
        return replace(self, size=scaled_size(self.size, factor))

    def fitted(self, height: float, width: float) -> "RandomResizedCrop":
        # Of a wider image the boxes are wider, too: their contents are stretched as before.
        ratio = (self.ratio[0] * width / height, self.ratio[1] * width / height)
        return replace(self, size=fitted_size(self.size, height, width), ratio=ratio)


@dataclass(frozen=True)
class Resize(Whole):
    """Resize to (height, width), or, given one number, so that the shorter edge has that length.

    Args:
        size: One number, or (height, width), px.
        interpolation: torchvision's or its name.
        max_size: Bound of the longer edge, px; where size is one number.
        antialias: Taken, as torchvision does; PIL images are always antialiased.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.Resize(60)(Image.new("RGB", (120, 90))).size
        (80, 60)
    """

    size: Any
    interpolation: str = "bilinear"
    max_size: int | None = None
    antialias: bool | None = True

    torchvision = ("size", "interpolation", "max_size", "antialias")

    def __post_init__(self) -> None:
        one = not isinstance(self.size, Iterable) or len(tuple(self.size)) == 1
        object.__setattr__(self, "size", pair(self.size)[0] if one else pair(self.size))
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        problems = size_problems(pair(self.size)) + filter_problems(self.interpolation, FILTERS)
        if self.max_size is not None and not (
            isinstance(self.size, int) and self.max_size > self.size
        ):
            problems.append(
                f"max_size is {self.max_size}, want more than size ({self.size}), and size to be "
                "one number"
            )
        return problems

    def out_spec(self, spec: Spec) -> Spec:
        if isinstance(self.size, tuple):
            return spec.resized(*self.size)
        return super().out_spec(spec)

    def scaled(self, factor: float) -> "Resize":
        size = scaled_size(self.size, factor)
        if self.max_size is None or isinstance(size, tuple):
            return replace(self, size=size)
        longest = max(1, round(self.max_size * factor))
        return replace(self, size=size, max_size=max(longest, size + 1))  # it wants it larger

    def fitted(self, height: float, width: float) -> "Resize | Cover | None":
        size = fitted_size(self.size, height, width)
        if isinstance(self.size, tuple):
            return replace(self, size=size)
        return None if self.max_size else Cover(size, self.interpolation, self.antialias)

    def sized(self, sizes: Ints) -> Ints:
        if isinstance(self.size, tuple):
            return everywhere(self.size, sizes)
        short, long = sizes.min(axis=1).astype(np.int64), sizes.max(axis=1).astype(np.int64)
        new_short = np.full(len(sizes), self.size, np.int64)
        # As torchvision: int(size * long / short)
        new_long = (self.size * long / short).astype(np.int64)
        if self.max_size is not None:
            over = new_long > self.max_size
            new_short = np.where(
                over, (self.max_size * new_short / new_long).astype(np.int64), new_short
            )
            new_long = np.where(over, self.max_size, new_long)
        tall = sizes[:, 0] > sizes[:, 1]
        pairs = np.stack(
            [np.where(tall, new_long, new_short), np.where(tall, new_short, new_long)], axis=1
        )
        out: Ints = np.maximum(pairs, 1).astype(np.int32)
        return out


@dataclass(frozen=True)
class CenterCrop(Window):
    """Cut `size` from the centre; smaller images are padded with 0 on both sides.

    torchvision pads them so, too.

    Args:
        size: Height and width, or one number for both, px; kept as a pair.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.CenterCrop((48, 64))(Image.new("RGB", (120, 90))).size
        (64, 48)
    """

    size: Any

    fast_decode = True
    torchvision: ClassVar[tuple[str, ...] | None] = ("size",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", pair(self.size))

    def problems(self, spec: Spec) -> list[str]:
        return size_problems(self.size)

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(*self.size)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 4] top, left (negative: padding), height, width of the window, px."""
        out = everywhere(self.size, sizes)
        start = np.where(sizes < out, -((out - sizes) // 2), np.rint((sizes - out) / 2.0)).astype(
            np.int32
        )
        return Params(np.concatenate([start, out], axis=1), out)

    def stays_inside(self, before: Spec) -> bool:
        height, width = before.height or 0, before.width or 0  # 0: not known
        return bool(self.size[0] <= height and self.size[1] <= width)

    def scaled(self, factor: float) -> "CenterCrop":
        return replace(self, size=scaled_size(self.size, factor))

    def fitted(self, height: float, width: float) -> "CenterCrop":
        return replace(self, size=fitted_size(self.size, height, width))
