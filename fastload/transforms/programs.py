"""The record of every AUGMENT op: a short program of uint8 ops per sample.

A program is float64 [N, rows, 3], run row by row: op code, final argument in the op's own unit
(CODES), and PIL's number of the filter (read by the geometric ops only). Each library's
"magnitude", every random order and every probability is resolved into it (Identity where an op does
not run), so that backends only apply. What is the same for all samples stays in the op:
`colour()`, its fill, and GaussianBlur's `kernel_size`. Ops made of ops say by `parts()` which rows
belong to which inner op.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from fastload.spec import Floats, Ints, Longs, Stage
from fastload.transforms.base import FILTERS, Op, fill_colour

CODES = (
    "Identity",  # no argument
    "ShearX", "ShearY",  # shear factor (px per px): the pixel at x comes from x + factor * y
    "TranslateX", "TranslateY",  # px, content moves right / down; fractions count
    "Rotate",  # degrees, counter-clockwise
    "Brightness", "Color", "Contrast", "Sharpness",  # enhancement factor, 1 = unchanged
    "Posterize",  # bits kept, 0..8
    "Solarize",  # values from the threshold up are inverted, 0..256
    "AutoContrast", "Equalize",  # no argument
    "Invert",  # no argument
    "SolarizeAdd",  # 0..128, added to values below 128
    "Hue",  # turns of the colour circle, -0.5..0.5
    "GaussianBlur",  # standard deviation, px; kernel_size is the op's
    "GaussianBlurPIL",  # standard deviation, px, of what Pillow makes of three box blurs
    "Custom",  # 32-bit key of the uniforms that the user's function gets
    # Mixing. The sum is float32 and starts at 0; the start is the image before the program.
    "Add",  # sum += weight * image; the image is the start again
    "Sum",  # image = the sum, cut to uint8
    "Mix",  # image = (1 - weight) * start + weight * sum in float32, cut to uint8
    "Blend",  # image = PIL's blend of start (weight 0) and image (weight 1)
)  # fmt: skip
CODE = {name: code for code, name in enumerate(CODES)}
ENHANCE = ("Brightness", "Color", "Contrast", "Sharpness")
MAX_DEPTH = 16  # ops that an image goes through one after the other
MAX_ROWS = 128  # of one program


@dataclass(frozen=True)
class Program(Op):
    """What the ops whose record is a program share."""

    stage = Stage.AUGMENT

    def rows(self) -> int:
        """How long the op's programs are."""
        return 1

    def colour(self, channels: int = 3) -> tuple[int, ...]:
        """What lies outside the image, 0..255 per channel."""
        return fill_colour(getattr(self, "fill", None), channels)

    def parts(self, program: Floats) -> "list[tuple[Program, Floats]]":
        """The ops that the rows of programs [..., rows, 3] belong to, in order: itself, but for ops
        made of ops.
        """
        return [(self, program)]


@runtime_checkable
class Levels(Protocol):
    """One library's RandAugment-like rule: which ops, and what a magnitude makes of them."""

    def problems(self, magnitude: float, depth: int) -> list[str]: ...

    def draws(self, depth: int) -> int:
        """Uniforms per sample for programs of `depth` ops."""

    def program(
        self, u: Floats, sizes: Ints, depth: int, magnitude: float, interpolation: str
    ) -> Floats:
        """Programs float64 [N, depth, 3] from u float64 [N, draws]."""


def pack(code: Longs, values: Floats, filters: ArrayLike = 0) -> Floats:
    """Programs [N, depth, 3] from op codes [N, depth], the value that each code has in values
    [codes, N, depth], and filters.
    """
    return rows(code, np.take_along_axis(values, code[None], axis=0)[0], filters)


def rows(code: ArrayLike, argument: ArrayLike, filters: ArrayLike = 0) -> Floats:
    """Programs [..., 3] from arrays that broadcast together."""
    parts = np.broadcast_arrays(
        *(np.asarray(part, np.float64) for part in (code, argument, filters))
    )
    return np.stack(parts, axis=-1)


def where(applied: ArrayLike, program: Floats) -> Floats:
    """The program with Identity in the rows where `applied` (bool, like its rows) is False."""
    return np.where(np.asarray(applied)[..., None], program, 0.0)


def filter_number(interpolation: str) -> int:
    return FILTERS[interpolation]


def sides(u: Floats) -> Floats:
    """-1 or 1, half the time each."""
    return np.where(u < 0.5, -1.0, 1.0)


def pick(u: Floats, count: int) -> Longs:
    """Whole numbers from 0 to count - 1, all alike."""
    out: Longs = np.floor(u * count).astype(np.int64)
    return out
