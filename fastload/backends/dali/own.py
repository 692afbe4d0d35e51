"""NVIDIA DALI as it is used by itself: its fused decoding and random crop, its flips and its
policies, drawn by itself.

Order, batches, labels and what STORE draws stay fastload's; the crops, flips and policies do not:
they are DALI's numbers and its definitions, and they are the same again only with the same batch
size and seed.
"""

from fastload.backends.dali import installed as dali_installed
from fastload.backends.dali import runner as dali
from fastload.plan.plan import Plan
from fastload.plan.steps import Step
from fastload.spec import Stage
from fastload.system.machine import WHOLE_CODEC
from fastload.transforms import (
    AutoAugment,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    TrivialAugmentWide,
)


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why DALI by itself is not this plan."""
    reasons = dali_installed.missing() + plan.every(_unsupported)
    if plan.masks is not None:
        reasons.append(
            "masks need the crops of their images, which only DALI knows; use backend='dali'"
        )
    if plan.by_part:
        reasons.append("ops of a mix's parts are not written for DALI; use backend='native'")
    if plan.target is not None:
        reasons.append("target is not written for DALI; use backend='native'")
    if plan.decode_scale != "exact":
        reasons.append(
            "decode_scale is 'fast', which DALI has not; use 'exact' or backend='native'"
        )
    if dali_installed.whole_decode(device):
        reasons.append(
            f"nvImageCodec 0.9 fails on parts of JPEGs on the GPU; {WHOLE_CODEC}, or use "
            "backend='dali'"
        )
    return reasons


def compile(plan: Plan, device: str) -> dali.Runner:
    return dali.Runner(plan, device, own=True)


def _unsupported(plan: Plan) -> list[str]:
    crops = plan.stage(Stage.CROP)
    kinds = [type(step.op) for step in crops]
    reasons = []
    if kinds not in ([RandomResizedCrop], [RandomResizedCrop, RandomHorizontalFlip]):
        names = ", ".join(step.op.name for step in crops) or "none"
        reasons.append(
            f"CROP is {names}; DALI by itself has RandomResizedCrop, then RandomHorizontalFlip; "
            "use backend='dali'"
        )
    reasons += [reason for step in crops for reason in dali.crop_problems(step)]
    if any(
        isinstance(step.op, RandomResizedCrop) and step.op.interpolation == "random"
        for step in crops
    ):
        reasons.append(
            "RandomResizedCrop has interpolation 'random'; DALI by itself has one filter; use "
            "backend='dali'"
        )
    for step in plan.stage(Stage.AUGMENT):
        reasons += _policy_problems(step)
    return reasons + dali.store_problems(plan)


def _policy_problems(step: Step) -> list[str]:
    op = step.op
    if not isinstance(op, (AutoAugment, RandAugment, TrivialAugmentWide)):
        return [f"{step.label} is none of DALI's own policies; use backend='dali'"]
    reasons = dali.warp_problems(step.label, op.interpolation, op.colour())
    if op.definition not in (None, "v2"):
        reasons.append(
            f"{step.label} has another library's definition; DALI has its own only; use "
            "backend='dali'"
        )
    if isinstance(op, AutoAugment) and op.policy != "imagenet":
        reasons.append(
            f"{step.label} has policy {op.policy!r}; DALI by itself has 'imagenet' as fastload "
            "means it; use backend='dali'"
        )
    return reasons
