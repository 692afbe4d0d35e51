"""What the GPU does to a batch that the host has cropped: AUGMENT's programs, in one launch. STORE follows (uploading.Uploader)."""

from typing import Any

import torch

from fastload import _native
from fastload.backends import augment as programmed
from fastload.backends import store
from fastload.placement import Placement
from fastload.plan import Plan
from fastload.spec import Floats, Stage


def unsupported(plan: Plan, place: Placement) -> list[str]:
    """Why a batch cannot be made in this place."""
    return plan.every(_augment_unsupported) if place.augment == "gpu" else []


def _augment_unsupported(plan: Plan) -> list[str]:
    """Why AUGMENT cannot run on the GPU: what the host does after it would come before it."""
    found = [step for step in plan.stage(Stage.STORE) if isinstance(step.op, store.GATHERS)]
    reasons = [f"{step.label} drops rows and columns on the host, before augment='gpu' is done; leave augment out" for step in found]
    if programmed.functions(plan.stage(Stage.AUGMENT)):
        reasons.append("users' functions run on the host, not with augment='gpu'; leave augment out")
    if plan.size_mode != "decode":
        reasons.append(
            f"size_schedule's mode {plan.size_mode!r} shrinks batches on the host, before augment='gpu' is done; leave augment out"
        )
    return reasons


def programs(instructions: Floats | None, height: int, width: int) -> Any:
    """`_native.DevicePrograms` of instructions [N, depth, 13] for images of this size, px; None where they change nothing."""
    if instructions is None or not instructions[..., 0].any():
        return None
    return _native.DevicePrograms(instructions, height, width)


def augment(programs: Any, data: torch.Tensor, images: torch.Tensor, stream: int) -> torch.Tensor:
    """uint8 [N, H, W, 3] after the programs, from images of that shape; data: a copy of programs.data.

    All on the device of `stream`, a cudaStream_t, which is the current one: there the memory is taken, and nothing is waited for.
    """
    out = torch.empty_like(images)
    scratch = torch.empty(programs.workspace(), dtype=torch.uint8, device=images.device)
    programs.launch(images.data_ptr(), data.data_ptr(), out.data_ptr(), scratch.data_ptr(), stream)
    return out
