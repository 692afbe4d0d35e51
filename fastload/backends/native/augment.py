"""The AUGMENT stage as one program per sample, in the kernels' instructions."""

from collections.abc import Iterator

import numpy as np

from fastload import _native
from fastload.backends.native import instructions
from fastload.backends.native.crop import FLIPS
from fastload.plan.steps import Step
from fastload.spec import Array, Floats, Ints
from fastload.transforms.compiling import Compiled
from fastload.transforms.functions import Custom
from fastload.transforms.kinds import Flip
from fastload.transforms.programs import Program


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these AUGMENT steps are no instructions."""
    reasons = []
    for step in steps:
        if isinstance(step.op, Flip):
            continue
        if not isinstance(step.op, Program):
            reasons.append(f"{step.label} is not written natively")
        elif step.spec.channels == 1:
            reasons.append(f"{step.label} comes after one channel is left")
        else:
            reasons += [
                f"{step.label}{'' if op is step.op else f' holds {op.name}, which'} stays in "
                f"Python: {op.code}"
                for op in _custom((step,))
                if isinstance(op.code, str)
            ]
    return reasons


def _custom(steps: tuple[Step, ...]) -> Iterator[Custom]:
    """The users' functions, in the order in which programs run them."""
    for step in steps:
        if isinstance(step.op, Program):
            yield from (op for op, _ in parts(step.op) if isinstance(op, Custom))


def functions(steps: tuple[Step, ...]) -> _native.Functions | None:
    """The users' functions in the order of `fold`'s numbers; None where there are none."""
    ops = list(_custom(steps))
    codes = [op.code for op in ops if isinstance(op.code, Compiled)]
    if not codes:
        return None
    return _native.Functions(
        [(code.address, op.uniforms) for op, code in zip(ops, codes, strict=True)], codes
    )


def parts(op: Program) -> list[tuple[Program, Floats]]:
    """The ops that the rows of an op's programs belong to, with rows of no meaning."""
    return op.parts(np.zeros((1, op.rows(), 3)))


def depth(steps: tuple[Step, ...]) -> int:
    """Instructions of one program, at most."""
    return sum(
        sum(op.rows() + op.mixes for op, _ in parts(step.op))
        if isinstance(step.op, Program)
        else 1  # a flip
        for step in steps
    )


def fold(steps: tuple[Step, ...], records: list[Array], sizes: Ints) -> list[Floats]:
    """Instructions float64 [N, rows, 13] of each op, for N images of `sizes` int32 [N, 2], px."""
    out: list[Floats] = []
    number = 0  # of the user's function
    for step, record in zip(steps, records, strict=True):
        if isinstance(step.op, Flip):
            out.append(instructions.switched(FLIPS[step.op.axis], record[:, 0])[:, None])
        elif isinstance(step.op, Program):
            for op, rows in step.op.parts(record):
                made = instructions.of_program(op, rows, sizes)
                if isinstance(op, Custom):
                    made, number = instructions.calling(made, number), number + 1
                out.append(made)
    return out
