"""The feeder thread of an epoch: it finds, begins and hands over the batches that are asked for.

A batch whose job goes on by itself is handed over when it is begun, so the thread wakes once for
it. Others it draws and starts itself once they are read, and also the few whose job comes back.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import ParamSpec, TypeAlias, TypeVar

from fastload.attach import taken
from fastload.engine.flight import BatchMaker, Begun, Feed, LookAgain, Started, come
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Work
from fastload.system import room

FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
# Seconds between two looks of the feeder, while it waits for a read, at whether its epoch is over
LOOK = 0.1
WATCHED = 64  # batches whose jobs are waited for after one that has come back
Located = tuple[Work, Location]  # a batch, and where its samples lie
Reading: TypeAlias = "deque[Begun | Exception]"
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
    reading: Reading = deque()
    while _asked(engine, feed, ordered, reading):
        feed.pace.wait(feed.stopped)
        if feed.stopped.is_set():
            return
        if ordered:
            item = ordered.popleft()
            item = entered if isinstance(entered, Exception) else item
            begun = _begun(engine, feed, item, reading)
            if begun is None:
                return
            reading.append(begun)
        idle = not ordered and feed.requests.empty()
        while reading and (idle or len(reading) > FETCH_AHEAD or _goes_on(feed, reading[0])):
            if not _start(engine, feed, reading):
                return


def _begun(
    engine: BatchMaker, feed: Feed, item: Located | Exception, reading: Reading
) -> Begun | Exception | None:
    """Begin a batch once its samples are there. Others do not wait for those from a store. None:
    the epoch is over, and they have not come.
    """
    if isinstance(item, Exception):
        return item
    here = attempt(come, engine, item[0], 0.0)
    while here is False and not feed.stopped.is_set():
        while reading and _start(engine, feed, reading):
            pass
        _look(engine, feed)
        here = attempt(come, engine, item[0], LOOK)
    if here is False:
        return None
    begun = here if isinstance(here, Exception) else attempt(_begin, engine, *item, feed.seek)
    feed.at_once = not isinstance(begun, Exception) and begun.ahead is not None
    return begun


def _goes_on(feed: Feed, begun: Begun | Exception) -> bool:
    """Whether it is handed over as it is, and its job trusted to go on by itself."""
    return not isinstance(begun, Exception) and begun.ahead is not None and not feed.watched


def _start(engine: BatchMaker, feed: Feed, reading: Reading) -> bool:
    """Hand over the oldest batch; started, once its files are read, where its job does not go on by
    itself. False: the epoch is over.
    """
    begun = reading.popleft()
    if isinstance(begun, Exception):
        feed.started.put(begun)
    elif _goes_on(feed, begun):
        started = attempt(engine.promise, begun)
        feed.started.put(started)
        if isinstance(started, Started) and started.again is not None:
            feed.going.append((begun.job, begun.work, started.again))
    else:
        while not begun.job.wait_started(LOOK):
            if feed.stopped.is_set():
                return False
            _look(engine, feed)
        if begun.ahead is not None:
            feed.watched = feed.watched - 1 if begun.job.drawn else WATCHED
        feed.started.put(attempt(engine.start, begun))
    return True


def _look(engine: BatchMaker, feed: Feed) -> None:
    """Start the batches that were handed over, and whose job has come back: something of them is
    irregular. As long as there may be more of these, jobs are waited for.
    """
    for _ in range(len(feed.going)):
        job, work, again = feed.going.popleft()
        rests = job.done  # asked first: else it could go on, and end, between the two questions
        if job.drawn:
            continue
        if not rests:
            feed.going.append((job, work, again))
            continue
        feed.watched = WATCHED
        started = attempt(engine.start, Begun(job, work, None))
        with feed.mended:
            again.append(started)
            feed.mended.notify_all()


def _asked(
    engine: BatchMaker, feed: Feed, ordered: deque[Located | Exception], reading: Reading
) -> bool:
    """Find where the samples of all batches lie that were asked for; the system reads those ahead
    that are not begun at once. Waits for one where there is nothing to do. False: there are no
    more.
    """
    while not feed.requests.empty() or not (ordered or reading):
        request = feed.requests.get()
        feed.spent.clear()
        _look(engine, feed)
        if request is None:
            return False
        if isinstance(request, LookAgain):
            continue
        ordered.append(
            request
            if isinstance(request, Exception)
            else attempt(
                located, engine, request, feed.seek, later=bool(ordered) and not feed.at_once
            )
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
