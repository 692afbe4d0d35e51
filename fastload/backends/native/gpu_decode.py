"""JPEG decoding on the GPU: the host finds the coded bytes under each crop by its seek index, the
device makes the uint8 crops.

What has no usable index, or is outside the own decoder's scope, the CPU's threads decode into the
host's slot, and it joins its batch on the device. Every segment's end is checked there: an image
that does not come out right is flagged, and the CPU makes it again.

    # After Runner.draw and before Runner.start, which then makes only the rest:
    prepared = decoder.prepare(job, drawn)
    # After Runner.finish:
    for one, host, images in zip(prepared, outs, crops):
        launched.append(decoder.launch(one, host, images, stream))
    # Waits for the flags. Where any are set: Runner.start, finish, `upload`.
    positions = recall(job, launched)
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from fastload import _native
from fastload.backends.native.picture import Drawn

Positions: TypeAlias = NDArray[np.int64]  # in the batch, ascending
# Bytes of scratch memory on the GPU. A batch of 256 crops of ImageNet's images takes 0.25 GB.
MOST = 1 << 30


@dataclass(frozen=True)
class Prepared:
    """One picture of a batch, divided between GPU and CPU."""

    work: _native.DeviceDecode  # packs `data` until work.wait()
    positions: Positions  # [K], that the GPU decodes
    others: Positions  # [N - K]: in the host's slot once Runner.finish has run
    data: torch.Tensor  # uint8 [bytes], pinned: the one transfer of this picture


@dataclass(frozen=True)
class Launched:
    """One picture under way on the device."""

    prepared: Prepared
    flags: torch.Tensor  # int32 [K], pinned; whole once `done` is
    done: torch.cuda.Event

    def flagged(self) -> list[int]:
        """Places in the batch of the images that did not come out right. Waits for the device."""
        self.done.synchronize()
        return [int(position) for position in self.prepared.positions[self.flags.numpy() != 0]]


class GpuDecode:
    """Decodes batches on one GPU; made once per engine.

    No threads of its own: the job's pool packs, the caller launches.
    """

    def __init__(self, device: torch.device, *, most: int = MOST) -> None:
        """most: bytes of device memory that one picture of a batch may take as scratch; what is
        beyond, the CPU decodes.
        """
        self.device, self.most = device, most
        self.pinned = device.type == "cuda"
        self.decoded = 0  # images that went to the GPU

    def prepare(self, job: _native.Job, drawn: list[Drawn]) -> list[Prepared]:
        """Divide a drawn batch and start packing; the job's `run` then passes over the GPU's
        samples. Waits, without the GIL, until the pool has looked at every sample (30 to 100 us
        each, before all other tasks), not for the packing.

        A sample goes to the GPU for all of its pictures or for none.
        """
        works = [_native.DeviceDecode(job, one.crops, self.most) for one in drawn]
        fits = np.ones(len(job), np.bool_)
        for work in works:
            work.wait()
            fits &= np.array([not why for why in work.reasons], np.bool_)
        job.put_aside(fits.astype(np.uint8))
        self.decoded += int(fits.sum())
        return [self._pack(work, fits) for work in works]

    def _pack(self, work: _native.DeviceDecode, fits: NDArray[np.bool_]) -> Prepared:
        positions = np.flatnonzero(fits)
        work.choose(positions)
        # torch keeps memory that copies still read.
        data = torch.empty(work.nbytes, dtype=torch.uint8, pin_memory=self.pinned)
        work.pack(data.numpy())
        return Prepared(work, positions, np.flatnonzero(~fits), data)

    def launch(
        self,
        prepared: Prepared,
        host: torch.Tensor,
        images: torch.Tensor,
        stream: torch.cuda.Stream,
    ) -> Launched:
        """All crops of one picture to `images`, uint8 [N, H, W, 3] on the device, in order of
        `stream`, which is the current one.

        host: the pinned slot [N, H, W, 3] with the CPU's crops; only these rows are sent. Waits for
            the packing, not for the device.
        """
        work, count = prepared.work, len(prepared.positions)
        self.upload(host, images, prepared.others)
        work.wait()
        there = prepared.data.to(self.device, non_blocking=True)
        scratch = torch.empty(work.scratch, dtype=torch.uint8, device=self.device)
        flags = torch.zeros(count, dtype=torch.int32, device=self.device)
        work.launch(
            there.data_ptr(),
            scratch.data_ptr(),
            images.data_ptr(),
            flags.data_ptr(),
            stream.cuda_stream,
        )
        host_flags = torch.empty(count, dtype=torch.int32, pin_memory=self.pinned).copy_(
            flags, non_blocking=True
        )
        # Blocking: who waits leaves the core to others.
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        return Launched(prepared, host_flags, stream.record_event(event))

    def upload(self, host: torch.Tensor, images: torch.Tensor, positions: Positions) -> None:
        """Copy rows of `host` to `images` on the current stream: those of the CPU, or those that it
        has made again.

        Rows that lie together go over together.
        """
        for run in np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1):
            if len(run):
                images[run[0] : run[-1] + 1].copy_(host[run[0] : run[-1] + 1], non_blocking=True)


def recall(job: _native.Job, launched: list[Launched]) -> Positions:
    """Places that any picture's launch has flagged, given back to the job: its next `run` makes
    them. Waits for the device.
    """
    positions = np.array(
        sorted({position for one in launched for position in one.flagged()}), np.int64
    )
    if len(positions):
        aside = np.zeros(len(job), np.uint8)
        aside[launched[0].prepared.positions] = 1
        aside[positions] = 0
        job.put_aside(aside)
    return positions
