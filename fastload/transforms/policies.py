"""AUGMENT: policies that draw a short program of uint8 ops per sample.

A program is float64 [N, depth, 2]: op code and final argument, in the op's own unit (see CODES), so that every library's
definition of "magnitude" is resolved here and backends only apply.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch

from fastload.spec import Floats, Ints, Longs, Spec, Stage
from fastload.transforms.base import Op, Params
from fastload.transforms.geometry import filter_name

CODES = (
    "Identity",  # no argument
    "ShearX", "ShearY",  # shear factor (px per px)
    "TranslateX", "TranslateY",  # px, content moves right / down
    "Rotate",  # degrees, counter-clockwise
    "Brightness", "Color", "Contrast", "Sharpness",  # enhancement factor, 1 = unchanged
    "Posterize",  # bits kept
    "Solarize",  # threshold, 0..256
    "AutoContrast", "Equalize",  # no argument
)  # fmt: skip
CODE = {name: code for code, name in enumerate(CODES)}
ENHANCE = ("Brightness", "Color", "Contrast", "Sharpness")
BINS = 31  # torchvision's num_magnitude_bins
MAX_DEPTH = 16  # ops of one program


@dataclass(frozen=True)
class _Policy(Op):
    """What the policies share: how their programs are run."""

    stage = Stage.AUGMENT

    def _common_problems(self, depth: int, interpolation: str) -> list[str]:
        found = []
        if not 0 <= depth <= MAX_DEPTH:
            found.append(f"num_ops is {depth}, want 0 to {MAX_DEPTH}")
        if interpolation not in ("nearest", "bilinear"):
            found.append(f"interpolation is {interpolation!r}, want nearest or bilinear")
        return found


@dataclass(frozen=True)
class RandAugment(_Policy):
    """`num_ops` ops per image, drawn uniformly with replacement. Source: Cubuk et al. 2019, arXiv:1909.13719.

    variant "torchvision": magnitude is a bin of num_magnitude_bins, the same for all (torchvision 0.26).
    variant "composer": see `RandAugment.composer`.
    """

    num_ops: int = 2
    magnitude: float = 9
    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Any = None  # black, torchvision's default, is what is written
    variant: Literal["torchvision", "composer"] = "torchvision"

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    @classmethod
    def composer(cls, severity: float = 9, depth: int = 2) -> "RandAugment":
        """Composer 0.7.1's RandAugment, set "all": 13 ops, level ~ U(0.1, severity) per op and image, severity 0 to 10."""
        return cls(depth, severity, interpolation="bilinear", variant="composer")

    def problems(self, spec: Spec) -> list[str]:
        found = self._common_problems(self.num_ops, self.interpolation)
        top = 10 if self.variant == "composer" else self.num_magnitude_bins - 1
        if not 0 <= self.magnitude <= top:
            found.append(f"magnitude is {self.magnitude}, want 0 to {top} ({self.variant}'s definition)")
        if self.num_magnitude_bins < 2:
            found.append(f"num_magnitude_bins is {self.num_magnitude_bins}, want at least 2")
        if self.fill is not None:
            found.append(f"fill is {self.fill}, want None (black)")
        return found

    def draws(self, spec: Spec) -> int:
        return 4 * self.num_ops  # op, level, sign, side of each

    def params(self, u: Floats, sizes: Ints) -> Params:
        u = u.reshape(len(sizes), self.num_ops, 4)
        programs = _composer(u, sizes, self.magnitude) if self.variant == "composer" else self._torchvision(u, sizes)
        return Params(programs, sizes)

    def _torchvision(self, u: Floats, sizes: Ints) -> Floats:
        bins = np.full(u.shape[:2], int(self.magnitude))
        return _programs(u, sizes, bins, self.num_magnitude_bins, NARROW)


@dataclass(frozen=True)
class TrivialAugmentWide(_Policy):
    """One op and one magnitude bin per image, both uniform. Source: Müller and Hutter 2021, arXiv:2103.10158; torchvision 0.26."""

    num_magnitude_bins: int = BINS
    interpolation: str = "nearest"
    fill: Any = None  # black, torchvision's default, is what is written

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        found = self._common_problems(1, self.interpolation)
        if self.num_magnitude_bins < 2:
            found.append(f"num_magnitude_bins is {self.num_magnitude_bins}, want at least 2")
        if self.fill is not None:
            found.append(f"fill is {self.fill}, want None (black)")
        return found

    def draws(self, spec: Spec) -> int:
        return 4  # op, bin, sign, unused

    def params(self, u: Floats, sizes: Ints) -> Params:
        u = u.reshape(len(sizes), 1, 4)
        bins = np.floor(u[..., 1] * self.num_magnitude_bins).astype(np.int64)
        return Params(_programs(u, sizes, bins, self.num_magnitude_bins, WIDE), sizes)


@dataclass(frozen=True)
class _Ranges:
    """The largest magnitudes of one of torchvision's augmentation spaces."""

    shear: float
    rotate: float  # degrees
    enhance: float  # distance from 1
    posterize: int  # bits lost
    translate: float | None  # px; None: 150 / 331 of the side, as AutoAugment's 150 px at 331


NARROW = _Ranges(shear=0.3, rotate=30.0, enhance=0.9, posterize=4, translate=None)  # RandAugment
WIDE = _Ranges(shear=0.99, rotate=135.0, enhance=0.99, posterize=6, translate=32.0)  # TrivialAugmentWide


def _programs(u: Floats, sizes: Ints, bins: Longs, count: int, top: _Ranges) -> Floats:
    """Programs float64 [N, depth, 2] from torchvision's tables: `bins` int64 [N, depth] are bins of `count`."""
    code = np.floor(u[..., 0] * len(CODES)).astype(np.int64)
    sign = np.where(u[..., 2] < 0.5, -1.0, 1.0)
    values = np.zeros((len(CODES), *bins.shape))
    for name in ("ShearX", "ShearY"):
        values[CODE[name]] = sign * _linspace(top.shear, count)[bins]
    for name, side in (("TranslateX", sizes[:, 1]), ("TranslateY", sizes[:, 0])):
        spans = np.stack([_linspace(top.translate or 150.0 / 331.0 * int(px), count) for px in side])
        values[CODE[name]] = np.trunc(sign * np.take_along_axis(spans, bins, axis=1))
    values[CODE["Rotate"]] = sign * _linspace(top.rotate, count)[bins]
    for name in ENHANCE:
        values[CODE[name]] = 1.0 + sign * _linspace(top.enhance, count)[bins]
    values[CODE["Posterize"]] = _bits(top.posterize, count)[bins]
    values[CODE["Solarize"]] = _falling(count)[bins]
    return _pack(code, values)


def _pack(code: Longs, values: Floats) -> Floats:
    """Op codes [N, depth] with the value that each one has in values [codes, N, depth]: float64 [N, depth, 2]."""
    chosen = np.take_along_axis(values, code[None], axis=0)[0]
    return np.stack([code.astype(np.float64), chosen], axis=-1)


# torch.linspace in float32 is part of the definition: int(translate) is 15, not 16, at bin 15 of 0..30.
@lru_cache(maxsize=4096)
def _linspace(top: float, count: int) -> Floats:
    return torch.linspace(0.0, top, count).double().numpy()


@lru_cache(maxsize=16)
def _falling(count: int) -> Floats:
    return torch.linspace(255.0, 0.0, count).double().numpy()


@lru_cache(maxsize=16)
def _bits(lost: int, count: int) -> Floats:
    return (8 - (torch.arange(count) / ((count - 1) / lost)).round().int()).double().numpy()


COMPOSER_ALL = (
    "AutoContrast", "Equalize", "Posterize", "Rotate", "Solarize", "ShearX", "ShearY", "TranslateX", "TranslateY",
    "Color", "Contrast", "Brightness", "Sharpness",
)  # fmt: skip


def _composer(u: Floats, sizes: Ints, severity: float) -> Floats:
    """Programs of Composer 0.7.1, algorithms/utils/augmentation_primitives.py, set "all"."""
    codes = np.array([CODE[name] for name in COMPOSER_ALL])
    code = codes[np.floor(u[..., 0] * len(codes)).astype(np.int64)]
    level = 0.1 + u[..., 1] * (severity - 0.1)
    sign = np.where(u[..., 2] < 0.5, -1.0, 1.0)
    # Enhancement ignores the level: U(1, severity) or U(1 - 0.09 severity, 1), half the time each.
    factor = np.where(u[..., 3] < 0.5, 1 + u[..., 1] * (severity - 1), 1 - u[..., 1] * 0.09 * severity)
    height, width = (np.broadcast_to(sizes[:, i : i + 1], level.shape) for i in (0, 1))
    values = np.zeros((len(CODES), *level.shape))
    values[CODE["ShearX"]] = values[CODE["ShearY"]] = sign * 0.3 * level / 10
    values[CODE["TranslateX"]] = sign * np.trunc(level * (width / 3) / 10)
    values[CODE["TranslateY"]] = sign * np.trunc(level * (height / 3) / 10)
    values[CODE["Rotate"]] = sign * np.trunc(level * 30 / 10)
    for name in ENHANCE:
        values[CODE[name]] = factor
    values[CODE["Brightness"]] = np.where(factor > 1, 0.75 * factor, factor)
    values[CODE["Posterize"]] = 4 - np.trunc(level * 4 / 10)
    values[CODE["Solarize"]] = 256 - np.trunc(level * 256 / 10)
    return _pack(code, values)
