"""The CROP stage as one record per sample: box, resize, window, flip, scale. See `_native.Job.run` for the columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastload.plan import Plan, Step
from fastload.spec import Ints, Spec, Stage
from fastload.transforms import CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize

BOX, RESIZED, WINDOW, FLIP, SCALE = slice(0, 4), slice(4, 6), slice(6, 8), 8, 9
SCALES = (2, 4, 8)  # a JPEG can be decoded at one over these


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these CROP steps do not fit into one record."""
    reasons: list[str] = []
    before: list[str] = []
    for step in steps:
        if isinstance(step.op, RandomHorizontalFlip):
            continue
        if isinstance(step.op, (RandomResizedCrop, Resize)):
            if before:
                reasons.append(f"{step.label} resizes after {before[-1]}; one resize, first of all, is what a record holds")
        elif not isinstance(step.op, CenterCrop):
            reasons.append(f"{step.label} is not written natively")
        elif any("CenterCrop" in name for name in before):
            reasons.append(f"{step.label} follows {before[-1]}; one CenterCrop is what a record holds")
        before.append(step.label)
    return reasons


def interpolation(steps: tuple[Step, ...]) -> str:
    """The filter of the one resize; "bilinear" where nothing is resized."""
    found = [step.op.interpolation for step in steps if isinstance(step.op, (RandomResizedCrop, Resize))]
    return found[0] if found else "bilinear"


def fold(steps: tuple[Step, ...], records: list[Any], sizes: Ints) -> Ints:
    """One record int32 [N, 10] per sample from the records of the CROP steps; sizes int32 [N, 2] of the decoded images, px."""
    out = np.zeros((len(sizes), 10), np.int32)
    out[:, SCALE] = 1
    out[:, 2:4] = out[:, RESIZED] = sizes
    window = sizes.copy()  # what a flip mirrors: the size so far
    for step, record in zip(steps, records, strict=True):
        if isinstance(step.op, RandomHorizontalFlip):
            out[:, FLIP] ^= record[:, 0]
        elif isinstance(step.op, RandomResizedCrop):
            out[:, BOX] = record
            out[:, 1] = np.where(out[:, FLIP], sizes[:, 1] - record[:, 1] - record[:, 3], record[:, 1])
            window = out[:, RESIZED] = np.array(step.op.size, np.int32)
            window = np.broadcast_to(window, sizes.shape)
        elif isinstance(step.op, Resize):
            window = out[:, RESIZED] = record
        else:
            left = np.where(out[:, FLIP], window[:, 1] - record[:, 1] - record[:, 3], record[:, 1])
            out[:, WINDOW] = np.stack([record[:, 0], left], axis=1)
            window = record[:, 2:4]
    return out


def no_scaling(plan: Plan) -> list[str]:
    """Why no JPEG of this plan is decoded at less than its size; nothing if some may be."""
    return unsupported(plan.stage(Stage.CROP)) if plan.decode_scale == "fast" else ["decode_scale is 'exact'"]


def shrink(crops: Ints, jpegs: NDArray[np.bool_]) -> None:
    """Set the scales: the largest at which no box, in the scaled image, is smaller than what it is resized to.

    crops: records int32 [N, 10]; jpegs: bool [N], which images `_native.probe` finds OK. All others keep their size.
    """
    for scale in SCALES:
        fits = (crops[:, BOX][:, 2:] // scale >= crops[:, RESIZED]).all(axis=1)
        crops[fits & jpegs, SCALE] = scale


def final_size(spec: Spec) -> tuple[int, int]:
    """Height and width after CROP; plan() has made sure that they are known."""
    if spec.height is None or spec.width is None:
        raise AssertionError("a plan's size is fixed")
    return spec.height, spec.width
