"""The feeder thread of an epoch: it finds where samples lie, and begins and starts batches."""

import threading
from collections import deque
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from fastload.attach import taken
from fastload.engine.flight import BatchMaker, Begun, Feed
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Work
from fastload.system import room

FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
# Seconds between two looks of the feeder, while it waits for a read, at whether its epoch is over
LOOK = 0.1
Located = tuple[Work, Location]  # a batch, and where its samples lie
P = ParamSpec("P")
T = TypeVar("T")


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
    reading: deque[Begun | Exception] = deque()
    while _asked(engine, feed, ordered):
        feed.pace.wait(feed.stopped)
        if feed.stopped.is_set():
            return
        item = ordered.popleft()
        item = entered if isinstance(entered, Exception) else item
        reading.append(
            item if isinstance(item, Exception) else attempt(_begin, engine, *item, feed.seek)
        )
        while len(reading) > FETCH_AHEAD or (reading and not ordered and feed.requests.empty()):
            begun = reading.popleft()
            while not isinstance(begun, Exception) and not begun.job.wait_started(LOOK):
                if feed.stopped.is_set():
                    return
            feed.started.put(
                begun if isinstance(begun, Exception) else attempt(engine.start, begun)
            )


def _asked(engine: BatchMaker, feed: Feed, ordered: deque[Located | Exception]) -> bool:
    """Find where the samples of all batches lie that were asked for, so that the system reads them
    ahead; waits for one where there is none. False: there are no more.
    """
    while not ordered or not feed.requests.empty():
        request = feed.requests.get()
        if request is None:
            return False
        ordered.append(
            request if isinstance(request, Exception) else attempt(located, engine, request)
        )
    return True


def located(engine: BatchMaker, work: Work) -> Located:
    runner = engine.runner
    location = runner.plan.source.locate(work.samples)
    runner.advise(engine.pool, location)
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
