"""The threads that bring cells into the cache, and what they share."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fastload.errors import FastloadError, ObjectChangedError, StoreError
from fastload.remote.cache import Cache
from fastload.remote.entry import THERE, UNPROVED, Entry
from fastload.remote.stores import GivenUpError, Store

THREADS = 64  # connections at most
# Bytes under way, at least and at most; between them as many as the link holds, FULL times
FLIGHT, MOST_FLIGHT, FULL = 32 << 20, 256 << 20, 4.0
LOOK = 0.02  # s between two looks at what another process brings
IDLE = 5.0  # s after which a thread without work ends
TRIES = 5  # of a request whose bytes have the wrong checksum
FULL_S = 0.2  # s until room in a full cache is looked for again
RATE_S = 2.0  # s over which the rate is taken
RECENT = 0.1  # the weight of the newest job in what is known of their pace
SLOW, SLOW_S = 4.0, 1.0  # a request is slow that takes so many times the usual, and so many s


@dataclass(eq=False)
class Job:
    """Cells first to before last, of one file, that are asked for at once."""

    first: int
    last: int
    size: int
    urgent: bool = False
    hedge: bool = False  # another one of the same cells is under way
    begun: float = 0.0
    first_s: float = 0.0  # until the first bytes of its requests came
    hedged: bool = False


@dataclass
class State:
    """What the threads share, with one lock. `changed`: cells came; `work`: there is more to do."""

    store: Store
    cache: Cache
    entry: Entry
    listed: Sequence[str] = ()  # ETags by file, where they were known before
    changed: threading.Condition = field(default_factory=threading.Condition)
    work: threading.Condition = field(init=False)
    urgent: deque[tuple[int, int]] = field(default_factory=deque)  # stretches of cells
    plan: deque[tuple[int, int]] = field(default_factory=deque)
    active: list[Job] = field(default_factory=list)
    # What went wrong and when, by the stretch of cells
    failed: dict[tuple[int, int], tuple[FastloadError, float]] = field(default_factory=dict)
    etags: dict[int, str] = field(default_factory=dict)  # by file, as the first answer had them
    done: deque[tuple[float, int]] = field(default_factory=deque)  # when, and how many bytes
    seconds_per_byte: float = 0.0  # once the first byte has come
    threads: int = 0
    idle: int = 0
    stopped: bool = False
    full_until: float = 0.0  # when somebody may have made room in the cache again

    def __post_init__(self) -> None:
        self.work = threading.Condition(self.changed._lock)  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Never waits: a finalizer calls it, even in a thread that another waits for with the lock,
        so that it begins. Whoever waits looks again soon without a call, too.
        """
        self.stopped = True
        self.urgent.clear()
        self.plan.clear()
        if self.changed.acquire(blocking=False):
            self.changed.notify_all()
            self.work.notify_all()
            self.changed.release()

    def room(self) -> bool:
        """Whether more may be under way."""
        if time.monotonic() < self.full_until:
            return False
        under_way, now = sum(job.size for job in self.active), time.monotonic()
        while self.done and self.done[0][0] < now - RATE_S:
            self.done.popleft()
        link = FULL * self.store.traffic.latency_s * sum(size for _, size in self.done) / RATE_S
        return under_way < min(MOST_FLIGHT, max(FLIGHT, link))

    def take(self) -> Job | None:
        """What is to be asked for now. With `changed` held."""
        while self.urgent or (self.plan and self.room()):
            urgent = bool(self.urgent)
            try:
                first, last = self.urgent.popleft() if urgent else self.plan.popleft()
            except IndexError:  # a finalizer has just cleared it
                continue
            wanted = self.entry.missing(np.arange(first, last))
            for job in self.active:
                wanted = wanted[(wanted < job.first) | (wanted >= job.last)]
            if not len(wanted):
                continue
            end = int(wanted[0]) + int(np.argmax(np.append(np.diff(wanted) != 1, True))) + 1
            if end < last:
                (self.urgent if urgent else self.plan).appendleft((end, last))
            return self.begun(Job(int(wanted[0]), end, 0, urgent))
        return None

    def begun(self, job: Job) -> Job:
        job.size, job.begun = self.entry.layout.span(job.first, job.last).size, time.monotonic()
        self.active.append(job)
        return job

    def ended(self, job: Job, size: int) -> None:
        """size: bytes that came; 0: none."""
        now = time.monotonic()
        with self.changed:
            self.active.remove(job)
            if size:
                self.done.append((now, size))
                pace = max(0.0, now - job.begun - job.first_s) / size
                before = self.seconds_per_byte or pace
                self.seconds_per_byte = before + RECENT * (pace - before)
            self.changed.notify_all()
            self.work.notify()

    def slow(self, job: Job) -> bool:
        """Whether a job takes much longer than others of its size."""
        usual = self.store.traffic.latency_s + job.size * self.seconds_per_byte
        return time.monotonic() - job.begun > max(SLOW_S, SLOW * usual)

    def call(self) -> None:
        """Somebody for what is to be done, if there is any. With `changed` held."""
        if not (self.urgent or (self.plan and self.room())):
            return
        if self.idle:
            self.work.notify()
        elif self.threads < THREADS:
            self.start(None)

    def start(self, job: Job | None) -> None:
        """A thread, that begins with this job."""
        self.threads += 1
        threading.Thread(target=_work, args=(self, job), name="fastload-fetch", daemon=True).start()

    def fail(self, job: Job, error: FastloadError) -> None:
        with self.changed:
            self.failed[job.first, job.last] = (error, time.monotonic())


def _work(state: State, job: Job | None) -> None:
    """A thread: it knows no `Fetcher`, so that dropping that ends it."""
    if job is not None:
        with state.changed:
            state.begun(job)
        _run(state, job)
    while (job := _next(state)) is not None:
        _run(state, job)


def _next(state: State) -> Job | None:
    """None: the thread is to end."""
    until = time.monotonic() + IDLE
    with state.changed:
        while (job := None if state.stopped else state.take()) is None:
            left = until - time.monotonic()
            if state.stopped or (left <= 0 and not state.plan):
                state.threads -= 1
                return None
            state.idle += 1
            state.work.wait(FULL_S if state.plan else left)
            state.idle -= 1
        state.call()
        return job


def _run(state: State, job: Job) -> None:
    size = 0
    try:
        size = _fetched(state, job)
    except GivenUpError:
        return
    except FastloadError as error:
        state.fail(job, error)
    except OSError as error:
        state.fail(job, state.cache.error(error))
    finally:
        state.ended(job, size)


def _fetched(state: State, job: Job) -> int:
    """Bring a job's cells; how many bytes came. Raises StoreError, CacheError and OSError.

    Their group is leased meanwhile: the epoch that has asked for it may be over.
    """
    groups = np.unique(state.entry.layout.groups_of(np.arange(job.first, job.last))).tolist()
    state.entry.lease(groups)
    try:
        return _brought_all(state, job)
    finally:
        state.entry.release(groups)


def _brought_all(state: State, job: Job) -> int:
    entry = state.entry
    if not job.hedge and not entry.begin_writing(job.first, job.last):
        time.sleep(LOOK)  # another process brings them; whoever waits looks again
        if not job.urgent:
            with state.changed:
                state.plan.append((job.first, job.last))
        return 0
    try:
        if not job.hedge:
            _prove(entry, job)
        came = 0
        for first, last in entry.layout.stretches(entry.missing(np.arange(job.first, job.last))):
            if not _reserved(state, job, entry.layout.span(first, last).size):
                return came
            came += _brought(state, job, first, last)
        return came
    finally:
        if not job.hedge:
            entry.end_writing(job.first, job.last)


def _prove(entry: Entry, job: Job) -> None:
    for cell in range(job.first, job.last):
        if entry.marks[cell] == UNPROVED:
            entry.prove(cell, cell + 1)


def _reserved(state: State, job: Job, size: int) -> bool:
    """Whether there is room; what is only planned comes back later."""
    if state.cache.reserve(size, needed=job.urgent):
        return True
    with state.changed:
        state.plan.appendleft((job.first, job.last))
        state.full_until = time.monotonic() + FULL_S
    return False


def _brought(state: State, job: Job, first: int, last: int) -> int:
    """Ask the store, check and write; again where what came was not what the index says."""
    entry, layout = state.entry, state.entry.layout
    span = layout.span(first, last)
    name, want = layout.names[span.file], int(layout.sizes[span.file])
    if not span.size:
        entry.mark(first, last, THERE)
        return 0
    for _ in range(TRIES):
        got = state.store.get(
            name,
            (span.begin, span.end),
            state.etags.get(span.file, ""),
            lambda: state.stopped or not len(entry.missing(np.arange(first, last))),
        )
        job.first_s += got.first_s
        if got.size != want:
            raise ObjectChangedError(
                f"{state.store.shown(name)}: has another size than its index says (got {got.size} "
                f"bytes, want {want}); open the data set again, or convert again"
            )
        listed = state.listed[span.file] if state.listed else ""
        if span.file not in state.etags and not same_etag(listed, got.etag):
            raise ObjectChangedError(
                f"{state.store.shown(name)}: has changed since the data set was opened (another "
                "ETag); open it again"
            )
        state.etags.setdefault(span.file, got.etag)
        wrong = entry.put(first, last, memoryview(got.data))
        if not wrong:
            return span.size
        state.store.traffic.count(retries=1)
    raise StoreError(
        f"{state.store.shown(name)}: is not what its index says ({wrong}); convert again, or "
        "restore the object"
    )


def same_etag(one: str, other: str) -> bool:
    """As far as both are known. Listings of some stores leave the quotes out."""
    return not (one and other) or one.strip('"') == other.strip('"')
