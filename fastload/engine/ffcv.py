"""The engine of backend="ffcv": the native one's slots and order of batches, while FFCV's thread
and loop make the samples.
"""

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fastload import _native
from fastload.backends.base import WorkOrError
from fastload.backends.ffcv import runner as ffcv
from fastload.engine.epoch import Threaded
from fastload.engine.feeding import Located, Orders, Results, attempt
from fastload.engine.flight import Started
from fastload.engine.native import NativeEngine
from fastload.engine.pace import Pace
from fastload.engine.uploading import Gpu
from fastload.sources.base import Location
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Work


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
        self.loop: Any = None

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> Threaded:
        """Batches of `works`, in order. Raises BackendError where FFCV cannot be imported."""
        if self.loop is None:
            self.loop = ffcv.loop(self.runner.plan, self.workers)
        return Threaded(self, works, self.seek.epoch(), timeout)

    def feeder(
        self, seek: View, orders: Orders, started: Results, pace: Pace, stopped: threading.Event
    ) -> threading.Thread:
        thread: threading.Thread = self.loop.start(
            _jobs(self, seek, orders, started, pace, stopped), started.put
        )
        return thread


def _jobs(
    engine: FfcvEngine,
    seek: View,
    orders: Orders,
    started: Results,
    pace: Pace,
    stopped: threading.Event,
) -> Iterator[_native.Job]:
    """The batches' jobs, as FFCV's thread asks for them; the next one's records are drawn while one
    is made.
    """
    drawn: deque[Future[Started | Exception]] = deque()
    with ThreadPoolExecutor(1, "fastload-records") as drawing:
        entered = drawing.submit(_entered, engine).result()
        while (order := orders.get()) is not None:
            pace.wait(stopped)
            if stopped.is_set():
                return
            drawn.append(drawing.submit(_start, engine, seek, order, entered))
            while len(drawn) > 1 or (drawn and orders.empty()):
                batch = drawn.popleft().result()
                if isinstance(batch, Started):
                    yield batch.job
                started.put(batch)


def _entered(engine: FfcvEngine) -> Exception | None:
    """Why this thread cannot make batches; None if it can."""
    found = attempt(engine.enter)
    return found if isinstance(found, Exception) else None


def _start(
    engine: FfcvEngine, seek: View, order: Located | Exception, failed: Exception | None
) -> Started | Exception:
    if failed:
        return failed
    return order if isinstance(order, Exception) else attempt(_begin, engine, seek, *order)


def _begin(engine: FfcvEngine, seek: View, work: Work, place: Location) -> Started:
    return engine.start(engine.runner.begin(engine.pool, work, place, seek), work)
