"""What the GPU does to a batch that the host has cropped: AUGMENT's programs, in one launch, and STORE in another (uploading.Uploader)."""

from typing import Any, NamedTuple

import torch

from fastload import _native
from fastload.backends import augment as programmed
from fastload.placement import Placement
from fastload.plan import Plan
from fastload.spec import Floats, Stage


class OnDevice(NamedTuple):
    """Of one picture of a batch."""

    programs: Any  # _native.DevicePrograms; None: nothing
    store: Any  # _native.DeviceStore


def unsupported(plan: Plan, place: Placement) -> list[str]:
    """Why a batch cannot be made in this place."""
    return plan.every(_augment_unsupported) if place.augment == "gpu" else []


def _augment_unsupported(plan: Plan) -> list[str]:
    if programmed.functions(plan.stage(Stage.AUGMENT)):
        return ["users' functions run on the host, not with augment='gpu'; leave augment out"]
    return []


def divided(picture: Any, drawn: Any) -> Any:
    """A picture's `native.Drawn` without what the GPU does, which is in on_device: STORE, and with augment="gpu" AUGMENT and what
    drops rows and columns behind it. Else the host drops these, so that less is sent.
    """
    count, height, width, _ = picture.host_shape(len(drawn.crops))
    kept, made = (None, None), None
    if picture.plan.augment == "gpu":
        kept, made = (drawn.rows, drawn.columns), programs(drawn.programs, height, width)
        drawn = drawn._replace(programs=None, rows=None, columns=None)
    out, noise = picture.plan.out, picture.noise and (drawn.keys, *picture.noise)
    how = _native.DeviceStore(count, height, width, out.dtype, out.channels_last, *kept, drawn.boxes, picture.fills, noise, drawn.partners)
    return drawn._replace(boxes=None, keys=None, partners=None, on_device=OnDevice(made, how))


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
