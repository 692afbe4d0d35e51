"""NVIDIA DALI runs the plan with fastload's own records: same order, crops, flips, ops and
magnitudes, by DALI's arithmetic.

Nothing here imports DALI; `dali_graph` does, once a loader runs. See `dali_own` for DALI's own
random numbers.
"""

from dataclasses import dataclass

from fastload.backends.base import Engine
from fastload.backends.dali import rows as dali_rows
from fastload.backends.dali.installed import missing
from fastload.backends.native import augment, crop, store
from fastload.plan.plan import Plan
from fastload.plan.steps import Step
from fastload.spec import Stage
from fastload.transforms import RandomErasing
from fastload.transforms.base import Op
from fastload.transforms.erasing import KINDS
from fastload.transforms.kinds import Flip, Region, Values, Warp, Window
from fastload.transforms.programs import Program

RESIZES = ("nearest", "bilinear", "bicubic", "lanczos", "random")
WARPS = ("nearest", "bilinear")


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why DALI cannot run `plan`, what is not installed among them."""
    reasons = missing() + plan.every(_unsupported)
    if plan.decode_scale != "exact":
        reasons.append(
            "decode_scale is 'fast', which DALI has not; use 'exact' or backend='native'"
        )
    if plan.by_part:
        reasons.append("ops of a mix's parts are not written for DALI; use backend='native'")
    if plan.target is not None:
        reasons.append("target is not written for DALI; use backend='native'")
    return reasons


def compile(plan: Plan, device: str) -> "Runner":
    return Runner(plan, device)


@dataclass(frozen=True)
class Runner:
    """Picklable; the engine that it makes has the pipelines and their threads."""

    plan: Plan
    device: str
    own: bool = False  # DALI draws its own numbers

    def engine(self, threads: int, depth: int, *, pinned: bool) -> Engine:
        """threads: DALI's; it has one at least. depth: batches under way."""
        from fastload.backends.dali.engine import DaliEngine

        return DaliEngine(
            self.plan,
            self.device,
            max(1, threads),
            depth if threads else 1,
            own=self.own,
            pinned=pinned,
        )


def _unsupported(plan: Plan) -> list[str]:
    crops = plan.stage(Stage.CROP)
    reasons = [
        f"{step.label} is not written for DALI; use backend='native'"
        for step in crops
        if not _has_graph(step.op)
    ]
    reasons += crop.unsupported(crops) + [
        reason for step in crops for reason in crop_problems(step)
    ]
    reasons += [
        f"{step.label} shows a border that is not black; use backend='native'"
        for step in crop.borders(crops)
    ]
    reasons += augment.unsupported(plan.stage(Stage.AUGMENT))
    reasons += [reason for step in plan.stage(Stage.AUGMENT) for reason in _augment_problems(step)]
    return reasons + store_problems(plan)


def _has_graph(op: Op) -> bool:
    """Whether an op of CROP is written for DALI."""
    return isinstance(op, (Flip, Region, Window)) or (isinstance(op, Warp) and not op.projective)


def crop_problems(step: Step) -> list[str]:
    op = step.op
    if isinstance(op, Region) and op.interpolation not in RESIZES:
        return [
            (
                f"{step.label} has interpolation {op.interpolation!r}; DALI has "
                f"{', '.join(RESIZES[:-1])}"
            )
        ]
    if isinstance(op, Warp) and not op.projective:
        return warp_problems(step.label, op.interpolation, op.colour())
    return []


def warp_problems(label: str, interpolation: str, fill: tuple[int, ...]) -> list[str]:
    reasons = []
    if interpolation not in WARPS:
        reasons.append(
            f"{label} has interpolation {interpolation!r}; DALI warps by {' or '.join(WARPS)}"
        )
    if len(set(fill)) > 1:
        reasons.append(f"{label} has fill {fill}; DALI fills with one number")
    return reasons


def _augment_problems(step: Step) -> list[str]:
    if isinstance(step.op, Flip) or augment.unsupported((step,)):
        return []  # fine, or reported already
    assert isinstance(step.op, Program)
    others = sorted(dali_rows.names(step.op, step.spec) - set(dali_rows.KINDS))
    if others:
        return [
            (
                f"{step.label} draws {', '.join(others)}, which is not written for DALI; use "
                "backend='native'"
            )
        ]
    reasons = []
    for op, _ in augment.parts(step.op):
        label = step.label if op is step.op else f"{step.label}: {op.name}"
        reasons += (
            warp_problems(label, op.interpolation, op.colour())
            if hasattr(op, "interpolation")
            else []
        )
    return reasons


def store_problems(plan: Plan) -> list[str]:
    """Why STORE is not DALI's normalisation and what `dali_store` does behind it."""
    steps = plan.stage(Stage.STORE)
    reasons = store.unsupported(steps)
    if plan.size_mode != "decode":
        reasons += store.erased_first(steps, plan.size_mode)
    reasons += [
        f"{step.label} is no multiple and sum of the value, which is what DALI has; use "
        "backend='native'"
        for step in steps
        if isinstance(step.op, Values) and step.op.linear(step.spec) is None
    ]
    if plan.out.channels == 1:
        reasons.append("images of one channel are not written for DALI; use backend='native'")
    return reasons + [
        f"{step.label} fills with noise ({step.op.value!r}), which DALI has not; give a number, or "
        "use backend='native'"
        for step in steps if isinstance(step.op, RandomErasing) and step.op.value in KINDS
    ]  # fmt: skip
