"""Batches of a GPU: what the host has made goes over on a side stream, and AUGMENT (if it is asked
for there) and STORE follow on it.

The device does what programs, lists and tables say; equal bits, since the host made them all.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch

from fastload import _native
from fastload.backends import mending
from fastload.backends.native import cuda, gpu_decode
from fastload.backends.native.picture import Drawn, Picture
from fastload.engine.slots import Ring
from fastload.engine.streams import Streams
from fastload.plan.placement import Chooser, Placement
from fastload.spec import Array, Longs
from fastload.system import devices

STAGED = 4  # free pinned slots of small things that are kept


class Gpu(NamedTuple):
    """Where an engine's batches go."""

    device: torch.device
    asked: str  # by the user: "cuda" is the current one
    placements: tuple[Placement, ...]  # to choose among


class Sent(NamedTuple):
    """A batch on its way."""

    images: list[torch.Tensor]  # of each picture
    target: torch.Tensor
    done: torch.cuda.Event  # the side stream's event


class Decoded(NamedTuple):
    """Of each picture, under way."""

    crops: list[torch.Tensor]  # uint8 [N, H, W, 3]
    launched: list[gpu_decode.Launched]


class Uploader:
    """Of one engine: its stream, the tables that stay on the GPU, and the pinned slots that copies
    still read.
    """

    def __init__(
        self, pictures: Sequence[Picture], device: torch.device, *, pinned: bool = True
    ) -> None:
        self.pictures = pictures
        self.streams = Streams(device)
        self.device = self.streams.device
        self.staging = Ring(STAGED * (1 + len(pictures)), pinned=pinned, lent=False)
        self.images = self.bytes = 0  # handed out; sent for them, pixels and coded bytes
        self.decoder: gpu_decode.GpuDecode | None = None  # made where it is first asked for
        # Keeps slots leased until they are read.
        self.copying: deque[tuple[torch.cuda.Event, list[Array]]] = deque()
        with self.streams.within():
            self.tables = [
                tuple(table.to(self.device) for table in _tables(picture)) for picture in pictures
            ]

    def chooser(self, placements: Sequence[Placement], depth: int) -> Chooser:
        return Chooser(placements, depth, self.streams.seconds)

    def prepare(self, job: _native.Job, drawn: list[Drawn]) -> list[gpu_decode.Prepared]:
        """What of a batch the GPU is to decode; before it is started."""
        if self.decoder is None:
            self.decoder = gpu_decode.GpuDecode(self.device)
        return self.decoder.prepare(job, drawn)

    def decode(self, prepared: list[gpu_decode.Prepared], outs: Sequence[Array]) -> Decoded:
        """All crops of a batch to the GPU: what it decodes, and the host's, in the slots `outs`.

        Waits for the packing only.
        """
        if self.decoder is None:
            raise AssertionError("prepare() makes the decoder")
        launched, crops = [], []
        self.bytes += sum(part.data.nbytes for part in prepared)
        with self._memory(outs), self._read([*outs]), self.streams.within():
            for part, out in zip(prepared, outs, strict=True):
                crop = torch.empty(out.shape, dtype=torch.uint8, device=self.device)
                crops.append(crop)
                launched.append(
                    self.decoder.launch(part, torch.from_numpy(out), crop, self.streams.own)
                )
        return Decoded(crops, launched)

    def mend(self, outs: Sequence[Array], crops: list[torch.Tensor], positions: Longs) -> None:
        """Copy what the host has made again over the crops."""
        upload = self.decoder.upload  # type: ignore[union-attr]  # who mends has one
        with self._read([*outs]), self.streams.within():
            for out, crop in zip(outs, crops, strict=True):
                upload(torch.from_numpy(out), crop, positions)

    def send(
        self,
        pictures: Sequence[Picture],
        outs: Sequence[Array],
        target: torch.Tensor,
        drawn: Sequence[Drawn],
        kept: Longs | None = None,
        crops: list[torch.Tensor] | None = None,
    ) -> Sent:
        """outs: of each picture uint8 [N, H, W, 3], in a slot; crops: those that are on the GPU
        already; kept: the positions in the batch that are handed out; None: all.

        Returns at once; images are [N, 3, H, W]. Raises DeviceMemoryError.
        """
        used: list[Array] = [*outs]
        self.bytes += sum(out.nbytes for out in outs) if crops is None else 0
        with self._memory(outs), self._read(used), self.streams.within():
            there = self._copy(used, target.numpy())
            positions = None if kept is None else self._copy(used, kept)
            raw = crops or [
                torch.from_numpy(out).to(self.device, non_blocking=True) for out in outs
            ]
            images = [
                self._image(used, *each)
                for each in zip(pictures, self.tables, raw, drawn, strict=True)
            ]
            if positions is not None:
                there = there[positions]
                images = [mending.at(each, positions) for each in images]
        return Sent(images, there, self.copying[-1][0])

    @contextmanager
    def _read(self, used: list[Array]) -> Iterator[None]:
        """What is begun in the block reads the slots in `used`, also where it fails: they stay
        leased until that is done.
        """
        try:
            yield
        finally:
            self.copying.append((self.streams.done(), used))
            while len(self.copying) > 1:
                oldest, _ = self.copying[0]
                if not oldest.query():  # type: ignore[no-untyped-call]
                    break
                self.copying.popleft()

    def hand(self, sent: Sent) -> torch.cuda.Event:
        """Make the caller's stream wait for the batch; its mark (`streams.Streams.hand`)."""
        self.images += len(sent.target)
        return self.streams.hand(sent.done, [*sent.images, sent.target])

    def _image(
        self,
        used: list[Array],
        picture: Picture,
        tables: tuple[torch.Tensor, ...],
        raw: torch.Tensor,
        drawn: Drawn,
    ) -> torch.Tensor:
        """One picture of every sample."""
        if drawn.on_device is None:
            raise AssertionError("a GPU's batch has records of the GPU")
        programs, store = drawn.on_device
        if programs is not None:
            raw = cuda.augment(programs, self._copy(used, programs.data), raw, self.streams.number)
        out = picture.plan.out
        layout = torch.channels_last if out.channels_last else torch.contiguous_format
        images = torch.empty(
            (len(store), 3, *store.size),
            dtype=getattr(torch, out.dtype),
            device=self.device,
            memory_format=layout,
        )
        data = store.data
        lists = self._copy(used, data) if len(data) else torch.empty(0)
        table, noise = (one.data_ptr() for one in tables)
        store.launch(
            raw.data_ptr(), table, noise, lists.data_ptr(), images.data_ptr(), self.streams.number
        )
        return images

    def _copy(self, used: list[Array], values: Array) -> torch.Tensor:
        """An array on the GPU, by way of pinned memory: else the copy would wait for all that is
        under way.
        """
        values = np.ascontiguousarray(values)
        slot = self.staging.take(values.shape, values.dtype)
        slot[...] = values
        used.append(slot)
        return torch.from_numpy(slot).to(self.device, non_blocking=True)

    @contextmanager
    def _memory(self, outs: Sequence[Array]) -> Iterator[None]:
        """Raises DeviceMemoryError for torch's, with what a batch takes."""
        try:
            yield
        except torch.cuda.OutOfMemoryError as error:
            wanted = {"images": 0, "crops": 0}
            for picture, out in zip(self.pictures, outs, strict=True):
                wanted["images"] += int(out.size) * getattr(torch, picture.plan.out.dtype).itemsize
                wanted["crops"] += int(out.size)
            raise devices.no_memory(self.device, wanted, *self.streams.free()) from error


def _tables(picture: Picture) -> tuple[torch.Tensor, torch.Tensor]:
    """What STORE looks values up in, and levels of noise (no elements: there is no noise)."""
    values, levels = picture.tables.values, picture.tables.levels
    table = np.tile(np.arange(256, dtype=np.uint8), (3, 1)) if values is None else values
    noise = np.empty(0, np.uint8) if levels is None else levels
    return torch.from_numpy(np.ascontiguousarray(table)), torch.from_numpy(
        np.ascontiguousarray(noise)
    )
