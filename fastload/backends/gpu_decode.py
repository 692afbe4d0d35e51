"""JPEG decoding on the GPU: the host finds the coded bytes under each crop by its seek index, the device makes the uint8 crops.

What has no usable index, or is outside the own decoder's scope, the CPU's threads decode into the host's slot, and it joins its batch
on the device. Every segment's end is checked there: an image that does not come out right is flagged, and the CPU makes it again.

    prepared = decoder.prepare(job, drawn, pictures)      # after Runner.draw, before Runner.start, which then makes only the rest
    for one, host, images in zip(prepared, outs, device_images, strict=True):  # after Runner.finish
        launched = decoder.launch(one, host, images, stream)
    redo = recall(job, launched, …)                        # waits for the device's flags; then Runner.start, finish and `upload` again
"""

from dataclasses import dataclass
from typing import Any

import torch

from fastload import _native
from fastload.backends import native
from fastload.spec import Ints


@dataclass(frozen=True)
class Prepared:
    """One picture of a batch, divided between GPU and CPU."""

    work: Any  # _native.DeviceDecode; its bytes are being packed until work.wait()
    places: Ints  # [K], in the batch, that the GPU decodes; all others are in the host's slot once Runner.finish has run
    data: torch.Tensor  # pinned uint8 [bytes]: the one transfer of this picture


@dataclass(frozen=True)
class Launched:
    """What is under way on the device; keeps the pinned memory that it reads."""

    prepared: Prepared
    flags: torch.Tensor  # pinned int32 [K]; whole once `done` is
    done: torch.cuda.Event

    def flagged(self) -> list[int]:
        """Places in the batch of the images that did not come out right. Waits for the device."""
        raise NotImplementedError


class GpuDecode:
    """Decodes batches on one GPU; made once per engine. No threads of its own: the job's pool packs, the caller launches."""

    def __init__(self, device: torch.device, *, most: int = 1 << 30, keep: int = 4) -> None:
        """most: bytes of device memory that one picture of a batch may take as workspace; keep: pinned slots kept for reuse."""

    def prepare(self, job: _native.Job, drawn: list[native.Drawn], pictures: tuple[native.Picture, ...]) -> list[Prepared]:
        """Divide a drawn batch and start packing, without the GIL; the job's `run` then passes over the GPU's samples."""
        raise NotImplementedError

    def launch(self, prepared: Prepared, host: torch.Tensor, images: torch.Tensor, stream: torch.cuda.Stream) -> Launched:
        """All crops of one picture to `images`, uint8 [N, H, W, 3] on the device, in order of `stream`, which is the current one.

        host: the pinned slot [N, H, W, 3] with the CPU's crops; only these rows are sent. Waits for the packing, not for the device.
        """
        raise NotImplementedError

    def upload(self, host: torch.Tensor, images: torch.Tensor, places: Ints) -> None:
        """Copy rows of `host` to `images` on the current stream: those of the CPU, or those that it has made again."""
        raise NotImplementedError


def recall(job: _native.Job, launched: list[Launched]) -> Ints:
    """Places that any picture's launch has flagged, given back to the job: its next `run` makes them. Waits for the device."""
    raise NotImplementedError
