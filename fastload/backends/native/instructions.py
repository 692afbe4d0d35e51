"""Rows of programs (transforms/programs.py) as the kernels' instructions: float64 [..., 13], see
`_native.Programs` for the columns.

Coefficients and radii are made here, for the whole batch at once, in the order of operations that
Pillow has: the same bits.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fastload import _native
from fastload.draws import look_up, may_be, plain
from fastload.spec import Array, Bools, Floats, Ints
from fastload.transforms.base import FILTERS
from fastload.transforms.programs import CODE, CODES, ENHANCE, MIXING, WRITTEN_AS, Program
from fastload.transforms.reference.augment import HALF
from fastload.transforms.sampling import round15

NUMBER, FILTER, FILL, ARGUMENTS = 0, 1, slice(2, 5), 5
WIDTH = 13
INSTRUCTION = {name: CODE[name] for name in _native.INSTRUCTIONS}
SAMPLING = np.zeros(max(FILTERS.values()) + 1)  # from PIL's numbers to the kernels'
SAMPLING[[FILTERS["nearest"], FILTERS["bilinear"], FILTERS["bicubic"]]] = 0, 1, 2
MOST = 1e6  # of a factor: from here on, every difference of two values leaves 0..255


# By op code (programs.CODES): the instruction; how large its argument may be; and what arguments
# are made of it: FIXED + argument * TIMES. PIL's affine coefficients take an output px to an input
# px.
NUMBERS = np.array([float(INSTRUCTION[WRITTEN_AS.get(name, name)]) for name in CODES])
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
    limit = look_up(LIMIT, codes)
    argument = np.where(look_up(WHOLE, codes), np.trunc(argument), np.clip(argument, -limit, limit))
    filters = look_up(SAMPLING, program[..., 2].astype(np.int64))
    arguments = [
        look_up(fixed, codes) + argument * look_up(times, codes)
        for fixed, times in zip(FIXED.T, TIMES.T, strict=True)
    ]
    for code, make in MAKERS.items():
        if may_be(codes, code):
            at = codes == code
            made, filters = make(op, np.where(at, argument, 0.0), sizes[:, None], at, filters)
            for number, values in enumerate(made):
                arguments[number] = np.where(at, values, arguments[number])
    colour = [np.full(codes.shape, float(value)) for value in op.colour()]
    out: Floats = np.stack([look_up(NUMBERS, codes), filters, *colour, *arguments], axis=-1)
    if not op.mixes:
        return out
    mixes = np.any(look_up(MIXES, codes), axis=1)
    return np.concatenate([switched("Start", mixes)[:, None], out], axis=1)


def of_matrices(name: str, matrices: Floats, interpolation: str, fill: tuple[int, ...]) -> Floats:
    """Instructions [N, 13] of "Affine" or "Perspective" by PIL's coefficients float64 [N, 8]."""
    head = (float(INSTRUCTION[name]), SAMPLING[FILTERS[interpolation]], *map(float, fill))
    count = len(matrices)
    return np.concatenate([np.tile(np.array(head), (count, 1)), matrices], axis=1)


def switched(name: str, on: Array) -> Floats:
    """Instructions [N, 13] without arguments: `name` where `on` [N], else Identity."""
    number = np.where(on, float(INSTRUCTION[name]), float(INSTRUCTION["Identity"]))
    return np.concatenate([number[:, None], np.zeros((len(number), WIDTH - 1))], axis=1)


def calling(rows: Floats, function: int) -> Floats:
    """Instructions [N, rows, 13] of users' functions, with the number of the function."""
    number = np.full((*rows.shape[:-1], 1), float(function))
    return np.concatenate([rows[..., :ARGUMENTS], number, rows[..., ARGUMENTS + 1 :]], axis=-1)


def joined(parts: list[Floats]) -> Floats | None:
    """Programs [N, depth, 13] from parts [N, rows, 13] that run one after the other; None where
    there is none.
    """
    return np.concatenate(parts, axis=1) if parts else None


# Each gives what the first arguments of one code are, and the filters: of all rows, of which those
# `at` count. Degrees and so on are 0 elsewhere. sizes: int32 [N, 1, 2].
Made = tuple[tuple[ArrayLike, ...], Floats]


def _rotate(op: Program, degrees: Floats, sizes: Ints, at: Bools, filters: Floats) -> Made:
    """PIL's Image.rotate about the middle; it transposes where a turn is a permutation of the
    pixels.
    """
    degrees = degrees % 360.0
    height, width = sizes[..., 0].astype(np.float64), sizes[..., 1].astype(np.float64)
    turned = -(degrees * (math.pi / 180))
    # PIL rounds in decimal, which NumPy does not.
    cos, sin = (plain(round15, plain(each, turned, at), at) for each in (math.cos, math.sin))
    x, y = width / 2, height / 2
    made: tuple[ArrayLike, ...] = (
        cos,
        sin,
        cos * -x + sin * -y + 0.0 + x,
        -sin,
        cos,
        -sin * -x + cos * -y + 0.0 + y,
    )
    square = height == width
    turns: tuple[tuple[float, Array | bool, tuple[ArrayLike, ...]], ...] = (
        (0.0, True, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        (180.0, True, (-1.0, 0.0, width, 0.0, -1.0, height)),
        (90.0, square, (0.0, -1.0, width, 1.0, 0.0, 0.0)),
        (270.0, square, (0.0, 1.0, 0.0, -1.0, 0.0, height)),
    )
    for angle, possible, exact in turns:
        moves: Bools = at & (degrees == angle) & possible
        made = tuple(np.where(moves, new, old) for new, old in zip(exact, made, strict=True))
        filters = np.where(moves, 0.0, filters)  # pixels only move
    return made, filters


def _hue(op: Program, turns: Floats, sizes: Ints, at: Bools, filters: Floats) -> Made:
    return (np.trunc(turns * 255) % 256,), filters


def _gaussian_blur(op: Program, sigma: Floats, sizes: Ints, at: Bools, filters: Floats) -> Made:
    width, height = getattr(op, "kernel_size", (1, 1))
    sigma = np.clip(sigma, 1e-6, MOST)  # no other weights beyond
    return (float(width), float(height), sigma, sigma), filters


def _gaussian_blur_pil(op: Program, sigma: Floats, sizes: Ints, at: Bools, filters: Floats) -> Made:
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
    return (whole + part, whole + part, 3.0), filters


MAKERS: dict[int, Callable[[Program, Floats, Ints, Bools, Floats], Made]] = {
    CODE["Rotate"]: _rotate,
    CODE["Hue"]: _hue,
    CODE["GaussianBlur"]: _gaussian_blur,
    CODE["GaussianBlurPIL"]: _gaussian_blur_pil,
}
WHOLE = np.zeros(len(CODES), bool)  # by op code: whether the argument is cut to a whole number
for _name, _ranges in zip(_native.INSTRUCTIONS, _native.ARGUMENTS, strict=True):
    if CODE[_name] not in MAKERS:
        WHOLE[CODE[_name]] = any(whole for *_, whole in _ranges[:1])
