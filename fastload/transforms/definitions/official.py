"""TrivialAugment as its authors run it.

Source: automl/trivialaugment @e6545d80affc, aug_lib.py, space "wide_standard".
"""

from dataclasses import dataclass

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints
from fastload.transforms.definitions.torchvision import RAND
from fastload.transforms.programs import CODE, ENHANCE, by_code, filter_number, pack, pick, sides

NAMES = RAND.names  # the same 14 ops as torchvision's
LEVELS = 31  # 0..30


@dataclass(frozen=True)
class Wide:
    """Ops and levels drawn uniformly. The level is a bin below the magnitude, which is 31 here."""

    def problems(self, magnitude: float, depth: int) -> list[str]:
        return (
            []
            if magnitude == LEVELS
            else [f"num_magnitude_bins is {magnitude}, want {LEVELS} (the authors' definition)"]
        )

    def draws(self, depth: int) -> int:
        return 4 * depth  # op, level, sign, unused

    def program(
        self, u: Floats, sizes: Ints, depth: int, magnitude: float, interpolation: str
    ) -> Floats:
        u = u.reshape(len(sizes), depth, 4)
        codes = np.array([CODE[name] for name in NAMES])
        values = arguments(pick(u[..., 1], LEVELS).astype(np.float64), sides(u[..., 2]))
        return pack(
            look_up(codes, pick(u[..., 0], len(codes))), values, filter_number(interpolation)
        )


def arguments(level: Floats, sign: Floats) -> Floats:
    """Final arguments float64 [codes, N, depth] of every op at levels 0..30."""
    most = LEVELS - 1
    values = {
        **dict.fromkeys(("ShearX", "ShearY"), sign * (level * 0.99 / most)),
        **dict.fromkeys(("TranslateX", "TranslateY"), sign * np.trunc(level * 32 / most)),
        "Rotate": sign * np.trunc(level * 135 / most),
        # From nearly 0 to double; there is no sign.
        **dict.fromkeys(ENHANCE, level * (2.0 - 0.01) / most + 0.01),
        "Posterize": 8 - np.trunc(level * 6 / most),
        "Solarize": 256 - np.trunc(level * 256 / most),
    }
    return by_code(values, level.shape)
