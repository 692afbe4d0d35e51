"""An epoch under way: who orders, reads, draws and finishes its batches, and how that ends.

Life of a batch in the native engine: order (consumer) → begin → draw → start (feeder) →
finish (consumer; on a GPU the sender). Only the consumer's thread touches the user's sampler, as
in PyTorch.
"""

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial

from fastload.backends.base import Batch, WorkOrError
from fastload.engine import feeding, waits
from fastload.engine.feeding import BatchMaker, Located, Orders, Results, attempt
from fastload.engine.flight import Going, Ready, Started
from fastload.engine.pace import Pace
from fastload.engine.sending import Sender
from fastload.errors import BackendError, HostMemoryError
from fastload.sources.seek_views import ReadOnly, View
from fastload.spec import Work
from fastload.system import room

# Seconds between two looks of the consumer, while it waits, at whether the threads still run
ALIVE = 1.0


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
        engine, place = self.engine, self.engine.runner.plan.source.locate(work.samples)
        return engine.finish(
            engine.start(engine.runner.begin(engine.pool, work, place, self.seek), work),
            self.on_bad,
        )

    def close(self) -> None:
        """Nothing is under way between two batches."""


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(
        self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View, timeout: float
    ) -> None:
        self.engine, self.works, self.timeout, self.on_bad = engine, works, timeout, engine.on_bad
        self.orders: Orders = queue.SimpleQueue()
        self.started: Results = queue.SimpleQueue()
        self.next: deque[Started | Ready | Exception] = deque()  # taken from `made`, to be seen
        self.pending = 0
        stopped, self.pace = threading.Event(), Pace()
        self.thread = engine.feeder(seek, self.orders, self.started, self.pace, stopped)
        self.sender = (
            Sender(
                self.started,
                partial(_launch, engine),
                partial(_settle, engine),
                engine.enter,
                self.pace,
            )
            if engine.uploader
            else None
        )
        self.made = self.sender.made if self.sender else self.started
        # Runs when the iterator is dropped, mid-epoch too. It waits for nothing: an exception in
        # there, such as Ctrl-C's, would be lost.
        self.stop = weakref.finalize(self, feeding.stop, self.orders, stopped, self.sender)
        self.stop.atexit = False
        feeding.register(self.thread, partial(feeding.stop, self.orders, stopped))
        if self.sender:
            feeding.register(self.sender.thread, self.sender.stop)
        for _ in range(engine.depth):
            self._order()

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
        while not self.made.empty():
            self._take()
        return sum(not isinstance(item, Started) or item.done for item in self.next)

    def __next__(self) -> Batch:
        if not self.stop.alive or not self.pending:
            self.close()
            raise StopIteration
        away, ready = self.pace.asked(), self.ready
        item = self._wait()
        self.next.popleft()
        self.pace.gave(away, ready)
        self.pending -= 1
        if self.sender:
            self.sender.took()
        self._order()
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
                thread.join(feeding.JOIN)

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
        """Move the next batch that is made to `next`. Raises queue.Empty after `timeout`, s."""
        item = self.made.get(timeout=timeout)
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
        if ended and self.made.empty():
            raise HostMemoryError(
                f"loader: thread {' and '.join(ended)} has ended without memory; {room.ADVICE}"
            )

    def _late(self) -> RuntimeError:
        return RuntimeError(f"DataLoader timed out after {self.timeout} seconds")  # torch's words

    def _report(self) -> waits.StalledError:
        """Where the batches are, and what every thread does."""
        ahead, made = self.orders.qsize(), self.started.qsize() + len(self.next)
        queues = {
            "wait to be read": ahead,
            "are read or drawn": self.pending - ahead - made,
            "are decoded or done": made,
        }
        return waits.stalled(self.timeout, queues, self.engine.running(), self.thread)

    def _order(self) -> None:
        work = next(self.works, None)
        if work is not None:
            self.orders.put(work if isinstance(work, Exception) else self._ahead(work))
            self.pending += 1

    def _ahead(self, work: Work) -> Located:
        runner = self.engine.runner
        place = runner.plan.source.locate(work.samples)
        runner.advise(self.engine.pool, place)
        return work, place


def _launch(engine: BatchMaker, item: Started | Exception) -> Ready | Going | Exception:
    return item if isinstance(item, Exception) else attempt(engine.launch, item)


def _settle(engine: BatchMaker, item: Ready | Going | Exception) -> Ready | Exception:
    return item if isinstance(item, Exception) else attempt(engine.settle, item)
