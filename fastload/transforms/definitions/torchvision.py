"""torchvision's augmentation spaces: ops by name and tables of magnitude bins.

Source: torchvision 0.26, transforms/autoaugment.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints, Longs
from fastload.transforms.base import is_number
from fastload.transforms.programs import CODE, ENHANCE, by_code, filter_number, pack, pick, sides

BINS = 31  # torchvision's num_magnitude_bins
POLICY_BINS = 10  # AutoAugment's and AugMix's


def _searched(side: int) -> float:
    return 150.0 / 331.0 * side  # AutoAugment's 150 px at 331 px


def _third(side: int) -> float:
    return side / 3.0


def _fixed(side: int) -> float:
    return 32.0


@dataclass(frozen=True)
class Space:
    """Ops in torchvision's order, and their largest magnitudes."""

    names: tuple[str, ...]
    translate: Callable[[int], float]  # px of a side of that many px
    shear: float = 0.3
    rotate: float = 30.0  # degrees
    enhance: float = 0.9  # distance from 1
    bits: tuple[int, int] = (8, 4)  # kept at bin 0; lost by the last bin
    shares: bool = False  # Solarize's thresholds are 255 times a share, as in the second API


_GEOMETRIC = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
_LOOKUPS = ("Posterize", "Solarize", "AutoContrast", "Equalize")
RAND = Space(("Identity", *_GEOMETRIC, *ENHANCE, *_LOOKUPS), _searched)
AUTO = Space((*_GEOMETRIC, *ENHANCE, *_LOOKUPS, "Invert"), _searched)
TRIVIAL = Space(RAND.names, _fixed, shear=0.99, rotate=135.0, enhance=0.99, bits=(8, 6))
MIX_SAFE = Space((*_GEOMETRIC, *_LOOKUPS), _third, bits=(4, 4))
MIX_ALL = Space((*_GEOMETRIC, *_LOOKUPS, *ENHANCE), _third, bits=(4, 4))


def of_api(space: Space, definition: object) -> Space:
    """The space as the second API has it where `definition` is "v2", else as the first."""
    return replace(space, shares=True) if definition == "v2" else space


@dataclass(frozen=True)
class Bins:
    """Ops drawn uniformly from a space, with the bin `magnitude`, or (drawn) a bin below it."""

    space: Space
    count: int
    drawn: bool = False

    def problems(self, magnitude: float, depth: int) -> list[str]:
        top = self.count - (not self.drawn)
        fits = is_number(magnitude) and magnitude == int(magnitude) and 0 <= magnitude <= top
        return (
            []
            if fits
            else [f"magnitude is {magnitude}, want 0 to {top} (torchvision's definition)"]
        )

    def draws(self, depth: int) -> int:
        return 4 * depth  # op, bin, sign, unused

    def program(
        self, u: Floats, sizes: Ints, depth: int, magnitude: float, interpolation: str
    ) -> Floats:
        u = u.reshape(len(sizes), depth, 4)
        codes = np.array([CODE[name] for name in self.space.names])
        bins = (
            pick(u[..., 1], int(magnitude)) if self.drawn else np.full(u.shape[:2], int(magnitude))
        )
        values = arguments(self.space, self.count, bins, sides(u[..., 2]), sizes)
        return pack(
            look_up(codes, pick(u[..., 0], len(codes))), values, filter_number(interpolation)
        )


def arguments(space: Space, count: int, bins: Longs, sign: Floats, sizes: Ints) -> Floats:
    """Final arguments float64 [codes, N, depth] of every op at `bins` (int64 [N, depth]) of
    `count`.
    """
    values = {
        name: sign * look_up(table, bins)
        for name, table in zip(("ShearX", "ShearY"), _shears(space.shear, count), strict=True)
    }
    for name, side in (("TranslateX", sizes[:, 1]), ("TranslateY", sizes[:, 0])):
        different, which = np.unique(side, return_inverse=True)
        tables = np.stack([_linspace(space.translate(int(px)), count) for px in different])
        values[name] = np.trunc(sign * np.take_along_axis(tables[which.ravel()], bins, axis=1))
    enhanced = 1.0 + sign * look_up(_linspace(space.enhance, count), bins)
    values |= dict.fromkeys(ENHANCE, enhanced) | {
        "Rotate": sign * look_up(_linspace(space.rotate, count), bins),
        "Posterize": look_up(_bits(*space.bits, count), bins),
        "Solarize": look_up(_falling(count, space.shares), bins),
    }
    return by_code(values, bins.shape)


# torch.linspace in float32 is part of the definition: int(translate) is 15, not 16, at bin 15 of
# 0..30.
@lru_cache(maxsize=4096)
def _linspace(top: float, count: int) -> Floats:
    import torch

    return torch.linspace(0.0, top, count).double().numpy()


@lru_cache(maxsize=16)
def _shears(top: float, count: int) -> tuple[Floats, Floats]:
    """torchvision takes factors through an angle in degrees: the last bit of a factor decides
    pixels whose value is a tie.
    """
    angles = [
        math.radians(math.degrees(math.atan(factor))) for factor in _linspace(top, count).tolist()
    ]
    return np.array([math.tan(a) for a in angles]), np.array(
        [math.sin(a) / math.cos(a) for a in angles]
    )


@lru_cache(maxsize=16)
def _falling(count: int, shares: bool) -> Floats:
    import torch

    if shares:  # the float32 share times 255 in float64: not whole where 255 over the steps is
        return 255.0 * torch.linspace(1.0, 0.0, count).double().numpy()
    return torch.linspace(255.0, 0.0, count).double().numpy()


@lru_cache(maxsize=16)
def _bits(first: int, lost: int, count: int) -> Floats:
    import torch

    return (first - (torch.arange(count) / ((count - 1) / lost))).round().double().numpy()
