"""Batch memory: a ring of slots. A slot returns when the last tensor over it is freed, so kept batches are never overwritten."""

from collections import deque
from typing import Any

import numpy as np
import torch

from fastload import _native
from fastload.backends import cuda, native


class Ring:
    """`take` gives a free slot or a new one; at most `keep` free ones are held."""

    def __init__(self, keep: int, *, pinned: bool) -> None:
        self.pinned = pinned
        self.nbytes = 0  # of a slot; grows to the largest batch seen
        self._free: deque[torch.Tensor] = deque(maxlen=keep)  # append and pop are atomic: leases end on any thread

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array in a slot; every view of it, NumPy's or torch's, keeps the slot away from the ring."""
        nbytes = int(np.prod(shape)) * dtype.itemsize
        self.nbytes = max(self.nbytes, nbytes)
        memory = self._pop()
        if memory is None or len(memory) < nbytes:
            memory = torch.empty(self.nbytes, dtype=torch.uint8, pin_memory=self.pinned)
        return np.asarray(_Lease(memory, self._free))[:nbytes].view(dtype).reshape(shape)

    def _pop(self) -> torch.Tensor | None:
        try:
            return self._free.pop()
        except IndexError:
            return None


class _Lease:
    """NumPy keeps the object that described the memory alive; when it goes, so has the last view."""

    def __init__(self, memory: torch.Tensor, free: deque[torch.Tensor]) -> None:
        self.memory, self.free = memory, free
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (len(memory),), "data": (memory.data_ptr(), False)}

    def __del__(self) -> None:
        self.free.append(self.memory)


class Uploader:
    """AUGMENT, if it is asked for there, and STORE on the GPU: pinned uint8 batches go over on a side stream, and the caller's
    stream waits for the result.

    The device does what programs and table say; equal bits, since the host made both.
    """

    def __init__(self, runner: native.Picture) -> None:
        self.runner = runner
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.dtype = getattr(torch, runner.plan.out.dtype)
        table = np.tile(np.arange(256, dtype=np.uint8), (3, 1)) if runner.table is None else runner.table
        self.table = torch.from_numpy(np.ascontiguousarray(table)).to(self.device)
        self.programs = Ring(4, pinned=True)
        self.copying: deque[tuple[torch.cuda.Event, list[torch.Tensor]]] = deque()  # keeps slots leased until they are read

    def __call__(self, host: torch.Tensor, labels: torch.Tensor, drawn: native.Drawn) -> list[torch.Tensor]:
        """host: uint8 [N, H, W, 3], pinned. Returns images [N, 3, H, W] and labels on the device, ready for the current stream."""
        programs, partners = drawn.on_device, drawn.partners
        count, height, width, _ = host.shape
        last = self.runner.plan.out.channels_last
        layout = torch.channels_last if last else torch.contiguous_format
        current = torch.cuda.current_stream(self.device)
        sent = [host, *self._staged(programs)]
        with torch.cuda.stream(self.stream):
            raw, *data = (part.to(self.device, non_blocking=True) for part in sent)
            if programs is not None:
                raw = cuda.augment(programs, data[0], raw, self.stream)
            labels_there = labels.to(self.device, non_blocking=True)
            images = torch.empty((count, 3, height, width), dtype=self.dtype, device=self.device, memory_format=layout)
            where = (raw.data_ptr(), self.table.data_ptr(), images.data_ptr(), count, height, width)
            if partners is None:
                _native.store_cuda(*where, images.element_size(), last, self.stream.cuda_stream)
            else:
                rows = torch.from_numpy(partners).to(self.device)  # 28 bytes each, not pinned: there when this returns
                _native.mix_cuda(*where, self.runner.plan.out.dtype, last, rows.data_ptr(), self.stream.cuda_stream)
            done = self.stream.record_event()
        current.wait_event(done)
        for tensor in (images, labels_there):
            tensor.record_stream(current)
        self.copying.append((done, sent))
        while len(self.copying) > 1 and self.copying[0][0].query():  # type: ignore[no-untyped-call]
            self.copying.popleft()
        return [images, labels_there]

    def _staged(self, programs: Any) -> list[torch.Tensor]:
        """The programs' bytes in pinned memory, if there are any: else the copy would wait for all that is under way."""
        if programs is None:
            return []
        data = programs.data
        slot = self.programs.take(data.shape, data.dtype)
        slot[:] = data
        return [torch.from_numpy(slot)]
