"""Rows of programs (transforms/programs.py) as the kernels' instructions: float64 [..., 13], see
`_native.Programs` for the columns.

Coefficients and radii are made here, for the whole batch at once, in the order of operations that
Pillow has: the same bits.
"""

import math
from collections.abc import Callable

import numpy as np

from fastload import _native
from fastload.spec import Array, Bools, Floats, Ints, Singles
from fastload.transforms.base import FILTERS
from fastload.transforms.programs import CODE, CODES, ENHANCE, MIXING, WRITTEN_AS, Program
from fastload.transforms.reference.augment import HALF

NUMBER, FILTER, FILL, ARGUMENTS = 0, 1, slice(2, 5), 5
WIDTH = 13
INSTRUCTION = {name: CODE[name] for name in _native.INSTRUCTIONS}
SAMPLING = np.zeros(max(FILTERS.values()) + 1)  # from PIL's numbers to the kernels'
SAMPLING[[FILTERS["nearest"], FILTERS["bilinear"], FILTERS["bicubic"]]] = 0, 1, 2
MOST = 1e6  # of a factor: from here on, every difference of two values leaves 0..255


# By op code (programs.CODES): the instruction; how large its argument may be; and what arguments
# are made of it: FIXED + argument * TIMES. PIL's affine coefficients take an output px to an input
# px.
NUMBERS = np.array([INSTRUCTION[WRITTEN_AS.get(name, name)] for name in CODES])
MIXES = np.isin(CODES, MIXING)
LIMIT = np.where(np.isin(CODES, ENHANCE), MOST, np.inf)
FIXED, TIMES = np.zeros((len(CODES), WIDTH - ARGUMENTS)), np.zeros((len(CODES), WIDTH - ARGUMENTS))
TIMES[:, 0] = 1.0
for _name, _place, _times in (
    ("ShearX", 1, 1.0),
    ("ShearY", 3, 1.0),
    ("TranslateX", 2, -1.0),
    ("TranslateY", 5, -1.0),
):
    FIXED[CODE[_name], [0, 4]] = 1.0
    TIMES[CODE[_name], [0, _place]] = 0.0, _times
FIXED[CODE["SolarizeAdd"], 1] = HALF
TIMES[CODE["Custom"], [0, 1]] = 0.0, 1.0  # the key; augment.fold adds the function's number


def of_program(op: Program, program: Floats, sizes: Ints) -> Floats:
    """Instructions float64 [N, rows, 13] of programs [N, rows, 3] of `op`, which is not made of
    ops; sizes int32 [N, 2], px.
    """
    codes, argument = program[..., 0].astype(np.int64), program[..., 1]
    argument = np.where(
        WHOLE[codes], np.trunc(argument), np.clip(argument, -LIMIT[codes], LIMIT[codes])
    )
    out = np.empty((*codes.shape, WIDTH))
    out[..., NUMBER], out[..., FILL] = NUMBERS[codes], op.colour()
    out[..., FILTER] = SAMPLING[program[..., 2].astype(np.int64)]
    out[..., ARGUMENTS:] = FIXED[codes] + argument[..., None] * TIMES[codes]
    for code, make in MAKERS.items():
        at = np.nonzero(codes == code)
        if len(at[0]):
            rows = out[at]
            make(op, argument[at], sizes[at[0]].astype(np.float64), rows)
            out[at] = rows
    mixes: Bools = np.any(MIXES[codes], axis=1)
    return np.concatenate([switched("Start", mixes)[:, None], out], axis=1) if mixes.any() else out


def of_matrices(name: str, matrices: Floats, interpolation: str, fill: tuple[int, ...]) -> Floats:
    """Instructions [N, 13] of "Affine" or "Perspective" by PIL's coefficients float64 [N, 8]."""
    out = np.zeros((len(matrices), WIDTH))
    out[:, NUMBER], out[:, FILL], out[:, FILTER] = (
        INSTRUCTION[name],
        fill,
        SAMPLING[FILTERS[interpolation]],
    )
    out[:, ARGUMENTS:] = matrices
    return out


def switched(name: str, on: Array) -> Floats:
    """Instructions [N, 13] without arguments: `name` where `on` [N], else Identity."""
    out = np.zeros((len(on), WIDTH))
    out[:, NUMBER] = np.where(on, INSTRUCTION[name], INSTRUCTION["Identity"])
    return out


def joined(parts: list[Floats]) -> Floats | None:
    """Programs [N, depth, 13] from parts [N, rows, 13] that run one after the other; None where
    there is none.
    """
    return np.concatenate(parts, axis=1) if parts else None


# Each completes the rows [K, 13] of one code; arguments [K] and sizes [K, 2] are theirs.
def _arguments(rows: Floats, *values: float | Floats | Singles) -> None:
    for number, value in enumerate(values):
        rows[:, ARGUMENTS + number] = value


def _rotate(op: Program, degrees: Floats, sizes: Floats, rows: Floats) -> None:
    """PIL's Image.rotate about the middle; it transposes where a turn is a permutation of the
    pixels.
    """
    degrees = degrees % 360.0
    height, width = sizes.T
    turned = [-math.radians(angle) for angle in degrees.tolist()]
    # PIL rounds in decimal, which NumPy does not.
    cos, sin, minus_sin = (
        np.array([round(function(angle), 15) for angle in turned])
        for function in (math.cos, math.sin, lambda angle: -math.sin(angle))
    )
    x, y = width / 2, height / 2
    _arguments(
        rows,
        cos,
        sin,
        cos * -x + sin * -y + 0.0 + x,
        minus_sin,
        cos,
        minus_sin * -x + cos * -y + 0.0 + y,
    )
    square = height == width
    for angle, possible, exact in (
        (0.0, True, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        (180.0, True, (-1.0, 0.0, width, 0.0, -1.0, height)),
        (90.0, square, (0.0, -1.0, width, 1.0, 0.0, 0.0)),
        (270.0, square, (0.0, 1.0, 0.0, -1.0, 0.0, height)),
    ):
        at = (degrees == angle) & possible
        if at.any():
            turns = np.zeros_like(rows)
            _arguments(turns, *exact)
            turns[:, :ARGUMENTS] = rows[:, :ARGUMENTS]
            turns[:, FILTER] = 0  # pixels only move
            rows[at] = turns[at]


def _hue(op: Program, turns: Floats, sizes: Floats, rows: Floats) -> None:
    rows[:, ARGUMENTS] = np.trunc(turns * 255) % 256


def _gaussian_blur(op: Program, sigma: Floats, sizes: Floats, rows: Floats) -> None:
    width, height = getattr(op, "kernel_size", (1, 1))
    sigma = np.clip(sigma, 1e-6, MOST)  # no other weights beyond
    _arguments(rows, width, height, sigma, sigma)


def _gaussian_blur_pil(op: Program, sigma: Floats, sizes: Floats, rows: Floats) -> None:
    """Three boxes.

    Radius: Gwosdek et al. 2011, equations 7, 11 and 14, in float32 where Pillow has it.
    """
    variance = sigma.astype(np.float32) * sigma.astype(np.float32) / np.float32(3)
    whole = np.floor(
        (np.sqrt(12.0 * variance.astype(np.float64) + 1.0).astype(np.float32) - 1.0) / 2.0
    ).astype(np.float32)
    part = (
        (2 * whole + 1)
        * (whole * (whole + 1) - 3 * variance)
        / (6 * (variance - (whole + 1) * (whole + 1)))
    )
    _arguments(rows, whole + part, whole + part, 3.0)


MAKERS: dict[int, Callable[[Program, Floats, Floats, Floats], None]] = {
    CODE["Rotate"]: _rotate,
    CODE["Hue"]: _hue,
    CODE["GaussianBlur"]: _gaussian_blur,
    CODE["GaussianBlurPIL"]: _gaussian_blur_pil,
}
WHOLE = np.zeros(len(CODES), bool)  # by op code: whether the argument is cut to a whole number
for _name, _ranges in zip(_native.INSTRUCTIONS, _native.ARGUMENTS, strict=True):
    if CODE[_name] not in MAKERS:
        WHOLE[CODE[_name]] = any(whole for *_, whole in _ranges[:1])
