"""The AUGMENT stage as one program per sample, in the kernels' instructions."""

from typing import Any

import numpy as np

from fastload.backends import instructions
from fastload.plan import Step
from fastload.spec import Floats, Ints
from fastload.transforms import AugMix, Grayscale, RandomHorizontalFlip, RandomVerticalFlip
from fastload.transforms.programs import Program
from fastload.transforms.reference import augment as reference

OPS = frozenset(reference.APPLY)
FLIPS = {RandomHorizontalFlip: "FlipX", RandomVerticalFlip: "FlipY"}  # where they come after ops of AUGMENT


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these AUGMENT steps are no instructions."""
    reasons = []
    for step in steps:
        if type(step.op) in FLIPS:
            continue
        if type(step.op) not in OPS or any(type(part) not in OPS for part, _ in _parts(step.op)):
            reasons.append(f"{step.label} is not written natively")
        elif isinstance(step.op, Grayscale) and step.op.num_output_channels == 1:
            reasons.append(f"{step.label} leaves one channel; the native engine stores three")
    return reasons


def _parts(op: Any) -> list[tuple[Program, Any]]:
    parts: list[tuple[Program, Any]] = op.parts(np.zeros((1, op.rows(), 3)))
    return parts


def depth(steps: tuple[Step, ...]) -> int:
    """Instructions of one program, at most."""
    return sum(1 if type(step.op) in FLIPS else sum(op.rows() + isinstance(op, AugMix) for op, _ in _parts(step.op)) for step in steps)


def fold(steps: tuple[Step, ...], records: list[Any], sizes: Ints) -> list[Floats]:
    """Instructions float64 [N, rows, 13] of each op, for N images of `sizes` int32 [N, 2], px."""
    found: list[Floats] = []
    for step, record in zip(steps, records, strict=True):
        if name := FLIPS.get(type(step.op)):  # type: ignore[call-overload]
            found.append(instructions.switched(name, record[:, 0])[:, None])
        else:
            found += [instructions.of_program(op, rows, sizes) for op, rows in step.op.parts(record)]  # type: ignore[attr-defined]
    return found
