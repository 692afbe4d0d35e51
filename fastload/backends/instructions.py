"""Rows of programs (transforms/programs.py) as the kernels' instructions: float64 [..., 13], see `_native.Job.run` for the columns.

Coefficients and radii are made here, for the whole batch at once, in the order of operations that Pillow has: the same bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastload import _native
from fastload.spec import Floats, Ints
from fastload.transforms.base import FILTERS
from fastload.transforms.programs import CODE, CODES, ENHANCE, Program
from fastload.transforms.reference.augment import HALF

NUMBER, FILTER, FILL, ARGUMENTS = 0, 1, slice(2, 5), 5
WIDTH = 13
INSTRUCTION = {name: number for number, name in enumerate(_native.INSTRUCTIONS)}
SAMPLING = np.zeros(max(FILTERS.values()) + 1)  # from PIL's numbers to the kernels'
SAMPLING[[FILTERS["nearest"], FILTERS["bilinear"], FILTERS["bicubic"]]] = 0, 1, 2
MOST = 1e6  # of a factor: from here on, every difference of two values leaves 0..255


def of_program(op: Program, program: Floats, sizes: Ints) -> Floats:
    """Instructions float64 [N, rows, 13] of programs [N, rows, 3] of `op`, which is not made of ops; sizes int32 [N, 2], px."""
    codes = program[..., 0].astype(np.int64)
    mixes = (codes >= CODE["Add"]).any(axis=1)
    out = np.zeros((*codes.shape, WIDTH))
    out[..., NUMBER], out[..., FILL], out[..., ARGUMENTS] = NUMBERS[codes], op.colour(), program[..., 1]
    for code in np.flatnonzero(np.bincount(codes.ravel(), minlength=len(CODES))).tolist():
        if make := MAKERS.get(CODES[code]):
            at = np.nonzero(codes == code)
            rows = out[at]
            rows[:, FILTER] = SAMPLING[program[at][:, 2].astype(np.int64)]
            make(op, program[at][:, 1], sizes[at[0]].astype(np.float64), rows)
            out[at] = rows
    return joined([switched("Start", mixes)[:, None], out]) if mixes.any() else out


def of_matrices(name: str, matrices: Floats, interpolation: str, fill: tuple[int, ...]) -> Floats:
    """Instructions [N, 13] of "Affine" or "Perspective" by PIL's coefficients float64 [N, 8]."""
    out = np.zeros((len(matrices), WIDTH))
    out[:, NUMBER], out[:, FILL], out[:, FILTER] = INSTRUCTION[name], fill, SAMPLING[FILTERS[interpolation]]
    out[:, ARGUMENTS:] = matrices
    return out


def switched(name: str, on: Any) -> Floats:
    """Instructions [N, 13] without arguments: `name` where `on` [N], else Identity."""
    out = np.zeros((len(on), WIDTH))
    out[:, NUMBER] = np.where(on, INSTRUCTION[name], INSTRUCTION["Identity"])
    return out


def joined(parts: list[Floats]) -> Any:
    """Programs [N, depth, 13] from parts [N, rows, 13] that run one after the other; None where there is none."""
    return np.concatenate(parts, axis=1) if parts else None


# Each completes the rows [K, 13] of one code; arguments [K] and sizes [K, 2] are theirs.
def _shear_x(op: Program, factor: Floats, sizes: Floats, rows: Floats) -> None:
    _affine(rows, 1.0, factor, 0.0, 0.0, 1.0, 0.0)


def _shear_y(op: Program, factor: Floats, sizes: Floats, rows: Floats) -> None:
    _affine(rows, 1.0, 0.0, 0.0, factor, 1.0, 0.0)


def _translate_x(op: Program, px: Floats, sizes: Floats, rows: Floats) -> None:
    _affine(rows, 1.0, 0.0, -px, 0.0, 1.0, 0.0)


def _translate_y(op: Program, px: Floats, sizes: Floats, rows: Floats) -> None:
    _affine(rows, 1.0, 0.0, 0.0, 0.0, 1.0, -px)


def _affine(rows: Floats, *coefficients: Any) -> None:
    for place, value in enumerate(coefficients):
        rows[:, ARGUMENTS + place] = value


def _rotate(op: Program, degrees: Floats, sizes: Floats, rows: Floats) -> None:
    """PIL's Image.rotate about the middle; it transposes where a turn is a permutation of the pixels."""
    degrees = degrees % 360.0
    height, width = sizes.T
    turned = [-math.radians(angle) for angle in degrees.tolist()]
    # PIL rounds in decimal, which NumPy does not.
    cos, sin, minus_sin = (
        np.array([round(function(angle), 15) for angle in turned]) for function in (math.cos, math.sin, lambda angle: -math.sin(angle))
    )
    x, y = width / 2, height / 2
    _affine(rows, cos, sin, cos * -x + sin * -y + 0.0 + x, minus_sin, cos, minus_sin * -x + cos * -y + 0.0 + y)
    square = height == width
    for angle, possible, exact in (
        (0.0, True, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)), (180.0, True, (-1.0, 0.0, width, 0.0, -1.0, height)),
        (90.0, square, (0.0, -1.0, width, 1.0, 0.0, 0.0)), (270.0, square, (0.0, 1.0, 0.0, -1.0, 0.0, height)),
    ):  # fmt: skip
        at = (degrees == angle) & possible
        if at.any():
            turns = np.zeros_like(rows)
            _affine(turns, *exact)
            turns[:, :ARGUMENTS] = rows[:, :ARGUMENTS]
            turns[:, FILTER] = 0  # pixels only change places
            rows[at] = turns[at]


def _enhance(op: Program, factor: Floats, sizes: Floats, rows: Floats) -> None:
    rows[:, ARGUMENTS] = np.clip(factor, -MOST, MOST)


def _posterize(op: Program, bits: Floats, sizes: Floats, rows: Floats) -> None:
    rows[:, ARGUMENTS] = np.trunc(bits)


def _solarize_add(op: Program, add: Floats, sizes: Floats, rows: Floats) -> None:
    rows[:, ARGUMENTS], rows[:, ARGUMENTS + 1] = np.trunc(add), HALF


def _hue(op: Program, turns: Floats, sizes: Floats, rows: Floats) -> None:
    rows[:, ARGUMENTS] = np.trunc(turns * 255) % 256


def _gaussian_blur(op: Program, sigma: Floats, sizes: Floats, rows: Floats) -> None:
    width, height = getattr(op, "kernel_size", (1, 1))
    sigma = np.clip(sigma, 1e-6, MOST)  # no other weights beyond
    _affine(rows, width, height, sigma, sigma)


def _gaussian_blur_pil(op: Program, sigma: Floats, sizes: Floats, rows: Floats) -> None:
    """Three boxes. Radius: Gwosdek et al. 2011, equations 7, 11 and 14, in float32 where Pillow has it."""
    variance = sigma.astype(np.float32) * sigma.astype(np.float32) / np.float32(3)
    whole = np.floor((np.sqrt(12.0 * variance.astype(np.float64) + 1.0).astype(np.float32) - 1.0) / 2.0).astype(np.float32)
    part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance) / (6 * (variance - (whole + 1) * (whole + 1)))
    _affine(rows, whole + part, whole + part, 3.0)


MAKERS: dict[str, Callable[[Program, Floats, Floats, Floats], None]] = {
    "ShearX": _shear_x, "ShearY": _shear_y, "TranslateX": _translate_x, "TranslateY": _translate_y, "Rotate": _rotate,
    **dict.fromkeys(ENHANCE, _enhance), "Posterize": _posterize, "SolarizeAdd": _solarize_add, "Hue": _hue,
    "GaussianBlur": _gaussian_blur, "GaussianBlurPIL": _gaussian_blur_pil,
}  # fmt: skip
AFFINE = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
RENAMED = dict.fromkeys(AFFINE, "Affine") | {"GaussianBlurPIL": "BoxBlur"}
NUMBERS = np.array([INSTRUCTION.get(RENAMED.get(name, name), 0) for name in CODE])
