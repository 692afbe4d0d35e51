"""What the GPU does to a batch that the host has cropped:

AUGMENT's programs, in one launch, and STORE in another (uploading.Uploader).
"""

from typing import NamedTuple

import torch

from fastload import _native
from fastload.backends.native import augment as programmed
from fastload.backends.native import store
from fastload.plan.placement import Placement
from fastload.plan.plan import Plan
from fastload.spec import Stage


class OnDevice(NamedTuple):
    """What the GPU does to one picture of a batch."""

    programs: _native.DevicePrograms | None  # None: nothing
    store: _native.DeviceStore


class HostPart(NamedTuple):
    """What the host does to one picture of a batch after CROP."""

    programs: _native.Programs | None
    lists: store.Lists


def unsupported(plan: Plan, placement: Placement) -> list[str]:
    """Why a batch cannot be made with this placement."""
    return plan.every(_augment_unsupported) if placement.augment == "gpu" else []


def _augment_unsupported(plan: Plan) -> list[str]:
    if programmed.functions(plan.stage(Stage.AUGMENT)):
        return ["users' functions run on the host, not with augment='gpu'; leave augment out"]
    return []


def divided(
    plan: Plan, shape: tuple[int, int, int, int], drawn: HostPart, tables: store.Tables
) -> tuple[HostPart, OnDevice]:
    """What of a picture's records is the host's, which makes uint8 [N, H, W, 3] of `shape`, and
    what is the GPU's: STORE, and with augment="gpu" AUGMENT and what drops rows and columns after
    it. Else the host drops these, so that less is sent.
    """
    programs, lists = drawn
    on_host = lists._replace(boxes=None, keys=None, partners=None)
    on_device = lists._replace(rows=None, columns=None)
    device_part, (count, height, width, _) = None, shape
    if plan.augment == "gpu":
        on_host, on_device = on_host._replace(rows=None, columns=None), lists
        device_part, programs = device_programs(programs, height, width), None
    out = plan.out
    how = _native.DeviceStore(
        count, height, width, out.dtype, store.records(out.channels_last, on_device, tables)
    )
    return HostPart(programs, on_host), OnDevice(device_part, how)


def device_programs(
    programs: _native.Programs | None, height: int, width: int
) -> _native.DevicePrograms | None:
    """For images of this size, px; None where they change nothing."""
    if programs is None or not programs.rows[..., 0].any():
        return None
    return _native.DevicePrograms(programs, height, width)


def augment(
    programs: _native.DevicePrograms, data: torch.Tensor, images: torch.Tensor, stream: int
) -> torch.Tensor:
    """uint8 [N, H, W, 3] after the programs, from images of that shape; data: a copy of
    programs.data.

    All on the device of `stream`, a cudaStream_t, which is the current one: there the memory is
    taken, and nothing is waited for.
    """
    out = torch.empty_like(images)
    scratch = torch.empty(programs.workspace(), dtype=torch.uint8, device=images.device)
    programs.launch(images.data_ptr(), data.data_ptr(), out.data_ptr(), scratch.data_ptr(), stream)
    return out
