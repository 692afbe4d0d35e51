"""What runs on an image between CROP and STORE, row by row: instructions (see instructions.py) as
DALI's per-sample arguments.

DALI's graph is fixed while instructions differ by sample, so each row is a chain of conditional
branches, one per kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from fastload.backends.native import augment, crop, instructions
from fastload.backends.native.instructions import ARGUMENTS, FILTER, INSTRUCTION, NUMBER
from fastload.errors import BackendError
from fastload.plan.plan import Plan
from fastload.spec import Array, Floats, Ints, Spec, Stage
from fastload.transforms.kinds import Flip, Warp
from fastload.transforms.programs import Program

# Kinds of branches and the per-sample arguments of each; numbers below are positions here, 0 leaves
# the image as it is.
KINDS: dict[str, tuple[str, ...]] = {
    "Identity": (),
    "Affine": ("matrix",),  # nearest pixels
    "AffineBilinear": ("matrix",),
    "Brightness": ("factor",),
    "Contrast": ("factor",),
    "Color": ("factor",),
    "Sharpness": ("factor",),
    "Hue": ("factor",),  # degrees
    "Posterize": ("mask",),
    "Solarize": ("factor",),
    "SolarizeAdd": ("factor",),
    "Invert": (),
    "AutoContrast": (),
    "Equalize": (),
    "GaussianBlur": ("sigma", "taps"),
    "FlipX": (),
    "FlipY": (),
}
NUMBERS = {name: number for number, name in enumerate(KINDS)}
# dtype and shape of each argument, for one sample
TYPES: dict[str, tuple[str, tuple[int, ...]]] = {
    "kind": ("int32", ()),
    "matrix": ("float32", (2, 3)),
    "factor": ("float32", ()),
    "mask": ("uint8", ()),
    "sigma": ("float32", (2,)),
    "taps": ("int32", (2,)),
}
PROBES = 2048
Maker: TypeAlias = Callable[[Floats, Array], Array]  # of a row of the programs and its kinds


@dataclass(frozen=True)
class Row:
    """One column of the programs of all samples."""

    kinds: tuple[str, ...]  # that may stand there
    fill: float  # of a warp, 0..255

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names in TYPES, in their order."""
        used = {"kind"}.union(*(KINDS[kind] for kind in self.kinds))
        return tuple(name for name in TYPES if name in used)


def names(op: Program, spec: Spec) -> set[str]:
    """The kinds that programs of `op` are made of, found by drawing many; what has no kind is named
    as its instruction.
    """
    generator = np.random.Generator(np.random.Philox(0))
    # Powers of uniforms, so that what is drawn with a small probability is among them.
    u = generator.random((PROBES, op.draws(spec))) ** generator.choice(
        [1.0, 16.0], (PROBES, op.draws(spec))
    )
    sizes = np.tile(np.array([spec.height or 64, spec.width or 64], np.int32), (PROBES, 1))
    rows = [
        instructions.of_program(part, record, sizes)
        for part, record in op.parts(np.asarray(op.params(u, sizes).records, np.float64))
    ]
    return set(_kinds(np.concatenate(rows, axis=1)).ravel().tolist()) - {"Identity"}


def _kinds(rows: Floats) -> Array:
    """Names [...] of instructions [..., 13]."""
    kinds = np.array(list(INSTRUCTION), dtype=object)[rows[..., NUMBER].astype(np.int64)]
    kinds[(kinds == "Affine") & (rows[..., FILTER] == 1)] = "AffineBilinear"
    kinds[(kinds == "Affine") & (rows[..., FILTER] == 2)] = "bicubic Affine"
    return kinds


def rows(plan: Plan) -> tuple[Row, ...]:
    """The rows of all programs of a picture: those of CROP, then AUGMENT's."""
    layout: list[Row] = []
    crops = plan.stage(Stage.CROP)
    warps = [step.op for step in crops if isinstance(step.op, Warp)]
    flips = [step.op for step in crops if isinstance(step.op, Flip)]
    if warps or any(not op.axis for op in flips):
        kinds = (
            "FlipX",
            "FlipY",
            *dict.fromkeys(
                "AffineBilinear" if op.interpolation == "bilinear" else "Affine" for op in warps
            ),
        )
        fill = warps[0].colour()[0] if warps else 0
        layout += [Row(kinds, fill)] * (1 + len(flips) + len(warps))
    for step in plan.stage(Stage.AUGMENT):
        if isinstance(step.op, Flip):
            layout.append(Row((crop.FLIPS[step.op.axis],), 0))
        elif isinstance(step.op, Program):
            drawn = names(step.op, step.spec)
            kinds = tuple(kind for kind in KINDS if kind in drawn)
            layout += [
                Row(kinds, float(op.colour()[0]))
                for op, _ in augment.parts(step.op)
                for _ in range(op.rows())
            ]
    return tuple(layout)


def arguments(layout: tuple[Row, ...], programs: Floats) -> list[Array]:
    """Arrays [N, …] of each row's arguments, row by row; programs [N, rows, 13]."""
    out: list[Array] = []
    for column, row in enumerate(layout):
        program = programs[:, column]
        kinds = _kinds(program)
        if strange := set(kinds.tolist()) - {"Identity", *row.kinds}:
            raise BackendError(
                f"backend dali: a program has {', '.join(sorted(strange))}, which its op never "
                "drew; use backend='native'"
            )
        arrays = {"kind": np.array([NUMBERS[kind] for kind in kinds], np.int32)}
        out += [
            arrays[name] if name in arrays else MAKERS[name](program, kinds)
            for name in row.arguments
        ]
    return out


def _matrix(program: Floats, kinds: Array) -> Array:
    warped = np.char.startswith(kinds.astype(str), "Affine")
    identity = np.array([1, 0, 0, 0, 1, 0], np.float64)
    return (
        np.where(warped[:, None], program[:, ARGUMENTS : ARGUMENTS + 6], identity)
        .astype(np.float32)
        .reshape(-1, 2, 3)
    )


def _factor(program: Floats, kinds: Array) -> Array:
    factor = program[:, ARGUMENTS]
    return np.where(kinds == "Hue", factor * (360 / 256), factor).astype(np.float32)


def _mask(program: Floats, kinds: Array) -> Array:
    bits = np.where(kinds == "Posterize", program[:, ARGUMENTS], 8).astype(np.int64)
    return (256 - (1 << (8 - bits))).astype(np.uint8)


def _blurred(first: int, other: float, dtype: DTypeLike) -> Maker:
    def make(program: Floats, kinds: Array) -> Array:
        down_across = program[:, [ARGUMENTS + first + 1, ARGUMENTS + first]]
        return np.ascontiguousarray(
            np.where((kinds == "GaussianBlur")[:, None], down_across, other), dtype
        )

    return make


MAKERS: dict[str, Maker] = {
    "matrix": _matrix,
    "factor": _factor,
    "mask": _mask,
    "sigma": _blurred(2, 1.0, np.float32),
    "taps": _blurred(0, 1, np.int32),
}


def fixed(parts: list[Floats], depth: int, count: int) -> Floats:
    """CROP's instructions [N, depth, 13] from as many rows [N, 13] as there are this time, the
    others Identity.
    """
    out = np.zeros((count, depth, instructions.WIDTH))
    for column, row in enumerate(parts):
        out[:, column] = row
    return out


def programs(
    plan: Plan, layout: tuple[Row, ...], cropped: list[Floats], records: list[Array], sizes: Ints
) -> Floats:
    """Programs [N, rows, 13] of a batch:

    `cropped` is what crop.fold leaves, records are AUGMENT's, sizes after CROP.
    """
    steps = plan.stage(Stage.AUGMENT)
    depth = len(layout) - augment.depth(steps)
    return np.concatenate(
        [fixed(cropped, depth, len(sizes)), *augment.fold(steps, records, sizes)], axis=1
    )
