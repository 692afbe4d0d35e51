"""The engine of backend="ffcv": the native one's slots and order of batches, while FFCV's thread
and loop make the samples.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from fastload import _native
from fastload.backends.base import WorkOrError
from fastload.backends.ffcv import runner as ffcv
from fastload.engine.epoch import Threaded
from fastload.engine.feeding import attempt, located
from fastload.engine.flight import Begun, Feed, LookAgain, Started
from fastload.engine.native import NativeEngine
from fastload.engine.uploading import Gpu
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Work


class _Loop(Protocol):
    """FFCV's compiled loop, `fastload.backends.ffcv.driver.Loop`."""

    def start(
        self, jobs: Iterator[_native.Job], failed: Callable[[Exception], None]
    ) -> threading.Thread: ...


class FfcvEngine(NativeEngine):
    """Compiles FFCV's loop at the first epoch, and keeps it."""

    retries_on_host = False  # FFCV's loop has gone on, and nobody makes the samples

    def __init__(
        self,
        runner: ffcv.Runner,
        workers: int,
        depth: int,
        seek: Indexes,
        *,
        pinned: bool,
        gpu: Gpu | None = None,
    ) -> None:
        super().__init__(runner, 0, depth, seek, pinned=pinned, gpu=gpu)
        self.workers = workers
        self.loop: _Loop | None = None

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> Threaded:
        """Batches of `works`, in order. Raises BackendError where FFCV cannot be imported."""
        if self.loop is None:
            self.loop = ffcv.loop(self.runner.plan, self.workers)
        return Threaded(self, works, self.seek.epoch(), timeout)

    def feeder(self, feed: Feed) -> threading.Thread:
        assert self.loop is not None  # made by epoch()
        return self.loop.start(_jobs(self, feed), feed.started.put)


def _jobs(engine: FfcvEngine, feed: Feed) -> Iterator[_native.Job]:
    """The batches' jobs, as FFCV's thread asks for them; the next one's records are drawn while one
    is made.
    """
    drawn: deque[Future[Started | Exception]] = deque()
    with ThreadPoolExecutor(1, "fastload-records") as drawing:
        entered = drawing.submit(_entered, engine).result()
        while (request := feed.requests.get()) is not None:
            feed.spent.clear()
            if isinstance(request, LookAgain):  # no job of this engine's goes on by itself
                continue
            feed.pace.wait(feed.stopped)
            if feed.stopped.is_set():
                return
            drawn.append(drawing.submit(_start, engine, feed.seek, request, entered))
            while len(drawn) > 1 or (drawn and feed.requests.empty()):
                started = drawn.popleft().result()
                if isinstance(started, Started):
                    yield started.batch.job
                feed.started.put(started)


def _entered(engine: FfcvEngine) -> Exception | None:
    """Why this thread cannot make batches; None if it can."""
    failed = attempt(engine.enter)
    return failed if isinstance(failed, Exception) else None


def _start(
    engine: FfcvEngine, seek: View, request: Work | Exception, failed: Exception | None
) -> Started | Exception:
    if failed:
        return failed
    return request if isinstance(request, Exception) else attempt(_begin, engine, seek, request)


def _begin(engine: FfcvEngine, seek: View, work: Work) -> Started:
    job = engine.runner.begin(engine.pool, *located(engine, work, seek), seek)
    return engine.start(Begun(job, work, None))
