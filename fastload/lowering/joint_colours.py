"""Ops of the image alone among joint transforms: those of AUGMENT, which move no box."""

from collections.abc import Sequence

from fastload.lowering.names import Reasons
from fastload.spec import Spec
from fastload.transforms import Op
from fastload.transforms.programs import Program


def refused(ops: Sequence[Op], *, boxes: bool) -> Reasons:
    """Why some of them are none natively. boxes: whether targets may have boxes, masks or
    keypoints.
    """
    return [why for op in ops for why in _refused(op, boxes=boxes)]


def _refused(op: Op, *, boxes: bool) -> Reasons:
    where = f"transform {op.name}"
    if not isinstance(op, Program):
        return [f"{where} is not there for boxes yet"]
    if problems := op.problems(Spec()):
        return [f"{where}: {problem}" for problem in problems]
    if op.out_spec(Spec()) != Spec():
        return [f"{where} leaves one channel, natively images have three"]
    if boxes and not op.keeps_masks:
        return [f"{where} warps the image, and torchvision refuses boxes and masks beside it"]
    return []
