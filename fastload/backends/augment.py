"""The AUGMENT stage as one program per sample, in the kernels' instructions. See `_native.Job.run` for the columns.

Geometry becomes coefficients here, in the order of operations that torchvision and Pillow have: the same bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastload import _native
from fastload.plan import Step
from fastload.spec import Floats, Ints
from fastload.transforms import RandAugment, TrivialAugmentWide
from fastload.transforms.policies import CODES

OPS = (RandAugment, TrivialAugmentWide)
FILTERS = {"nearest": 0, "bilinear": 1, "bicubic": 2}
CODE, FILTER, FILL, ARGUMENTS = 0, 1, slice(2, 5), 5
WIDTH = 13
INSTRUCTION = {name: code for code, name in enumerate(_native.INSTRUCTIONS)}
Coefficients = tuple[float, float, float, float, float, float]


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    return [f"{step.label} is not written natively" for step in steps if not isinstance(step.op, OPS)]


def fold(steps: tuple[Step, ...], records: list[Any], sizes: Ints) -> Floats | None:
    """Programs float64 [N, depth, 13] of N images of `sizes` int32 [N, 2], px; None where there is no AUGMENT step."""
    parts = [instructions(record, step.op.interpolation, sizes) for step, record in zip(steps, records, strict=True)]  # type: ignore[attr-defined]
    return np.concatenate(parts, axis=1) if parts else None


def instructions(programs: Floats, interpolation: str, sizes: Ints) -> Floats:
    """Instructions float64 [N, depth, 13] of programs [N, depth, 2]: op code of policies.CODES, and its argument."""
    codes = programs[..., 0].astype(np.int64)
    out = np.zeros((*codes.shape, WIDTH))
    out[..., CODE] = NUMBERS[codes]
    out[..., ARGUMENTS] = programs[..., 1]
    for n, k in np.argwhere(out[..., CODE] == INSTRUCTION["Affine"]).tolist():
        argument, (height, width) = float(programs[n, k, 1]), sizes[n].tolist()
        exact, found = MAPS[CODES[codes[n, k]]](argument, height, width)
        out[n, k, FILTER] = FILTERS["nearest" if exact else interpolation]
        out[n, k, ARGUMENTS : ARGUMENTS + 6] = found
    return out


# Each gives: whether pixels only change places, whatever the filter; and the six coefficients, output px to input px.
def _shear_x(factor: float, height: int, width: int) -> tuple[bool, Coefficients]:
    return False, (1.0, math.tan(_angle(factor)), 0.0, 0.0, 1.0, 0.0)


def _shear_y(factor: float, height: int, width: int) -> tuple[bool, Coefficients]:
    angle = _angle(factor)
    return False, (1.0, 0.0, 0.0, math.sin(angle) / math.cos(angle), 1.0, 0.0)


def _angle(factor: float) -> float:
    return math.radians(math.degrees(math.atan(factor)))  # torchvision's way through degrees rounds twice


def _translate_x(px: float, height: int, width: int) -> tuple[bool, Coefficients]:
    return False, (1.0, 0.0, (-width * 0.5 - px) + width * 0.5, 0.0, 1.0, 0.0)


def _translate_y(px: float, height: int, width: int) -> tuple[bool, Coefficients]:
    return False, (1.0, 0.0, 0.0, 0.0, 1.0, (-height * 0.5 - px) + height * 0.5)


def _rotate(degrees: float, height: int, width: int) -> tuple[bool, Coefficients]:
    """PIL's Image.rotate about the middle; it transposes where a turn is a permutation of the pixels."""
    degrees %= 360.0
    turns = {0.0: (1.0, 0.0, 0.0, 0.0, 1.0, 0.0), 180.0: (-1.0, 0.0, width, 0.0, -1.0, height)}
    if height == width:
        turns |= {90.0: (0.0, -1.0, width, 1.0, 0.0, 0.0), 270.0: (0.0, 1.0, 0.0, -1.0, 0.0, height)}
    if degrees in turns:
        return True, turns[degrees]
    angle = -math.radians(degrees)
    cos, sin, minus_sin = round(math.cos(angle), 15), round(math.sin(angle), 15), round(-math.sin(angle), 15)
    x, y = width / 2, height / 2
    left, top = cos * -x + sin * -y + 0.0, minus_sin * -x + cos * -y + 0.0
    return False, (cos, sin, left + x, minus_sin, cos, top + y)


MAPS: dict[str, Callable[[float, int, int], tuple[bool, Coefficients]]] = {
    "ShearX": _shear_x, "ShearY": _shear_y, "TranslateX": _translate_x, "TranslateY": _translate_y, "Rotate": _rotate,
}  # fmt: skip
NUMBERS = np.array([INSTRUCTION["Affine" if name in MAPS else name] for name in CODES])
