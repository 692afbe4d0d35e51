"""What the threads of an epoch hand to each other: a batch of the native engine under way, from its
request to the finished images.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

import torch

from fastload import _native
from fastload.backends import masks
from fastload.backends.base import Batch
from fastload.backends.native import gpu_decode
from fastload.backends.native import runner as native
from fastload.engine.pace import Pace, Stopped
from fastload.engine.uploading import Decoded, Sent, Uploader
from fastload.plan.bad_samples import Report
from fastload.plan.placement import Placement
from fastload.sources.base import Location, remote
from fastload.sources.seek_views import View
from fastload.spec import Work


class Begun(NamedTuple):
    """A batch whose samples are read."""

    job: _native.Job
    work: Work
    ahead: native.DrawnBatch | None  # what the job makes by itself, if nothing is irregular


class Started(NamedTuple):
    """A batch whose samples the pool is decoding."""

    batch: native.DrawnBatch
    placement: Placement
    requested: Work  # as the sampler has it, before other samples stand in for bad ones
    masks: masks.Begun | None
    prepared: list[gpu_decode.Prepared] | None  # what of it a GPU decodes
    # What it will be if nothing goes wrong; only its pixels are still to come
    ready: "Ready | None" = None
    # Of a batch that was handed over before its job has gone on by itself: where the feeder puts it
    # if the job comes back
    again: "list[Started | Exception] | None" = None

    @property
    def goes_on(self) -> bool:
        """Whether this is the batch that will be handed out."""
        return self.again is None or self.batch.job.drawn

    @property
    def done(self) -> bool:
        """Whether all is there that others make."""
        if not self.goes_on:
            return any(isinstance(one, Exception) or one.done for one in self.again or ())
        return self.batch.job.done and (self.masks is None or self.masks.done)

    def wait(self, seconds: float) -> bool:
        """Whether that is so within that time."""
        end = time.monotonic() + seconds
        return self.batch.job.wait(seconds) and (
            self.masks is None or self.masks.wait(max(0.0, end - time.monotonic()))
        )


class Ready(NamedTuple):
    """A batch that is finished, but for what only the caller's thread does."""

    images: list[torch.Tensor]  # of each picture
    target: torch.Tensor
    valid: torch.Tensor | None  # `Work.valid`
    sent: Sent | None  # on a GPU
    placement: Placement
    work: Work
    report: Report


class Launched(NamedTuple):
    """A batch that is queued on a GPU whose decoder may yet find that the host must make some of
    its images.
    """

    started: Started
    decoded: Decoded
    ready: Ready  # if it finds none


class LookAgain:
    """The request for no batch: a job has come back."""


LOOK_AGAIN = LookAgain()
# What one thread hands to the next: a batch, or the error that is raised in its place.
StartedOrError: TypeAlias = Started | Exception
LaunchedOrError: TypeAlias = Ready | Launched | Exception
ReadyOrError: TypeAlias = Ready | Exception
# Queues of them; None: no more.
Requests: TypeAlias = "queue.SimpleQueue[Work | Exception | LookAgain | None]"
StartedQueue: TypeAlias = "queue.SimpleQueue[StartedOrError | None]"


@dataclass
class Feed:
    """What the consumer and the feeder thread of one epoch share."""

    seek: View
    requests: Requests = field(default_factory=queue.SimpleQueue)
    started: StartedQueue = field(default_factory=queue.SimpleQueue)
    pace: Pace = field(default_factory=Pace)
    stopped: Stopped = field(default_factory=Stopped)
    # Jobs of batches that were handed out, for the feeder to drop: that takes long for next()
    spent: deque[_native.Job | None] = field(default_factory=deque)
    # The feeder's: jobs that are to go on by themselves, and `Started.again` of their batches; and
    # how many it waits for, since one has come back
    going: deque[tuple[_native.Job, Work, "list[StartedOrError]"]] = field(default_factory=deque)
    watched: int = 0
    # The feeder's: whether the last job goes on by itself, so that all that is asked for is begun
    at_once: bool = False
    mended: threading.Condition = field(default_factory=threading.Condition)  # of `again`

    def stopper(self) -> Callable[[], None]:
        """Ends the feeder, and waits for nothing. It may outlive the epoch: it holds neither the
        batches nor the view, whose files would stay open.
        """
        return partial(_stop_feeder, self.stopped, self.requests)


def _stop_feeder(stopped: Stopped, requests: Requests) -> None:
    stopped.set()
    requests.put(None)


class BatchMaker(Protocol):
    """What an epoch under way needs of its engine: the steps of a batch, each in the thread that
    the head of epoch.py names.
    """

    runner: native.Runner
    depth: int  # batches under way
    together: int  # batches of a known order that the feeder is asked for at once
    pool: _native.Pool
    uploader: Uploader | None
    on_bad: Callable[[Report], object]

    @property
    def forked(self) -> bool: ...
    def again(self) -> "BatchMaker": ...
    def enter(self) -> None: ...
    def feeder(self, feed: Feed) -> threading.Thread: ...
    def begin(self, work: Work, location: Location, seek: View) -> Begun: ...
    def promise(self, begun: Begun) -> Started: ...
    def start(self, begun: Begun) -> Started: ...
    def launch(self, started: Started) -> Ready | Launched: ...
    def settle(self, launched: Ready | Launched) -> Ready: ...
    def finish(self, started: Started | Ready, on_bad: Callable[[Report], object]) -> Batch: ...
    def running(self) -> list[tuple[str, str, float]]: ...


def come(engine: BatchMaker, work: Work, seconds: float) -> bool:
    """Whether a batch's samples are there within so long; those on the local disk always are.

    Raises StoreError and CacheError.
    """
    far = remote(engine.runner.plan.source)
    return far is None or far.access.wait(far.cells(work.samples), seconds)
