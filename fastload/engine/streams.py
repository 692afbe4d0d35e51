"""The few calls to torch.cuda that bring batches to a GPU: one side stream, events both ways,
memory that outlives its readers.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from fastload import _native
from fastload.errors import DeviceError

LOWEST = 0  # priority of a stream; CUDA has none below the default stream's
# cudaStreamCaptureModeRelaxed: this thread's calls do not end a graph capture of another one
RELAXED = 2
# Batches that the caller's stream may be behind its host: without a bound a host that never waits
# fills the GPU's memory
AHEAD = 4


class Streams:
    """Of one GPU: ours, and whichever the caller is on."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.own = torch.cuda.Stream(device, priority=LOWEST)  # type: ignore[no-untyped-call]
        self.behind: deque[torch.cuda.Event] = deque()  # one for each batch that was handed out

    @property
    def number(self) -> int:
        """The side stream, for kernels."""
        number: int = self.own.cuda_stream
        return number

    def within(self) -> AbstractContextManager[object]:
        """Memory is taken and copies run on the side stream."""
        return torch.cuda.stream(self.own)

    def done(self) -> torch.cuda.Event:
        """Passed when all is done that was begun within."""
        event: torch.cuda.Event = self.own.record_event()
        return event

    def hand(self, done: torch.cuda.Event, tensors: list[torch.Tensor]) -> torch.cuda.Event:
        """The caller's stream waits for `done`; its mark. The tensors' memory is not taken again
        before that stream is through with them.

        Raises DeviceError in a graph capture.
        """
        if torch.cuda.is_current_stream_capturing():
            raise DeviceError(
                "DataLoader: next() in a CUDA graph's capture, which cannot wait for a batch; "
                "take the batch before it, and copy it to the graph's own tensors"
            )
        while len(self.behind) >= AHEAD:
            self.behind.popleft().synchronize()  # the host's wait: no stream stands still for it
        caller = torch.cuda.current_stream(self.device)
        caller.wait_event(done)
        for tensor in tensors:
            tensor.record_stream(caller)
        mark = torch.cuda.Event(enable_timing=True, blocking=True)  # type: ignore[no-untyped-call]
        mark.record(caller)
        self.behind.append(mark)
        return mark

    @staticmethod
    def seconds(first: torch.cuda.Event, last: torch.cuda.Event) -> float | None:
        """Between two marks; None before the caller's stream has passed both. Never waits."""
        if not (first.query() and last.query()):  # type: ignore[no-untyped-call]
            return None
        return float(first.elapsed_time(last)) / 1e3

    def free(self) -> tuple[int, int]:
        """Bytes free and in all."""
        return torch.cuda.mem_get_info(self.device)

    def enter(self) -> None:
        """For a thread of ours, for good: this GPU is its own, and its calls do not end a graph
        capture of another thread.
        """
        torch.cuda.set_device(self.device)
        _native.exchange_capture_mode(RELAXED)

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """As `enter`, for a thread of the caller's, in this block."""
        before = _native.exchange_capture_mode(RELAXED)
        try:
            yield
        finally:
            _native.exchange_capture_mode(before)
