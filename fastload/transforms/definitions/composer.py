"""Composer's augmentation sets.

Source: Composer 0.7.1, algorithms/utils/augmentation_primitives.py and augmentation_sets.
"""

from dataclasses import dataclass

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints
from fastload.transforms.base import is_number
from fastload.transforms.programs import CODE, ENHANCE, by_code, filter_number, pack, pick, sides

SAFE = (
    "AutoContrast",
    "Equalize",
    "Posterize",
    "Rotate",
    "Solarize",
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
)
ALL = (*SAFE, "Color", "Contrast", "Brightness", "Sharpness")
SETS = {"all": ALL, "safe": SAFE, "original": ALL}  # "original" enhances as AugMix's authors did
MOST = 10  # severity


@dataclass(frozen=True)
class Sampled:
    """Ops drawn uniformly from a set; per op a level ~ U(0.1, severity), where the severity is the
    magnitude.
    """

    augmentation_set: str = "all"

    def problems(self, magnitude: float, depth: int) -> list[str]:
        problems = []
        if not (is_number(magnitude) and 0 <= magnitude <= MOST):
            problems.append(f"severity is {magnitude}, want 0 to {MOST} (Composer's definition)")
        if self.augmentation_set not in SETS:
            problems.append(
                f"augmentation_set is {self.augmentation_set!r}, want one of {', '.join(SETS)}"
            )
        return problems

    def draws(self, depth: int) -> int:
        return 4 * depth  # op, level, sign, side of an enhancement

    def program(
        self, u: Floats, sizes: Ints, depth: int, magnitude: float, interpolation: str
    ) -> Floats:
        u = u.reshape(len(sizes), depth, 4)
        codes = np.array([CODE[name] for name in SETS[self.augmentation_set]])
        values = arguments(u, sizes, magnitude, original=self.augmentation_set == "original")
        return pack(
            look_up(codes, pick(u[..., 0], len(codes))), values, filter_number(interpolation)
        )


def arguments(u: Floats, sizes: Ints, severity: float, *, original: bool = False) -> Floats:
    """Final arguments float64 [codes, N, depth] of every op, from u [N, depth, 4]."""
    level = 0.1 + u[..., 1] * (severity - 0.1)
    sign = sides(u[..., 2])
    height, width = (np.broadcast_to(sizes[:, i : i + 1], level.shape) for i in (0, 1))
    shear = sign * (level * 0.3 / 10)
    values = {
        "ShearX": shear,
        "ShearY": shear,
        "TranslateX": sign * np.trunc(level * (width / 3) / 10),
        "TranslateY": sign * np.trunc(level * (height / 3) / 10),
        "Rotate": sign * np.trunc(level * 30 / 10),
        "Posterize": 4 - np.trunc(level * 4 / 10),
        "Solarize": 256 - np.trunc(level * 256 / 10),
    }
    # "all" enhances by U(1, severity) or U(1 - 0.09 severity, 1), half the time each: the severity,
    # not the level, counts.
    apart = np.where(
        u[..., 3] < 0.5, 1 + u[..., 1] * (severity - 1), 1 - u[..., 1] * 0.09 * severity
    )
    values |= dict.fromkeys(ENHANCE, level * 1.8 / 10 + 0.1 if original else apart)
    if not original:
        values["Brightness"] = np.where(apart > 1, 0.75 * apart, apart)
    return by_code(values, level.shape)
