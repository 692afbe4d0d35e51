"""AUGMENT on one image: ops' programs as native instructions."""

from collections.abc import Sequence

import numpy as np

from fastload.backends.native import instructions as kernels
from fastload.joint.picture import Size
from fastload.joint.steps import Draw
from fastload.spec import Floats, Ints, Spec
from fastload.transforms import ColorJitter
from fastload.transforms.programs import CODE, Program, rows

ANY = ColorJitter()  # an op of colours, of which no instruction here needs more


def instructions(steps: Sequence[tuple[str, float]], size: Size) -> Floats:
    """float64 [steps, 13]: ops by their names, each with its argument, on an image of this size."""
    codes, arguments = zip(*((CODE[name], value) for name, value in steps), strict=True)
    return _native(ANY, rows(codes, arguments)[None], size)


def program(op: Program, draw: Draw, size: Size) -> Floats:
    """float64 [rows, 13] of an op, drawn for one image."""
    sizes: Ints = np.array([size], np.int32)
    record, _ = op.params(draw(op.draws(Spec()))[None], sizes)
    made = [_native(part, some, size) for part, some in op.parts(np.asarray(record, np.float64))]
    return np.concatenate(made)


def _native(op: Program, program: Floats, size: Size) -> Floats:
    return np.ascontiguousarray(kernels.of_program(op, program, np.array([size], np.int32))[0])
