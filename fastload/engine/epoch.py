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
from contextlib import suppress
from functools import partial
from typing import cast

from fastload import _native
from fastload.backends.base import Batch, Known, WorkOrError
from fastload.engine import ending, waits
from fastload.engine.feeding import attempt
from fastload.engine.flight import (
    LOOK_AGAIN,
    BatchMaker,
    Feed,
    LaunchedOrError,
    Ready,
    ReadyOrError,
    Started,
    StartedOrError,
)
from fastload.engine.sending import Sender
from fastload.errors import BackendError, HostMemoryError
from fastload.sources.seek_views import View
from fastload.system import room

# Seconds between two looks of the consumer, while it waits, at whether the threads still run
ALIVE = 1.0


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way.

    It is asked for several at once where these are small and of a known order, since waking it
    takes as long as what it does for one. As many more are under way, but one.
    """

    def __init__(
        self, engine: BatchMaker, works: Iterator[WorkOrError], seek: View, timeout: float
    ) -> None:
        self.engine, self.works, self.timeout, self.on_bad = engine, works, timeout, engine.on_bad
        # Taken from `finished`, for the consumer to see.
        self.next: deque[Started | Ready | Exception] = deque()
        self.pending, self.closed = 0, False
        self.seen: int | None = None  # what `ready` has said, for the next batch
        self.early = False  # whether the request that follows the next batch is made already
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
        self.together = engine.together if isinstance(works, Known) else 1
        self.gathered: list[WorkOrError] = []  # that the feeder has not been asked for yet
        for _ in range(self._under_way()):
            self._request()
        self._ask()

    def _under_way(self) -> int:
        """Works that are asked for ahead."""
        self.depth = self.engine.depth + self.together - 1
        return self.depth

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
        count = 0
        for item in self.next:
            if type(item) is Started and not item.done:
                break
            count += 1
        self.seen = count
        return count

    def __next__(self) -> Batch:
        if self.closed or not self.pending:
            self.close()
            raise StopIteration
        pace = self.feed.pace
        away, ready = pace.asked(), self.ready if self.seen is None else self.seen
        self.seen = None
        if not ready and not self.early:  # so that the feeder works while we wait
            self.early = True
            self._request()
        item = self.next[0] if self.next else None
        if item is None or not ready or (type(item) is Started and not item.goes_on):
            item = self._wait()
        try:
            # First, and with no call between: a signal's exception costs a batch, not the end
            self.pending -= 1
            self.next.popleft()
            pace.gave(away, ready)
            return self._finished(item)
        finally:
            if self.sender:
                self.sender.took()
            spent = item.batch.job if isinstance(item, Started) else None
            del item  # a traceback holds this frame
            if not self.early:
                self._request(spent)
            else:
                self.early = False
                self.feed.spent.append(spent)

    def _finished(self, item: StartedOrError | Ready) -> Batch:
        try:
            if isinstance(item, Exception):
                raise item
            return self.engine.finish(item, self.on_bad)
        finally:
            del item  # here, too

    def close(self) -> None:
        """Ends the epoch, and its threads before this returns, unless one is stuck."""
        self.closed = True
        self.stop()
        for thread in (self.thread, *([self.sender.thread] if self.sender else [])):
            if thread is not threading.current_thread():
                thread.join(ending.JOIN)

    def _wait(self) -> Started | Ready | Exception:
        """The next batch, whose pixels are there.

        It stays in `next`: what a signal raises while we wait, as Ctrl-C does, costs no batch.
        Raises RuntimeError if that takes too long.
        """
        deadline = time.monotonic() + self.timeout
        while not self.next:
            with suppress(queue.Empty):
                self._take(self._left(deadline))
                break
            self._check_time(deadline)
            self._check_threads(lambda: not self.finished.empty())
        item = self.next[0]
        while isinstance(item, Started) and not item.goes_on:
            item = self.next[0] = self._gone_on(item, deadline)
        while isinstance(item, Started) and not item.wait(self._left(deadline)):
            self._check_time(deadline)
        return item

    def _gone_on(self, item: Started, deadline: float) -> StartedOrError:
        """A batch once its job has gone on; where that has come back, as the feeder starts it."""
        again = item.again
        while not item.batch.job.wait(self._left(deadline)):
            self._check_time(deadline)
        if again is None or item.batch.job.drawn:
            return item
        if not again:
            self.feed.requests.put(LOOK_AGAIN)
        with self.feed.mended:
            while not self.feed.mended.wait_for(lambda: again, self._left(deadline)):
                self._check_time(deadline)
                self._check_threads(lambda: bool(again))
        return again[0]

    def _left(self, deadline: float) -> float:
        """How long to wait before the next look, s."""
        return min(max(0.0, deadline - time.monotonic()), ALIVE) if self.timeout else ALIVE

    def _check_time(self, deadline: float) -> None:
        """Raise RuntimeError where the batch is late."""
        if self.timeout and time.monotonic() >= deadline:
            raise self._late() from self._report()

    def _take(self, timeout: float | None = None) -> None:
        """Move the next batch that is finished to `next`, in one call of the interpreter's: what a
        signal raises comes before or after it. Raises queue.Empty after `timeout`, s.
        """
        items = map(self.finished.get, (True,), (timeout,))  # never None, which ends other queues
        self.next.extend(cast("Iterator[StartedOrError | Ready]", items))

    def _check_threads(self, come: Callable[[], bool]) -> None:
        """Raise HostMemoryError where one that the batch comes through has ended, and it has not
        come: only missing memory does that, and another thread of the program's (BackendError).
        """
        ended = [
            thread.name
            for thread in (self.thread, *([self.sender.thread] if self.sender else []))
            if not thread.is_alive()
        ]
        if ended and not come():
            if self.closed:
                raise BackendError(
                    "loader: another thread has ended this epoch; give each thread a loader of its "
                    "own"
                )
            raise HostMemoryError(
                f"loader: thread {' and '.join(ended)} has ended without memory; {room.ADVICE}"
            )

    def _late(self) -> RuntimeError:
        return RuntimeError(f"DataLoader timed out after {self.timeout} seconds")  # torch's words

    def _report(self) -> waits.StalledError:
        """Where the batches are, and what every thread does."""
        while not self.finished.empty():
            self._take()
        begun = [item for item in self.next if type(item) is Started and not item.goes_on]
        ahead = self.feed.requests.qsize() + len(self.gathered)
        done = self.feed.started.qsize() + len(self.next) - len(begun)
        queues = {
            "wait to be read": ahead,
            "are read or drawn": self.pending - ahead - done,
            "are decoded or done": done,
        }
        return waits.stalled(self.timeout, queues, self.engine.running(), self.thread)

    def _request(self, spent: _native.Job | None = None) -> None:
        """Ask the feeder for the batch of the next indices, if there are any, and to drop a job;
        with others, where several are asked for at once.
        """
        work = next(self.works, None)
        if work is not None:
            self.feed.spent.append(spent)
            self.gathered.append(work)
            self.pending += 1
        if work is None or len(self.gathered) >= self.together:
            self._ask()

    def _ask(self) -> None:
        for work in self.gathered:
            self.feed.requests.put(work)
        self.gathered.clear()


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
