"""An epoch under way: who requests, reads, draws and finishes its batches, and how that ends.

Life of a batch in the native engine: request (consumer), begin, draw, start (feeder thread), finish
(consumer; on a GPU the sender).
Only the consumer's thread touches the user's sampler, as in PyTorch.
"""

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import ParamSpec, TypeAlias, TypeVar

from fastload import _native
from fastload.backends.base import Batch, WorkOrError
from fastload.engine import ending, waits
from fastload.engine.flight import (
    BatchMaker,
    Feed,
    LaunchedOrError,
    Located,
    Ready,
    ReadyOrError,
    Started,
    StartedOrError,
    come,
)
from fastload.engine.sending import Sender
from fastload.errors import BackendError, HostMemoryError
from fastload.sources.base import Location
from fastload.sources.seek_views import ReadOnly, View
from fastload.spec import Work
from fastload.system import room

# Seconds between two looks of the consumer, while it waits, at whether the threads still run
ALIVE = 1.0
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
# Seconds between two looks of the feeder, while it waits for a read, at whether its epoch is over
LOOK = 0.1
FOREVER = 1e9  # s
Reading: TypeAlias = "deque[tuple[_native.Job, Work] | Exception]"
P = ParamSpec("P")
T = TypeVar("T")


class Inline:
    """num_workers=0: everything in the caller's thread, one batch at a time; breakpoints and
    tracebacks are plain.
    """

    ready = 0  # batches that are done before they are asked for

    def __init__(self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View) -> None:
        self.engine, self.works, self.seek, self.on_bad = engine, works, seek, engine.on_bad

    def __iter__(self) -> "Inline":
        return self

    def __next__(self) -> Batch:
        work = next(self.works)
        if isinstance(work, Exception):
            try:
                raise work
            finally:
                del work  # its traceback holds this frame
        room.check("a batch")
        if self.engine.forked:
            self.engine, self.seek = self.engine.again(), ReadOnly(self.seek)
        come(self.engine, work, FOREVER)
        engine, location = self.engine, self.engine.runner.plan.source.locate(work.samples)
        job = engine.runner.begin(engine.pool, work, location, self.seek)
        return engine.finish(engine.start(job, work), self.on_bad)

    def close(self) -> None:
        """Nothing is under way between two batches."""


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(
        self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View, timeout: float
    ) -> None:
        self.engine, self.works, self.timeout, self.on_bad = engine, works, timeout, engine.on_bad
        # Taken from `finished`, for the consumer to see.
        self.next: deque[Started | Ready | Exception] = deque()
        self.pending = 0
        self.feed = feed = Feed(seek)
        self.thread = engine.feeder(feed)
        self.sender = _sender(engine, feed) if engine.uploader else None
        self.finished = self.sender.finished if self.sender else feed.started
        # Runs when the iterator is dropped, mid-epoch too. It waits for nothing: an exception in
        # there, such as Ctrl-C's, would be lost.
        stop_feeder = feed.stopper()
        self.stop = weakref.finalize(self, _stop, stop_feeder, self.sender)
        self.stop.atexit = False
        ending.register(self.thread, stop_feeder)
        if self.sender:
            ending.register(self.sender.thread, self.sender.stop)
        for _ in range(engine.depth):
            self._request()

    def __iter__(self) -> "Threaded":
        return self

    @property
    def ready(self) -> int:
        """Batches that are done, so that asking for them waits for nothing.

        Raises BackendError in a child of fork.
        """
        if self.engine.forked:  # where nobody makes any
            raise BackendError(
                "loader: an iterator with workers was opened in another process; call iter() of "
                "the loader in this one"
            )
        while not self.finished.empty():
            self._take()
        return sum(not isinstance(item, Started) or item.done for item in self.next)

    def __next__(self) -> Batch:
        if not self.stop.alive or not self.pending:
            self.close()
            raise StopIteration
        away, ready = self.feed.pace.asked(), self.ready
        item = self._wait()
        self.next.popleft()
        self.feed.pace.gave(away, ready)
        self.pending -= 1
        if self.sender:
            self.sender.took()
        self._request()
        if isinstance(item, Exception):
            try:
                raise item
            finally:
                del item  # its traceback holds this frame
        return self.engine.finish(item, self.on_bad)

    def close(self) -> None:
        """Ends the epoch; its threads end before this returns, unless one is stuck."""
        self.stop()
        for thread in (self.thread, *([self.sender.thread] if self.sender else [])):
            if thread is not threading.current_thread():
                thread.join(ending.JOIN)

    def _wait(self) -> Started | Ready | Exception:
        """The next batch, whose pixels are there; it stays in `next`.

        Raises RuntimeError if that takes too long.
        """
        deadline = time.monotonic() + self.timeout
        while not self.next:
            try:
                left = max(0.0, deadline - time.monotonic()) if self.timeout else ALIVE
                self._take(min(left, ALIVE))
            except queue.Empty:
                if self.timeout and time.monotonic() >= deadline:
                    raise self._late() from self._report()
                self._check_threads()
        item = self.next[0]
        if (
            self.timeout
            and isinstance(item, Started)
            and not item.wait(max(0.0, deadline - time.monotonic()))
        ):
            raise self._late() from self._report()
        return item

    def _take(self, timeout: float | None = None) -> None:
        """Move the next batch that is finished to `next`. Raises queue.Empty after `timeout`, s."""
        item = self.finished.get(timeout=timeout)
        assert item is not None  # which only ends the sender's own queue
        self.next.append(item)

    def _check_threads(self) -> None:
        """Raise HostMemoryError where one that the batch comes through has ended: only missing
        memory does that.
        """
        ended = [
            thread.name
            for thread in (self.thread, *([self.sender.thread] if self.sender else []))
            if not thread.is_alive()
        ]
        if ended and self.finished.empty():
            raise HostMemoryError(
                f"loader: thread {' and '.join(ended)} has ended without memory; {room.ADVICE}"
            )

    def _late(self) -> RuntimeError:
        return RuntimeError(f"DataLoader timed out after {self.timeout} seconds")  # torch's words

    def _report(self) -> waits.StalledError:
        """Where the batches are, and what every thread does."""
        ahead, done = self.feed.requests.qsize(), self.feed.started.qsize() + len(self.next)
        queues = {
            "wait to be read": ahead,
            "are read or drawn": self.pending - ahead - done,
            "are decoded or done": done,
        }
        return waits.stalled(self.timeout, queues, self.engine.running(), self.thread)

    def _request(self) -> None:
        """Ask the feeder for the batch of the sampler's next indices, if there are any."""
        work = next(self.works, None)
        if work is not None:
            self.feed.requests.put(work if isinstance(work, Exception) else self._located(work))
            self.pending += 1

    def _located(self, work: Work) -> Located:
        runner = self.engine.runner
        location = runner.plan.source.locate(work.samples)
        runner.advise(self.engine.pool, location)
        return work, location


def _sender(engine: BatchMaker, feed: Feed) -> Sender:
    launch, settle = partial(_launch, engine), partial(_settle, engine)
    return Sender(feed.started, launch, settle, engine.enter, feed.pace)


def _launch(engine: BatchMaker, item: StartedOrError) -> LaunchedOrError:
    return item if isinstance(item, Exception) else attempt(engine.launch, item)


def _settle(engine: BatchMaker, item: LaunchedOrError) -> ReadyOrError:
    return item if isinstance(item, Exception) else attempt(engine.settle, item)


def _stop(stop_feeder: Callable[[], None], sender: Sender | None) -> None:
    stop_feeder()
    if sender:
        sender.stop()


def feeder(engine: BatchMaker, feed: Feed) -> threading.Thread:
    """The thread of an epoch, running. Raises HostMemoryError."""
    # Python waits for ever for a thread that ends before it has begun.
    room.check("a thread", room.THREAD)
    thread = threading.Thread(
        target=_feed, args=(engine, feed), name="fastload-feeder", daemon=True
    )
    thread.start()
    return thread


def _feed(engine: BatchMaker, feed: Feed) -> None:
    """The feeder thread. It knows no iterator, so that dropping the iterator ends it."""
    entered = attempt(engine.enter)
    reading: Reading = deque()
    while (request := feed.requests.get()) is not None:
        feed.pace.wait(feed.stopped)
        if feed.stopped.is_set():
            return
        if isinstance(entered, Exception):
            reading.append(entered)
        elif isinstance(request, Exception):
            reading.append(request)
        else:
            here = attempt(come, engine, request[0], 0.0)
            while here is False and not feed.stopped.is_set():
                # From a store: what is there meanwhile does not wait for it
                _start(engine, feed, reading, 0)
                here = attempt(come, engine, request[0], LOOK)
            failed = here if isinstance(here, Exception) else None
            reading.append(failed if failed else attempt(_begin, engine, *request, feed.seek))
        _start(engine, feed, reading, 0 if feed.requests.empty() else FETCH_AHEAD)


def _start(engine: BatchMaker, feed: Feed, reading: Reading, most: int) -> None:
    """Start batches whose files are read, until at most so many are left; or the epoch is over."""
    while len(reading) > most:
        item = reading.popleft()
        while not isinstance(item, Exception) and not item[0].wait(LOOK):
            if feed.stopped.is_set():
                return
        feed.started.put(item if isinstance(item, Exception) else attempt(engine.start, *item))


def _begin(
    engine: BatchMaker, work: Work, location: Location, seek: View
) -> tuple[_native.Job, Work]:
    room.check("a batch")
    return engine.runner.begin(engine.pool, work, location, seek), work


def attempt(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """What `step` returns or raises: a batch that fails leaves the others alone."""
    try:
        return step(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  handed to the consumer, whole
        return room.typed(error)
