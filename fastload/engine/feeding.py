"""The feeder: the thread that reads an epoch's batches ahead of the consumer and starts them."""

import atexit
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from fastload import _native
from fastload.backends.base import Batch
from fastload.backends.native import runner as native
from fastload.engine.flight import Begun, Going, Ready, Started
from fastload.engine.pace import Pace
from fastload.engine.sending import Sender
from fastload.engine.uploading import Uploader
from fastload.plan.bad_samples import Report
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Work
from fastload.system import room

FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
# Seconds that the end of an epoch or of the program waits for its feeder, which may be in a user's
# function
JOIN = 5.0
# Seconds between two looks of the feeder, while it waits for a read, at whether its epoch is over
LOOK = 0.1
T = TypeVar("T")
Located: TypeAlias = tuple[Work, Location]  # and where its samples lie
Orders: TypeAlias = "queue.SimpleQueue[Located | Exception | None]"  # None: no more
Results: TypeAlias = "queue.SimpleQueue[Begun | None]"  # None: likewise
# Those of this process that may run, and what ends them.
_feeders = dict[threading.Thread, Callable[[], None]]()


class BatchMaker(Protocol):
    """What an epoch under way needs of its engine: the steps of a batch, each in the thread that
    the head of epoch.py names.
    """

    runner: native.Runner
    depth: int  # batches under way
    pool: _native.Pool
    uploader: Uploader | None
    on_bad: Callable[[Report], object]

    @property
    def forked(self) -> bool: ...
    def again(self) -> "BatchMaker": ...
    def enter(self) -> None: ...
    def feeder(
        self, seek: View, orders: Orders, started: Results, pace: Pace, stopped: threading.Event
    ) -> threading.Thread: ...
    def start(self, job: _native.Job, work: Work) -> Started: ...
    def launch(self, started: Started) -> Ready | Going: ...
    def settle(self, going: Ready | Going) -> Ready: ...
    def finish(self, started: Started | Ready, on_bad: Callable[[Report], object]) -> Batch: ...
    def running(self) -> list[tuple[str, str, float]]: ...


def feeder(
    engine: BatchMaker,
    seek: View,
    orders: Orders,
    started: Results,
    pace: Pace,
    stopped: threading.Event,
) -> threading.Thread:
    """The thread of an epoch, running. Raises HostMemoryError."""
    # Python waits for ever for a thread that ends before it has begun.
    room.check("a thread", room.THREAD)
    thread = threading.Thread(
        target=_feed,
        args=(engine, seek, orders, started, pace, stopped),
        name="fastload-feeder",
        daemon=True,
    )
    thread.start()
    return thread


def _feed(
    engine: BatchMaker,
    seek: View,
    orders: Orders,
    started: Results,
    pace: Pace,
    stopped: threading.Event,
) -> None:
    """The feeder thread. It knows no iterator, so that dropping the iterator ends it."""
    entered = attempt(engine.enter)
    reading: deque[tuple[_native.Job, Work] | Exception] = deque()
    while (order := orders.get()) is not None:
        pace.wait(stopped)
        if stopped.is_set():
            return
        if isinstance(entered, Exception):
            reading.append(entered)
        elif isinstance(order, Exception):
            reading.append(order)
        else:
            reading.append(attempt(_begin, engine, *order, seek))
        while len(reading) > FETCH_AHEAD or (reading and orders.empty()):
            item = reading.popleft()
            while not isinstance(item, Exception) and not item[0].wait(LOOK):
                if stopped.is_set():
                    return
            started.put(item if isinstance(item, Exception) else attempt(engine.start, *item))


def _begin(engine: BatchMaker, work: Work, place: Location, seek: View) -> tuple[_native.Job, Work]:
    room.check("a batch")
    return engine.runner.begin(engine.pool, work, place, seek), work


def attempt(step: Callable[..., T], *arguments: Any) -> T | Exception:
    """What `step` returns or raises: a batch that fails leaves the others alone."""
    try:
        return step(*arguments)
    except Exception as error:  # noqa: BLE001  handed to the consumer, whole
        return room.typed(error)


def register(thread: threading.Thread, stop: Callable[[], None]) -> None:
    """To be ended before the interpreter is."""
    _feeders[thread] = stop
    for other in list(_feeders):  # other threads may begin epochs meanwhile
        if not other.is_alive():
            _feeders.pop(other, None)


def stop(orders: Orders, stopped: threading.Event, sender: Sender | None = None) -> None:
    stopped.set()
    orders.put(None)
    if sender:
        sender.stop()


@atexit.register
def _stop_all() -> None:
    """Before the interpreter ends: a thread that came back into it later would end the process."""
    threads = list(_feeders.items())
    for _, stop in threads:
        stop()
    for thread, _ in threads:
        thread.join(JOIN)
