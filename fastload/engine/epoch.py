"""An epoch under way: who requests, reads, draws and finishes its batches, and how that ends.

Life of a batch in the native engine: request (consumer), begin (feeder thread), draw and make (the
pool; what is irregular is drawn and started by the feeder), finish (consumer; on a GPU the sender).
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
from fastload.attach import taken
from fastload.backends.base import Batch, WorkOrError
from fastload.engine import ending, waits
from fastload.engine.flight import (
    BatchMaker,
    Begun,
    Feed,
    LaunchedOrError,
    Ready,
    ReadyOrError,
    Started,
    StartedOrError,
    come,
)
from fastload.engine.sending import Sender
from fastload.errors import BackendError, HostMemoryError
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Work
from fastload.system import room

# Seconds between two looks of the consumer, while it waits, at whether the threads still run
ALIVE = 1.0
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
# Seconds between two looks of the feeder, while it waits for a read, at whether its epoch is over
LOOK = 0.1
Located = tuple[Work, Location]  # a batch, and where its samples lie
Reading: TypeAlias = "deque[Begun | Exception]"
P = ParamSpec("P")
T = TypeVar("T")


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(
        self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View, timeout: float
    ) -> None:
        self.engine, self.works, self.timeout, self.on_bad = engine, works, timeout, engine.on_bad
        # Taken from `finished`, for the consumer to see.
        self.next: deque[Started | Ready | Exception] = deque()
        self.pending, self.closed = 0, False
        self.seen: int | None = None  # what `ready` has said, for the next batch
        self.feed = feed = Feed(seek)
        self.thread = engine.feeder(feed)
        self.sender = _sender(engine, feed) if engine.uploader else None
        self.finished = self.sender.finished if self.sender else feed.started
        # Runs when the iterator is dropped. It waits for nothing: Ctrl-C would be lost in there.
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
        self.seen = count = sum([type(item) is not Started or item.done for item in self.next])
        return count

    def __next__(self) -> Batch:
        if self.closed or not self.pending:
            self.close()
            raise StopIteration
        pace = self.feed.pace
        away, ready = pace.asked(), self.ready if self.seen is None else self.seen
        self.seen = None
        item = self.next[0] if self.next and not self.timeout else self._wait()
        self.next.popleft()
        pace.gave(away, ready)
        self.pending -= 1
        if self.sender:
            self.sender.took()
        try:
            if isinstance(item, Exception):
                raise item
            return self.engine.finish(item, self.on_bad)
        finally:
            spent = item.batch.job if isinstance(item, Started) else None
            del item  # a traceback holds this frame
            self._request(spent)

    def close(self) -> None:
        """Ends the epoch, and its threads before this returns, unless one is stuck."""
        self.closed = True
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

    def _request(self, spent: _native.Job | None = None) -> None:
        """Ask the feeder for the batch of the next indices, if there are any, and to drop a job."""
        work = next(self.works, None)
        if work is not None:
            self.feed.spent.append(spent)
            self.feed.requests.put(work)
            self.pending += 1


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
    try:
        _feed_all(engine, feed)
    finally:
        taken.ended()


def _feed_all(engine: BatchMaker, feed: Feed) -> None:
    entered = attempt(engine.enter)
    ordered: deque[Located | Exception] = deque()
    reading: Reading = deque()
    while _asked(engine, feed, ordered):
        feed.pace.wait(feed.stopped)
        if feed.stopped.is_set():
            return
        item = ordered.popleft()
        item = entered if isinstance(entered, Exception) else item
        if isinstance(item, Exception):
            reading.append(item)
        else:
            reading.append(_begun(engine, feed, item, reading))
        while len(reading) > FETCH_AHEAD or (reading and not ordered and feed.requests.empty()):
            if not _start(engine, feed, reading):
                return


def _begun(engine: BatchMaker, feed: Feed, item: Located, reading: Reading) -> Begun | Exception:
    """Begin a batch once its samples are there. Others do not wait for those from a store."""
    here = attempt(come, engine, item[0], 0.0)
    while here is False and not feed.stopped.is_set():
        while reading and _start(engine, feed, reading):
            pass
        here = attempt(come, engine, item[0], LOOK)
    return here if isinstance(here, Exception) else attempt(_begin, engine, *item, feed.seek)


def _start(engine: BatchMaker, feed: Feed, reading: Reading) -> bool:
    """Start the oldest batch once its files are read. False: the epoch is over."""
    begun = reading.popleft()
    while not isinstance(begun, Exception) and not begun.job.wait_started(LOOK):
        if feed.stopped.is_set():
            return False
    feed.started.put(begun if isinstance(begun, Exception) else attempt(engine.start, begun))
    return True


def _asked(engine: BatchMaker, feed: Feed, ordered: deque[Located | Exception]) -> bool:
    """Find where the samples of all batches lie that were asked for; the system reads those ahead
    that are not begun at once. Waits for one where there is none. False: there are no more."""
    while not ordered or not feed.requests.empty():
        request = feed.requests.get()
        feed.spent.clear()
        if request is None:
            return False
        ordered.append(
            request
            if isinstance(request, Exception)
            else attempt(located, engine, request, feed.seek, later=bool(ordered))
        )
    return True


def located(engine: BatchMaker, work: Work, seek: View, *, later: bool = True) -> Located:
    """later: other batches are begun before it."""
    runner = engine.runner
    location = runner.plan.source.locate(work.samples)
    runner.advise(engine.pool, work, location, seek, later=later)
    return work, location


def _begin(engine: BatchMaker, work: Work, location: Location, seek: View) -> Begun:
    room.check("a batch")
    return engine.begin(work, location, seek)


def attempt(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """What `step` returns or raises: a batch that fails leaves the others alone."""
    try:
        return step(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  handed to the consumer, whole
        return room.typed(error)
