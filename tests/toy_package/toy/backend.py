"""A backend: what the torch backend makes, mirrored, so that everybody sees who made it."""

from typing import Any

from fastload.backends import torch as reference
from fastload.extending import Plan, Runner, Work


def unsupported(plan: Plan, device: str) -> list[str]:
    """Every reason why this backend cannot run the plan."""
    reasons = reference.unsupported(plan, device)
    return reasons + ["several views are not mirrored"] * bool(plan.views)


def compile(plan: Plan, device: str) -> "MirrorRunner":
    return MirrorRunner(plan)


class MirrorRunner(Runner):
    """Picklable, since worker processes run it."""

    def __call__(self, work: Work) -> tuple[Any, Any]:
        """images [N, C, H, W], left and right exchanged, and labels."""
        images, labels = super().__call__(work)
        return images.flip(-1), labels
