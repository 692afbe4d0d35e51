"""The record of every AUGMENT op: a short program of uint8 ops per sample.

A program is float64 [N, rows, 3], run row by row: op code, final argument in the code's own unit,
and PIL's number of the filter (read by the geometric ops only). Each library's "magnitude", every
random order and every probability is resolved into it (Identity where an op does not run), so that
backends only apply. What is the same for all samples stays in the op: `colour()`, its fill, and
GaussianBlur's `kernel_size`. Ops made of ops say by `parts()` which rows belong to which inner op.

CODES is the one table of codes. The extension's instructions come first, under their own numbers;
`kernels/augment/program.h` states them. The units of arguments are those there, but for these:

    SolarizeAdd      0..128, added to values below 128
    Hue              turns of the colour circle, -0.5..0.5
    GaussianBlur     standard deviation, px; kernel_size is the op's
    Custom           32-bit key of the uniforms that the user's function gets
    ShearX, ShearY   shear factor (px per px): the pixel at x comes from x + factor * y
    TranslateX, -Y   px, content moves right / down; fractions count
    Rotate           degrees, counter-clockwise
    GaussianBlurPIL  standard deviation, px, of what Pillow makes of three box blurs

Mixing: the sum is float32 and starts at 0; the start is the image before the program.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from fastload import _native
from fastload.spec import Floats, Ints, Longs, Records, Spec, Stage
from fastload.transforms.base import FILTERS, Op

# What only programs know, and the instruction that the native engine writes it as.
WRITTEN_AS = {
    "ShearX": "Affine", "ShearY": "Affine", "TranslateX": "Affine", "TranslateY": "Affine",
    "Rotate": "Affine", "GaussianBlurPIL": "BoxBlur",
}  # fmt: skip
CODES = (*_native.INSTRUCTIONS, *WRITTEN_AS)
CODE = {name: code for code, name in enumerate(CODES)}
ENHANCE = ("Brightness", "Color", "Contrast", "Sharpness")
MIXING = ("Add", "Sum", "Mix", "Blend")
UNITS = {  # of arguments in words; of others "{:.3g}"
    "ShearX": "{:.3g}", "ShearY": "{:.3g}", "TranslateX": "{:.1f} px", "TranslateY": "{:.1f} px",
    "Rotate": "{:.1f}°",
    "Brightness": "{:.2f}", "Color": "{:.2f}", "Contrast": "{:.2f}", "Sharpness": "{:.2f}",
    "Posterize": "{:.0f} bits", "Solarize": "from {:g}", "SolarizeAdd": "{:.0f}",
    "Hue": "{:.3f} turns",
    "GaussianBlur": "{:.2f} px", "GaussianBlurPIL": "{:.2f} px", "Custom": "with key {:.0f}",
    "Add": "{:.3f}", "Mix": "{:.3f}", "Blend": "{:.3f}",
}  # fmt: skip
MAX_DEPTH = 16  # ops that an image goes through one after the other
MAX_ROWS = 128  # of one program


@dataclass(frozen=True)
class Program(Op):
    """AUGMENT's one kind: an op whose record is a program."""

    stage = Stage.AUGMENT
    mixes: ClassVar[bool] = False  # its programs have codes of MIXING

    def rows(self) -> int:
        """How long the op's programs are."""
        return 1

    def parts(self, program: Floats) -> "list[tuple[Program, Floats]]":
        """The ops that the rows of programs [..., rows, 3] belong to, in order: itself, but for ops
        made of ops.
        """
        return [(self, program)]

    def words(self, record: Records, before: Spec) -> str:
        return ", then ".join(filter(None, map(row_words, record.tolist()))) or "nothing"


def row_words(row: list[float]) -> str:
    """One row of a program in words: code, argument, filter. Empty for Identity."""
    name = CODES[int(row[0])]
    if name == "Identity":
        return ""
    if (name, row[1]) == ("Posterize", 1.0):
        return "Posterize 1 bit"
    if name in UNITS:
        return f"{name} {UNITS[name].format(row[1])}"
    return f"{name} {row[1]:.3g}" if _native.ARGUMENTS[CODE[name]] else name


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


def by_code(arguments: Mapping[str, ArrayLike], shape: tuple[int, ...]) -> Floats:
    """float64 [codes, *shape] from the arguments of ops by their names; 0 for all others."""
    nothing = np.zeros(shape)
    return np.stack([np.broadcast_to(arguments.get(name, nothing), shape) for name in CODES])


def rows(code: ArrayLike, argument: ArrayLike, filters: ArrayLike = 0) -> Floats:
    """Programs [..., 3] from arrays that broadcast together."""
    parts = np.broadcast_arrays(code, argument, filters)
    return np.stack(parts, axis=-1).astype(np.float64)


def where(applied: ArrayLike, program: Floats) -> Floats:
    """The program with Identity in the rows where `applied` (bool, like its rows) is False."""
    return np.where(np.expand_dims(applied, -1), program, 0.0)


def filter_number(interpolation: str) -> int:
    return FILTERS[interpolation]


def sides(u: Floats) -> Floats:
    """-1 or 1, half the time each."""
    return np.where(u < 0.5, -1.0, 1.0)


def pick(u: Floats, count: int) -> Longs:
    """Whole numbers from 0 to count - 1, all alike."""
    out: Longs = np.floor(u * count).astype(np.int64)
    return out
