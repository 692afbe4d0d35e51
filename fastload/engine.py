"""The only place with threads and state: it drives a runner over an epoch's works and hands out batches in order.

Life of a batch in the native engine: order (consumer) → begin → draw → start (feeder thread) → finish (consumer).
Only the consumer's thread touches the user's sampler, as in PyTorch.
"""

import atexit
import functools
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias, TypeVar

import torch
import torch.utils.data

from fastload import _native, waits
from fastload.backends import masks, native
from fastload.bad_samples import Report, Trouble
from fastload.errors import BackendError
from fastload.plan import targets
from fastload.slots import Ring, Uploader
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Work

Batch = list[Any]  # [images, labels], as torch's default_collate returns pairs; of several views, images is a list
Order = Work | Exception  # an error takes the place of its batch, and is raised when that is due, as torch's workers do
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
READERS = 8  # threads, where there are any, that only read: they wait for the disk or the network, and need no core
JOIN = 5.0  # s that the end of an epoch or of the program waits for its feeder, which may be in a user's function
LOOK = 0.1  # s between two looks of the feeder, while it waits for a read, at whether its epoch is over
T = TypeVar("T")


class Started(NamedTuple):
    """A batch whose samples the pool is decoding."""

    runner: native.Runner  # of the work's size
    work: Work
    job: _native.Job
    drawn: list[native.Drawn]  # of each picture
    outs: list[Any]  # its slot: array of host_shape and host_dtype
    target: Callable[[], torch.Tensor] | None  # masks
    trouble: Trouble


Orders: TypeAlias = "queue.SimpleQueue[Order | None]"  # None: no more
Results: TypeAlias = "queue.SimpleQueue[Started | Exception]"
_feeders = dict[threading.Thread, Callable[[], None]]()  # those of this process that may run, and what ends them


class NativeEngine:
    """Threads, slots and counters of one loader; lives as long as it, over all epochs."""

    def __init__(self, runner: native.Runner, threads: int, depth: int, seek: Indexes, *, pinned: bool) -> None:
        self.runner, self.depth, self.seek = runner, depth, seek
        self.on_bad: Callable[[Report], object] = bool  # told of a batch's bad samples that did not raise
        self.runners: dict[int | None, native.Runner] = {None: runner}  # by the work's size
        self.pool = _pool(threads)
        self.uploads = [Uploader(picture) if picture.on_device else None for picture in runner.pictures]
        self.rings = [Ring(depth + 2, pinned=pinned) for _ in runner.pictures]
        self.mask_threads = ThreadPoolExecutor(threads, "fastload-masks") if threads and runner.plan.masks else None

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that has the threads."""
        return self.pool.forked

    def epoch(self, works: Iterator[Order], timeout: float = 0) -> "_Inline | Threaded":
        """Batches of `works`, in order. timeout: s that a batch may take, where there are threads; 0: any time."""
        seek = self.seek.epoch()
        return _Inline(self, works, seek) if self.pool.threads == 0 else Threaded(self, works, seek, timeout)

    def feeder(self, seek: View, orders: Orders, started: Results, stopped: threading.Event) -> threading.Thread:
        """The thread of an epoch, running."""
        thread = threading.Thread(target=_feed, args=(self, seek, orders, started, stopped), name="fastload-feeder", daemon=True)
        thread.start()
        return thread

    def start(self, job: _native.Job, work: Work) -> Started:
        """Draw the records and start decoding into a slot."""
        if work.size is not None and work.size not in self.runners:
            self.runners[work.size] = self.runner.at(work.size)
        runner = self.runners[work.size]
        trouble = Trouble(runner.plan.on_error, work)
        drawn, work = runner.draw(job, work, trouble)
        outs = [
            ring.take(picture.host_shape(len(work)), picture.host_dtype) for ring, picture in zip(self.rings, runner.pictures, strict=True)
        ]
        sizes = job.sizes
        runner.start(job, drawn, outs)
        # Masks are begun at once, where there are threads for them.
        target = None if runner.plan.masks is None else masks.begin(runner.plan, work, sizes, self.mask_threads)
        return Started(runner, work, job, drawn, outs, target, trouble)

    def finish(self, started: Started) -> Batch:
        """Wait for the pixels and wrap them."""
        runner, trouble = started.runner, started.trouble
        drawn, work = runner.finish(started.job, started.work, started.drawn, started.outs, trouble)
        self.on_bad(trouble.report())
        self.seek.warn()
        target = started.target() if started.target else torch.from_numpy(targets(runner.plan, work, drawn[0].mixing))
        if self.rings[0].pinned and not self.uploads[0]:
            target = target.pin_memory()
        given, batches = target, []
        for picture, upload, records, out in zip(self.runner.pictures, self.uploads, drawn, started.outs, strict=True):
            images = _images(picture, out)
            if upload:
                images, given = upload(torch.from_numpy(out), target, records)
            batches.append(images)
        whole: Batch = [batches if self.runner.plan.views else batches[0], given]
        if work.valid is not None:
            whole.append(torch.from_numpy(work.valid))
        kept = trouble.kept(len(work))
        return whole if kept is None else [_kept(part, torch.from_numpy(kept)) for part in whole]


def _kept(part: Any, places: torch.Tensor) -> Any:
    """Images or labels of these places of the batch; of several views a list."""
    return [_kept(one, places) for one in part] if isinstance(part, list) else part.index_select(0, places.to(part.device))


def _images(picture: native.Picture, out: Any) -> torch.Tensor:
    """[N, 3, H, W] over a slot."""
    images = torch.from_numpy(out)
    if picture.plan.out.dtype == "bfloat16":
        images = images.view(torch.bfloat16)
    return images.permute(0, 3, 1, 2) if picture.host_channels_last else images


class _Inline:
    """num_workers=0: everything in the caller's thread, one batch at a time; breakpoints and tracebacks are plain."""

    ready = 0  # batches that are done before they are asked for

    def __init__(self, engine: NativeEngine, works: Iterator[Order], seek: View) -> None:
        self.engine, self.works, self.seek = engine, works, seek

    def __iter__(self) -> "_Inline":
        return self

    def __next__(self) -> Batch:
        work = next(self.works)
        if isinstance(work, Exception):
            try:
                raise work
            finally:
                del work  # its traceback holds this frame
        engine = self.engine
        return engine.finish(engine.start(engine.runner.begin(engine.pool, work, self.seek), work))

    def close(self) -> None:
        """Nothing is under way between two batches."""


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(self, engine: NativeEngine, works: Iterator[Order], seek: View, timeout: float) -> None:
        self.engine, self.works, self.timeout = engine, works, timeout
        self.orders: Orders = queue.SimpleQueue()
        self.started: Results = queue.SimpleQueue()
        self.next: deque[Started | Exception] = deque()  # taken from `started`, to be seen
        self.pending = 0
        stopped = threading.Event()
        self.thread = engine.feeder(seek, self.orders, self.started, stopped)
        # Runs when the iterator is dropped, mid-epoch too. It waits for nothing: an exception in there, such as Ctrl-C's, would be lost.
        self.stop = weakref.finalize(self, _stop, self.orders, stopped)
        self.stop.atexit = False
        _feeders[self.thread] = functools.partial(_stop, self.orders, stopped)
        for thread in list(_feeders):  # other threads may begin epochs meanwhile
            if not thread.is_alive():
                _feeders.pop(thread, None)
        for _ in range(engine.depth):
            self._order()

    def __iter__(self) -> "Threaded":
        return self

    @property
    def ready(self) -> int:
        """Batches that are done, so that asking for them waits for nothing."""
        while not self.started.empty():
            self.next.append(self.started.get())
        return sum(isinstance(item, Exception) or item.job.done for item in self.next)

    def __next__(self) -> Batch:
        if not self.stop.alive or not self.pending:
            self.close()
            raise StopIteration
        item = self._wait()
        self.next.popleft()
        self.pending -= 1
        self._order()
        if isinstance(item, Exception):
            try:
                raise item
            finally:
                del item  # its traceback holds this frame
        return self.engine.finish(item)

    def close(self) -> None:
        """Ends the epoch; its thread ends before this returns, unless that is stuck."""
        self.stop()
        if self.thread is not threading.current_thread():
            self.thread.join(JOIN)

    def _wait(self) -> Started | Exception:
        """The next batch, whose pixels are there; it stays in `next`. Raises RuntimeError if that takes too long."""
        deadline = time.monotonic() + self.timeout
        try:
            if not self.next:
                self.next.append(self.started.get(timeout=self.timeout or None))
        except queue.Empty:
            raise self._late() from self._report()
        item = self.next[0]
        if self.timeout and isinstance(item, Started) and not item.job.wait(max(0.0, deadline - time.monotonic())):
            raise self._late() from self._report()
        return item

    def _late(self) -> RuntimeError:
        return RuntimeError(f"DataLoader timed out after {self.timeout} seconds")  # torch's words

    def _report(self) -> waits.StalledError:
        """Where the batches are, and what every thread does."""
        ahead, made = self.orders.qsize(), self.started.qsize() + len(self.next)
        queues = {"wait to be read": ahead, "are read or drawn": self.pending - ahead - made, "are decoded or done": made}
        return waits.stalled(self.timeout, queues, self.engine.pool, self.thread)

    def _order(self) -> None:
        work = next(self.works, None)
        if work is not None:
            if isinstance(work, Work):
                self.engine.runner.advise(self.engine.pool, work)
            self.orders.put(work)
            self.pending += 1


def _feed(engine: NativeEngine, seek: View, orders: Orders, started: Results, stopped: threading.Event) -> None:
    """The feeder thread. It knows no iterator, so that dropping the iterator ends it."""
    reading: deque[tuple[_native.Job, Work] | Exception] = deque()
    for work in iter(orders.get, None):
        if stopped.is_set():
            return
        reading.append(work if isinstance(work, Exception) else attempt(_begin, engine, work, seek))
        while len(reading) > FETCH_AHEAD or (reading and orders.empty()):
            item = reading.popleft()
            while not isinstance(item, Exception) and not item[0].wait(LOOK):
                if stopped.is_set():
                    return
            started.put(item if isinstance(item, Exception) else attempt(engine.start, *item))


def _pool(threads: int) -> _native.Pool:
    try:
        return _native.Pool(threads, READERS)
    except (MemoryError, RuntimeError, OSError) as error:
        what = f"{threads} threads cannot be started ({error})"
        raise BackendError(f"loader: {what}; take fewer workers, or raise the limits of the process") from error


def _begin(engine: NativeEngine, work: Work, seek: View) -> tuple[_native.Job, Work]:
    return engine.runner.begin(engine.pool, work, seek), work


def attempt(step: Callable[..., T], *arguments: Any) -> T | Exception:
    """What `step` returns or raises: a batch that fails leaves the others alone."""
    try:
        return step(*arguments)
    except Exception as error:  # noqa: BLE001  handed to the consumer, whole
        return error


def _stop(orders: Orders, stopped: threading.Event) -> None:
    stopped.set()
    orders.put(None)


@atexit.register
def _stop_all() -> None:
    """Before the interpreter ends: a thread that came back into it later would end the process."""
    threads = list(_feeders.items())
    for _, stop in threads:
        stop()
    for thread, _ in threads:
        thread.join(JOIN)
