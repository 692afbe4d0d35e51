"""The AUGMENT stage as one program per sample, in the kernels' instructions."""

from typing import Any

import numpy as np

from fastload import _native
from fastload.backends.native import instructions
from fastload.plan.plan import Step
from fastload.spec import Floats, Ints
from fastload.transforms import AugMix, Grayscale, Op, RandomHorizontalFlip, RandomVerticalFlip
from fastload.transforms.compiling import Compiled
from fastload.transforms.functions import Custom
from fastload.transforms.programs import Program
from fastload.transforms.reference import augment as reference

OPS = frozenset(reference.APPLY)
FLIPS: dict[type[Op], str] = {
    RandomHorizontalFlip: "FlipX",
    RandomVerticalFlip: "FlipY",
}  # where they come after ops of AUGMENT


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these AUGMENT steps are no instructions."""
    reasons = []
    for step in steps:
        if type(step.op) in FLIPS:
            continue
        if type(step.op) not in OPS or any(type(part) not in OPS for part, _ in parts(step.op)):
            reasons.append(f"{step.label} is not written natively")
        elif isinstance(step.op, Grayscale) and step.op.num_output_channels == 1:
            reasons.append(f"{step.label} leaves one channel; the native engine stores three")
        else:
            reasons += [
                f"{step.label}{'' if op is step.op else f' holds {op.name}, which'} stays in "
                f"Python: {op.code}"
                for op, _ in parts(step.op) if isinstance(op, Custom) and isinstance(op.code, str)
            ]  # fmt: skip
    return reasons


def functions(steps: tuple[Step, ...]) -> _native.Functions | None:
    """The users' functions in the order of `fold`'s numbers; None where there are none."""
    ops = [
        op
        for step in steps
        if type(step.op) not in FLIPS
        for op, _ in parts(step.op)
        if isinstance(op, Custom)
    ]
    codes = [op.code for op in ops if isinstance(op.code, Compiled)]
    if not codes:
        return None
    return _native.Functions(
        [(code.address, op.uniforms) for op, code in zip(ops, codes, strict=True)], codes
    )


def parts(op: Any, programs: Any = None) -> list[tuple[Program, Any]]:
    """The ops that the rows of an op's programs belong to, with these rows."""
    found: list[tuple[Program, Any]] = op.parts(
        np.zeros((1, op.rows(), 3)) if programs is None else programs
    )
    return found


def depth(steps: tuple[Step, ...]) -> int:
    """Instructions of one program, at most."""
    return sum(
        1
        if type(step.op) in FLIPS
        else sum(op.rows() + isinstance(op, AugMix) for op, _ in parts(step.op))
        for step in steps
    )


def fold(steps: tuple[Step, ...], records: list[Any], sizes: Ints) -> list[Floats]:
    """Instructions float64 [N, rows, 13] of each op, for N images of `sizes` int32 [N, 2], px."""
    found: list[Floats] = []
    number = 0  # of the user's function
    for step, record in zip(steps, records, strict=True):
        if name := FLIPS.get(type(step.op)):
            found.append(instructions.switched(name, record[:, 0])[:, None])
            continue
        for op, rows in step.op.parts(record):  # type: ignore[attr-defined]
            found.append(instructions.of_program(op, rows, sizes))
            if isinstance(op, Custom):
                found[-1][..., instructions.ARGUMENTS], number = number, number + 1
    return found
