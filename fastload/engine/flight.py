"""A batch of the native engine under way: while samples are decoded, and when it is finished."""

import time
from typing import NamedTuple, TypeAlias

import torch

from fastload import _native
from fastload.backends import masks
from fastload.backends.native import gpu_decode
from fastload.backends.native import runner as native
from fastload.engine.uploading import Decoded, Sent
from fastload.plan.bad_samples import Report, Trouble
from fastload.plan.placement import Placement
from fastload.spec import Array, Longs, Work


class Started(NamedTuple):
    """A batch whose samples the pool is decoding."""

    runner: native.Runner  # of the work's size
    place: Placement
    asked: Work  # as it was ordered
    work: Work
    job: _native.Job
    drawn: list[native.Drawn]  # of each picture
    outs: list[Array]  # the slot of each: host_shape, host_dtype
    target: masks.Begun | None
    trouble: Trouble
    prepared: list[gpu_decode.Prepared] | None  # what of it a GPU decodes

    @property
    def done(self) -> bool:
        """Whether all is there that others make."""
        return self.job.done and (self.target is None or self.target.done)

    def wait(self, seconds: float) -> bool:
        """Whether that is so within that time."""
        end = time.monotonic() + seconds
        return self.job.wait(seconds) and (
            self.target is None or self.target.wait(max(0.0, end - time.monotonic()))
        )


class Ready(NamedTuple):
    """A batch that is finished, but for what only the caller's thread does."""

    parts: list[torch.Tensor]  # the images of each picture
    target: torch.Tensor
    valid: torch.Tensor | None  # `Work.valid`
    sent: Sent | None  # on a GPU
    place: Placement
    work: Work
    report: Report


class Going(NamedTuple):
    """A batch that is queued on a GPU whose decoder may yet find that the host must make some of
    its images.
    """

    started: Started
    work: Work
    drawn: list[native.Drawn]
    decoded: Decoded
    ready: Ready  # if it finds none


# What one thread hands to the next: a batch, or the error in its place.
Begun: TypeAlias = Started | Exception
Launched: TypeAlias = Ready | Going | Exception
Settled: TypeAlias = Ready | Exception


def kept_of(part: torch.Tensor, positions: Longs) -> torch.Tensor:
    """Images or labels at these positions of the batch."""
    return part.index_select(0, torch.from_numpy(positions))


def images_of(picture: native.Picture, out: Array) -> torch.Tensor:
    """[N, 3, H, W] over a slot."""
    images = torch.from_numpy(out)
    if picture.plan.out.dtype == "bfloat16":
        images = images.view(torch.bfloat16)
    return images.permute(0, 3, 1, 2) if picture.host_channels_last else images
