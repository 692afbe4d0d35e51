"""CROP: timm's ways to a size that keep an image's proportions. timm's transforms are lowered to
them.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import (
    FILTERS,
    Fill,
    Params,
    fill_problems,
    filter_problems,
    size_problems,
)
from fastload.transforms.geometry import RANDOM, CenterCrop
from fastload.transforms.kinds import Region
from fastload.transforms.padding import MODES


@dataclass(frozen=True)
class ResizeKeepRatio(Region):
    """timm's class of that name: resize so that the image covers `size` (longest 0), fits into it
    (1), or lies between; by chance larger or smaller, and by chance in other proportions.

    Checked against timm 1.0.31, whose arithmetic it repeats in its order.
    """

    size: tuple[int, int]
    longest: float = 0.0
    interpolation: str = "bilinear"
    scale_p: float = 0.0
    scale: tuple[float, float] = (0.85, 1.05)
    of_area: bool = False
    aspect_p: float = 0.0
    aspect: tuple[float, float] = (0.9, 1.11)

    def __post_init__(self) -> None:
        for name in ("size", "scale", "aspect"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    cuts = False
    fast_decode = False  # how large the result is, is drawn

    def problems(self, spec: Spec) -> list[str]:
        problems = size_problems(self.size) + filter_problems(
            self.interpolation, (*FILTERS, "random")
        )
        for name, (low, high) in (("scale", self.scale), ("aspect", self.aspect)):
            if not 0 < low <= high:
                problems.append(f"{name} is {(low, high)}, want two rising numbers above 0")
        return problems

    def draws(self, spec: Spec) -> int:
        return 5  # whether to scale, by what; whether to change proportions, by what; the filter

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(None, None)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 2] height and width to resize to, px; [N, 3] with PIL's number of the
        filter where that is drawn.
        """
        ratios = sizes / np.array(self.size, np.float64)
        most, least = ratios.max(axis=1), ratios.min(axis=1)
        ratio = most * self.longest + least * (1.0 - self.longest)
        low, high = self.scale
        factor = low + (high - low) * u[:, 1]
        factor = 1.0 / np.sqrt(factor) if self.of_area else factor
        factor = np.where(u[:, 0] < self.scale_p, factor, 1.0)
        low, high = np.log(self.aspect)
        skew = np.sqrt(np.exp(low + (high - low) * u[:, 3]))
        skew = np.where(u[:, 2] < self.aspect_p, skew, 1.0)
        factors = np.stack([factor / skew, factor * skew], axis=1)
        targets = np.maximum(np.rint(sizes * factors / ratio[:, None]), 1).astype(np.int32)
        if self.interpolation != "random":
            return Params(targets, targets)
        drawn = np.array([FILTERS[name] for name in RANDOM], np.int32)[
            (u[:, 4] * len(RANDOM)).astype(np.int64)
        ]
        return Params(np.concatenate([targets, drawn[:, None]], axis=1), targets)

    def boxes(self, records: Ints, sizes: Ints) -> Ints:
        return np.concatenate([np.zeros_like(sizes), sizes], axis=1)

    def targets(self, records: Ints, sizes: Ints) -> Ints:
        return records[:, :2]

    def filters(self, records: Ints) -> Ints | None:
        return np.ascontiguousarray(records[:, 2]) if self.interpolation == "random" else None


@dataclass(frozen=True)
class CenterCropOrPad(CenterCrop):
    """timm's class of that name: a CenterCrop that shows what it is told to beyond small images."""

    fill: Fill = 0
    padding_mode: str = "constant"

    torchvision: ClassVar[tuple[str, ...] | None] = None

    def problems(self, spec: Spec) -> list[str]:
        problems = super().problems(spec) + fill_problems(self.fill, spec.channels)
        if self.padding_mode not in MODES:
            text = ", ".join(MODES)
            problems.append(f"padding_mode is {self.padding_mode!r}, want one of {text}")
        return problems
