"""The CROP stage as one record per sample: box, resize, window, flip, scale (see
`_native.CropRecords` for the columns); and what a record does not hold as instructions that run on
the finished crop, before AUGMENT's.
"""

import numpy as np
from numpy.typing import NDArray

from fastload.backends.native import instructions
from fastload.plan.plan import Plan
from fastload.plan.steps import Step
from fastload.spec import Array, Floats, Ints, Spec, Stage
from fastload.transforms import Op, Pad, RandomAffine, RandomCrop
from fastload.transforms.kinds import Flip, Region, Warp, Window
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.padding import MODES
from fastload.transforms.timm_sizes import CenterCropOrPad

BOX, RESIZED, WINDOW, FLIP, SCALE = slice(0, 4), slice(4, 6), slice(6, 8), 8, 9
FLIPS = ("FlipY", "FlipX")  # instructions, by a flip's axis
SCALES = (2, 4, 8)  # a JPEG can be decoded at one over these
# With more shear or a smaller scale, coefficients leave the range that the kernels take.
STEEPEST = 89.0  # degrees of a shear
SMALLEST = 1e-3  # scale
# Filters that round to one side: a mirrored image resized is no resized image mirrored
ONE_SIDED = ("nearest", "box")


def unsupported(steps: tuple[Step, ...]) -> list[str]:
    """Why these CROP steps fit neither into a record nor behind it."""
    reasons: list[str] = []
    before: list[Step] = []
    mirrored: Step | None = None
    for step in steps:
        op = step.op
        if isinstance(op, Flip):
            if op.axis:
                mirrored = step
                continue  # a column of the record, wherever it stands
        elif isinstance(op, Region):
            if mirrored and op.interpolation in ONE_SIDED:
                reasons.append(
                    f"{step.label} resizes by {op.interpolation!r} after {mirrored.label}; "
                    "natively a flip comes after that"
                )
            if before:
                reasons.append(
                    f"{step.label} resizes after {before[-1].label}; one resize at the start is "
                    "what a record holds"
                )
            before = []
        elif isinstance(op, Window):
            reasons += _window_problems(step, op, before)
        elif isinstance(op, Warp):
            reasons += warp_problems(step.label, op)
        else:
            reasons.append(f"{step.label} is not written natively")
        before.append(step)
    return reasons + [reason for step in borders(steps) for reason in _border_problems(step, steps)]


def borders(steps: tuple[Step, ...]) -> list[Step]:
    """The windows that may show something else than black beyond the image."""
    return [
        step
        for step in steps
        if isinstance(step.op, Window)
        and (step.op.padding_mode != "constant" or any(step.op.colour()))
        and not step.op.stays_inside(step.spec)
    ]


def _border_problems(step: Step, steps: tuple[Step, ...]) -> list[str]:
    """Mirrored px are taken from what the last window shows, so it must show all of them."""
    op = step.op
    if not isinstance(op, Window) or op.padding_mode == "constant":
        return []
    later = [s for s in steps if isinstance(s.op, Window) and s.number > step.number]
    # Before others, only what says how much it pads; of the last window, all is seen that it pads.
    before = (Pad, RandomCrop) if not getattr(op, "pad_if_needed", False) else ()
    if type(op) not in (before if later else (Pad, RandomCrop, CenterCropOrPad)):
        return [f"{step.label} has padding_mode {op.padding_mode!r} before another window"]
    shown = [s.op.out_spec(s.spec) for s in ([step] if type(op) is RandomCrop else []) + later]
    left, top, right, bottom = getattr(op, "padding", None) or (0, 0, 0, 0)
    for side, widest in (("height", max(top, bottom)), ("width", max(left, right))):
        least = widest + 1 if op.padding_mode == "edge" else 2 * widest + 1
        sizes = [getattr(spec, side) or 0 for spec in shown] if widest else []
        if sizes and min(sizes) < least:
            what = f"padding_mode {op.padding_mode!r} and {widest} px of padding"
            return [f"{step.label} has {what}; natively that wants a {side} of {least} px or more"]
    return []


def _window_problems(step: Step, op: Window, before: list[Step]) -> list[str]:
    if warped := [s for s in before if isinstance(s.op, Warp)]:
        return [
            (
                f"{step.label} cuts after {warped[-1].label}; the native engine warps what has its "
                "last size"
            )
        ]
    windows = [s for s in before if isinstance(s.op, Window)]
    if op.stays_inside(step.spec) or not windows:
        return []
    return [f"{step.label} may reach beyond {windows[-1].label}; one window is what a record holds"]


def warp_problems(label: str, op: Warp) -> list[str]:
    """Why the native kernels do not warp by it, or nothing."""
    if op.expand:
        return [f"{label} has expand=True; the native engine keeps the size"]
    if isinstance(op, RandomAffine) and max(map(abs, op.shear or (0.0,))) > STEEPEST:
        return [
            f"{label} has shear {op.shear}; the native engine shears by up to {STEEPEST:g} degrees"
        ]
    if isinstance(op, RandomAffine) and op.scale and op.scale[0] < SMALLEST:
        return [f"{label} has scale {op.scale}; the native engine scales by {SMALLEST:g} or more"]
    return []


def interpolation(steps: tuple[Step, ...]) -> str:
    """The filter of the one resize, which may be "random"; "bilinear" where nothing is resized."""
    used = [step.op.interpolation for step in steps if isinstance(step.op, Region)]
    return used[0] if used else "bilinear"


def filters(steps: tuple[Step, ...], records: list[Array]) -> Ints | None:
    """PIL's numbers int32 [N] of the filters, where the one resize draws them; None where all
    samples have the same.
    """
    for step, record in zip(steps, records, strict=True):
        if isinstance(step.op, Region) and (drawn := step.op.filters(record)) is not None:
            return drawn
    return None


def fold(steps: tuple[Step, ...], records: list[Array], sizes: Ints) -> tuple[Ints, list[Floats]]:
    """One record int32 [N, 10] per sample from the records of the CROP steps, and the rows [N, 13]
    of the instructions after it.

    sizes: int32 [N, 2] of the decoded images, px.
    """
    box: Array = np.concatenate([np.zeros_like(sizes), sizes], axis=1)
    resized: Array = sizes
    start: Array = np.zeros_like(sizes)  # of what is seen of the resized box
    window: Array = sizes  # how large that is
    # Of that: top and bottom are swapped; left and right are
    upside, mirrored = np.zeros(len(sizes), bool), np.zeros(len(sizes), bool)
    rows: list[Floats] = []
    for step, record in zip(steps, records, strict=True):
        op = step.op
        if isinstance(op, Flip):
            if rows:
                rows.append(instructions.switched(FLIPS[op.axis], record[:, 0]))
            elif op.axis:
                mirrored = mirrored ^ record[:, 0].astype(bool)
            else:
                upside = upside ^ record[:, 0].astype(bool)
        elif isinstance(op, Warp):
            rows.append(warp(op, record))
        elif isinstance(op, Region):
            box = op.boxes(record, sizes)
            left = np.where(mirrored, sizes[:, 1] - box[:, 1] - box[:, 3], box[:, 1])
            box = np.stack([box[:, 0], left, box[:, 2], box[:, 3]], axis=1)
            window = resized = op.targets(record, sizes)
        else:
            beyond = window - record[:, :2] - record[:, 2:4]
            swapped = np.stack([upside, mirrored], axis=1)
            start, window = start + np.where(swapped, beyond, record[:, :2]), record[:, 2:4]
    last = [mirrored.astype(np.int32)[:, None], np.ones((len(sizes), 1), np.int32)]
    out = np.concatenate([box, resized, start, *last], axis=1).astype(np.int32)
    swapped = np.stack([upside, mirrored], axis=1)
    rows[:0] = [_border(step.op, start, window, resized, swapped) for step in borders(steps)][::-1]
    turned = any(isinstance(step.op, Flip) and not step.op.axis for step in steps)
    return out, [instructions.switched("FlipY", upside), *rows] if turned else rows


def _border(op: Op, start: Ints, window: Array, sizes: Ints, flips: Array) -> Floats:
    """Instructions [N, 13] for what windows [N, 2] show beyond images of `sizes`, both then
    flipped.
    """
    first = np.clip(-start, 0, window)
    end = np.clip(sizes - start, first, window)
    first, end = np.where(flips, window - end, first), np.where(flips, window - first, end)
    shown = np.any(end - first < window, axis=1)
    kind = MODES.index(getattr(op, "padding_mode", MODES[0]))
    fixed = np.tile(np.array([0.0, *map(float, op.colour()), float(kind)]), (len(start), 1))
    columns = [instructions.switched("Border", shown)[:, :1], fixed, first, end - first]
    width = instructions.WIDTH - instructions.ARGUMENTS - 5
    return np.concatenate([*columns, np.zeros((len(start), width))], axis=1)


def warp(op: Warp, record: Floats) -> Floats:
    """Instructions [N, 13] of a warp's records."""
    name = "Perspective" if op.projective else "Affine"
    out = instructions.of_matrices(name, record[:, :8], op.interpolation, op.colour())
    still = (record[:, :8] == np.array(IDENTITY)).all(axis=1)
    return np.where(still[:, None], 0.0, out)  # 0: the image as it is


def no_scaling(plan: Plan) -> list[str]:
    """Why no JPEG of this plan is decoded at less than its size; nothing if some may be."""
    if plan.decode_scale != "fast":
        return ["decode_scale is 'exact'"]
    if plan.by_part:
        return ["the parts of the mix have ops of their own"]
    return plan.every(_no_scaling)


def _no_scaling(plan: Plan) -> list[str]:
    steps = plan.stage(Stage.CROP)
    others = [
        f"{s.label} is none of the ops that go with it (RandomResizedCrop, Resize, CenterCrop, "
        "RandomHorizontalFlip)"
        for s in steps
        if not s.op.fast_decode
    ]
    return unsupported(steps) or others


def shrink(pictures: list[Ints], jpegs: NDArray[np.bool_]) -> None:
    """Set the scales: the largest at which no box, in the scaled image, is smaller than what it is
    resized to.

    pictures: of each, records int32 [N, 10]; a sample's pictures share their scale.
    jpegs: bool [N], which images `_native.probe` finds OK. All others keep their size.
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
