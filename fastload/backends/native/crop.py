"""The CROP stage as one record per sample: box, resize, window, flip, scale (see
`_native.CropRecords` for the columns); and what a record does not hold as instructions that run on
the finished crop, before AUGMENT's.
"""

import numpy as np
from numpy.typing import NDArray

from fastload.backends.native import instructions
from fastload.plan.plan import Plan, Step
from fastload.spec import Array, Floats, Ints, Spec, Stage
from fastload.transforms import (
    CenterCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
)
from fastload.transforms.base import fill_colour
from fastload.transforms.matrices import IDENTITY

BOX, RESIZED, WINDOW, FLIP, SCALE = slice(0, 4), slice(4, 6), slice(6, 8), 8, 9
SCALED = (CenterCrop, RandomHorizontalFlip, RandomResizedCrop, Resize)
SCALES = (2, 4, 8)  # a JPEG can be decoded at one over these
STEEPEST, SMALLEST = (
    89.0,
    1e-3,
)  # degrees of a shear; scale. Beyond, coefficients leave what the kernels take


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these CROP steps fit neither into a record nor behind it."""
    reasons: list[str] = []
    before: list[Step] = []
    for step in steps:
        if isinstance(step.op, RandomHorizontalFlip):
            continue
        if isinstance(step.op, (RandomResizedCrop, Resize)):
            if before:
                reasons.append(
                    f"{step.label} resizes after {before[-1].label}; one resize, first of all, is "
                    "what a record holds"
                )
            before = []
        elif isinstance(step.op, (CenterCrop, Pad, RandomCrop)):
            reasons += _window_problems(step, before)
        elif isinstance(step.op, (RandomAffine, RandomPerspective, RandomRotation)):
            reasons += _warp_problems(step)
        elif not isinstance(step.op, RandomVerticalFlip):
            reasons.append(f"{step.label} is not written natively")
        before.append(step)
    return reasons


def _window_problems(step: Step, before: list[Step]) -> list[str]:
    op, reasons = step.op, []
    if warped := [
        s for s in before if isinstance(s.op, (RandomAffine, RandomPerspective, RandomRotation))
    ]:
        return [
            (
                f"{step.label} cuts after {warped[-1].label}; the native engine warps what has its "
                "last size"
            )
        ]
    if _stays_inside(step):
        return []
    if isinstance(op, (Pad, RandomCrop)) and op.padding_mode != "constant":
        reasons.append(
            f"{step.label} has padding_mode {op.padding_mode!r}; the native engine pads with black"
        )
    elif isinstance(op, (Pad, RandomCrop)) and any(fill_colour(op.fill, 3)):
        reasons.append(f"{step.label} pads with {op.fill}; the native engine pads with black")
    if windows := [s for s in before if isinstance(s.op, (CenterCrop, Pad, RandomCrop))]:
        reasons.append(
            f"{step.label} may reach beyond {windows[-1].label}; one window is what a record holds"
        )
    return reasons


def _stays_inside(step: Step) -> bool:
    """Whether the window never shows what lies outside the image before it."""
    op, height, width = step.op, step.spec.height, step.spec.width
    if isinstance(op, Pad):
        return not any(op.padding)
    if isinstance(op, RandomCrop) and not op.pad_if_needed:
        return not any(op.padding or ())  # it refuses images that are smaller
    if (
        not isinstance(op, (CenterCrop, RandomCrop))
        or any(getattr(op, "padding", None) or ())
        or height is None
        or width is None
    ):
        return False
    return bool(op.size[0] <= height and op.size[1] <= width)


def _warp_problems(step: Step) -> list[str]:
    op = step.op
    if isinstance(op, RandomRotation) and op.expand:
        return [f"{step.label} has expand=True; the native engine keeps the size"]
    if isinstance(op, RandomAffine) and max(map(abs, op.shear or (0.0,))) > STEEPEST:
        most = f"the native engine shears by up to {STEEPEST:g} degrees"
        return [f"{step.label} has shear {op.shear}; {most}"]
    if isinstance(op, RandomAffine) and op.scale and op.scale[0] < SMALLEST:
        return [
            f"{step.label} has scale {op.scale}; the native engine scales by {SMALLEST:g} or more"
        ]
    return []


def interpolation(steps: tuple[Step, ...]) -> str:
    """The filter of the one resize, which may be "random"; "bilinear" where nothing is resized."""
    found = [
        step.op.interpolation for step in steps if isinstance(step.op, (RandomResizedCrop, Resize))
    ]
    return found[0] if found else "bilinear"


def filters(steps: tuple[Step, ...], records: list[Array]) -> Ints | None:
    """PIL's numbers int32 [N] of the filters, where the one resize draws them; None where all
    samples have the same.
    """
    for step, record in zip(steps, records, strict=True):
        if isinstance(step.op, RandomResizedCrop) and step.op.interpolation == "random":
            return np.ascontiguousarray(record[:, 4])
    return None


def fold(steps: tuple[Step, ...], records: list[Array], sizes: Ints) -> tuple[Ints, list[Floats]]:
    """One record int32 [N, 10] per sample from the records of the CROP steps, and the rows [N, 13]
    of the instructions after it.

    sizes: int32 [N, 2] of the decoded images, px.
    """
    out = np.zeros((len(sizes), 10), np.int32)
    out[:, SCALE] = 1
    out[:, 2:4] = out[:, RESIZED] = sizes
    start: Ints = np.zeros(sizes.shape, np.int32)  # of what is seen of the resized box
    window: Array = sizes  # how large that is
    flips = np.zeros(sizes.shape, bool)  # of that: top-bottom, left-right
    rows: list[Floats] = []
    for step, record in zip(steps, records, strict=True):
        op = step.op
        if isinstance(op, (RandomHorizontalFlip, RandomVerticalFlip)):
            name, axis = ("FlipX", 1) if isinstance(op, RandomHorizontalFlip) else ("FlipY", 0)
            if rows:
                rows.append(instructions.switched(name, record[:, 0]))
            else:
                flips[:, axis] ^= record[:, 0].astype(bool)
        elif isinstance(op, (RandomAffine, RandomPerspective, RandomRotation)):
            rows.append(_warp(op, record))
        elif isinstance(op, RandomResizedCrop):
            out[:, BOX] = record[:, :4]
            out[:, 1] = np.where(
                flips[:, 1], sizes[:, 1] - record[:, 1] - record[:, 3], record[:, 1]
            )
            window = out[:, RESIZED] = np.broadcast_to(np.array(op.size, np.int32), sizes.shape)
        elif isinstance(op, Resize):
            window = out[:, RESIZED] = record
        else:
            start += np.where(flips, window - record[:, :2] - record[:, 2:4], record[:, :2])
            window = record[:, 2:4]
    out[:, WINDOW], out[:, FLIP] = start, flips[:, 1]
    return out, [instructions.switched("FlipY", flips[:, 0]), *rows] if flips[:, 0].any() else rows


def _warp(op: RandomAffine | RandomPerspective | RandomRotation, record: Floats) -> Floats:
    """Instructions [N, 13] of a warp's records."""
    name = "Perspective" if isinstance(op, RandomPerspective) else "Affine"
    out = instructions.of_matrices(name, record[:, :8], op.interpolation, fill_colour(op.fill, 3))
    out[(record[:, :8] == IDENTITY).all(axis=1)] = 0.0  # the image as it is
    return out


def no_scaling(plan: Plan) -> list[str]:
    """Why no JPEG of this plan is decoded at less than its size; nothing if some may be."""
    if plan.decode_scale != "fast":
        return ["decode_scale is 'exact'"]
    return plan.every(_no_scaling)


def _no_scaling(plan: Plan) -> list[str]:
    steps = plan.stage(Stage.CROP)
    others = [
        f"{s.label} is none of the ops that go with it (RandomResizedCrop, Resize, CenterCrop, "
        "RandomHorizontalFlip)"
        for s in steps
        if not isinstance(s.op, SCALED)
    ]
    return unsupported(steps) or others


def shrink(pictures: list[Ints], jpegs: NDArray[np.bool_]) -> None:
    """Set the scales: the largest at which no box, in the scaled image, is smaller than what it is
    resized to.

    pictures: of each, records int32 [N, 10]; a sample's pictures share their scale. jpegs: bool
        [N], which images
    `_native.probe` finds OK. All others keep their size.
    """
    for scale in SCALES:
        fits = np.array(
            [crops[:, BOX][:, 2:] // scale >= crops[:, RESIZED] for crops in pictures]
        ).all(axis=(0, 2))
        for crops in pictures:
            crops[fits & jpegs, SCALE] = scale


def final_size(spec: Spec) -> tuple[int, int]:
    """Height and width after CROP; plan() has made sure that they are known."""
    if spec.height is None or spec.width is None:
        raise AssertionError("a plan's size is fixed")
    return spec.height, spec.width
