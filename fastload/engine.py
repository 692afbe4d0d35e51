"""The only place with threads and state: it drives a runner over an epoch's works and hands out batches in order.

Life of a batch in the native engine: order (consumer) → begin → draw → start (feeder thread) → finish (consumer).
Only the consumer's thread touches the user's sampler, as in PyTorch.
"""

import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

import torch
import torch.utils.data

from fastload import _native, devices
from fastload.backends import masks, native
from fastload.bad_samples import Report, Trouble
from fastload.errors import DeviceMemoryError
from fastload.flight import Ready, Started, images_of, kept_of
from fastload.placement import HOST, Chooser, Placement
from fastload.plan import targets
from fastload.sending import Sender
from fastload.slots import Ring
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Work
from fastload.uploading import Gpu, Uploader

Batch = list[Any]  # [images, labels], as torch's default_collate returns pairs; of several views, images is a list
Order = Work | Exception  # an error takes the place of its batch, and is raised when that is due, as torch's workers do
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded
JOIN = 5.0  # s that the end of an epoch waits for its feeder, which may be stuck in a read
T = TypeVar("T")


Orders: TypeAlias = "queue.SimpleQueue[Order | None]"  # None: no more
Results: TypeAlias = "queue.SimpleQueue[Started | Ready | Exception]"


class NativeEngine:
    """Threads, slots and counters of one loader; lives as long as it, over all epochs."""

    makes_again = True  # a batch, where its place has too little memory for it

    def __init__(self, runner: native.Runner, threads: int, depth: int, seek: Indexes, *, pinned: bool, gpu: Gpu | None = None) -> None:
        self.runner, self.depth, self.seek, self.gpu = runner, depth, seek, gpu
        self.on_bad: Callable[[Report], object] = bool  # told of a batch's bad samples that did not raise
        self.runners: dict[tuple[int | None, Placement], native.Runner] = {}  # by the work's size
        self.pool = _native.Pool(threads)
        self.uploader = Uploader(runner.pictures, gpu.device, pinned=pinned) if gpu else None
        self.chooser = self.uploader.chooser(gpu.places, depth if threads else 0) if self.uploader and gpu else Chooser([HOST])
        self.rings = [Ring(depth + 2, pinned=pinned) for _ in runner.pictures]
        self.mask_threads = ThreadPoolExecutor(threads, "fastload-masks") if threads and runner.plan.masks else None

    def epoch(self, works: Iterator[Order], timeout: float = 0) -> "_Inline | Threaded":
        """Batches of `works`, in order. timeout: s that a batch may take, where there are threads; 0: any time."""
        seek = self.view = self.seek.epoch()
        self.chooser.begin()
        return _Inline(self, works, seek) if self.pool.threads == 0 else Threaded(self, works, seek, timeout)

    def feeder(self, seek: View, orders: Orders, started: Results, stopped: threading.Event) -> threading.Thread:
        """The thread of an epoch, running."""
        thread = threading.Thread(target=_feed, args=(self, seek, orders, started, stopped), name="fastload-feeder", daemon=True)
        thread.start()
        return thread

    def start(self, job: _native.Job, work: Work) -> Started:
        """Draw the records and start decoding into a slot."""
        place, asked = self.chooser.place(work.size), work
        runner = self._runner(work.size, place)
        trouble = Trouble(runner.plan.on_error, work)
        drawn, work = runner.draw(job, work, trouble)
        outs = [
            ring.take(picture.host_shape(len(work)), picture.host_dtype) for ring, picture in zip(self.rings, runner.pictures, strict=True)
        ]
        sizes = job.sizes
        prepared = self.uploader.prepare(job, drawn, runner.pictures) if self.uploader and place.decode == "gpu" else None
        runner.start(job, drawn, outs)
        # Masks are begun at once, where there are threads for them.
        target = None if runner.plan.masks is None else masks.begin(runner.plan, work, sizes, self.mask_threads)
        return Started(runner, place, asked, work, job, drawn, outs, target, trouble, prepared)

    def _runner(self, size: int | None, place: Placement) -> native.Runner:
        if (size, place) not in self.runners:
            runner = self.runner.placed(place)
            self.runners[size, place] = runner if size is None else runner.at(size)
        return self.runners[size, place]

    def enter(self) -> None:
        """For the threads that make batches, when they begin."""
        if self.uploader:
            self.uploader.streams.enter()

    def complete(self, started: Started) -> Ready:
        """Wait for the pixels and wrap them, or send them to the GPU. Any thread."""
        runner, trouble = started.runner, started.trouble
        drawn, work = runner.finish(started.job, started.work, started.drawn, started.outs, trouble)
        if self.uploader:
            return self._sent(self.uploader, started, drawn, work)
        target, kept, valid = self._beside(started, drawn, work)
        parts = [images_of(picture, out) for picture, out in zip(runner.pictures, started.outs, strict=True)]
        if kept is not None:
            parts, target = [kept_of(part, kept) for part in parts], kept_of(target, kept)
        if self.rings[0].pinned:
            target = target.pin_memory()
        return Ready(parts, target, valid, None, started.place, work, trouble.report())

    def _sent(self, to: Uploader, started: Started, drawn: list[native.Drawn], work: Work) -> Ready:
        """On its way to the GPU; made again by the host where its place takes more memory than there is, and may be changed."""
        runner, trouble = started.runner, started.trouble
        try:
            crops = None
            if started.prepared is not None:
                crops, again = to.decode(started.job, started.prepared, started.outs)
                if len(again):
                    runner.start(started.job, drawn, started.outs)
                    drawn, work = runner.finish(started.job, work, drawn, started.outs, trouble)
                    to.mend(started.outs, crops, again)
            target, kept, valid = self._beside(started, drawn, work)
            sent = to.send(runner.pictures, started.outs, target, drawn, kept, crops)
        except DeviceMemoryError as error:
            if started.place == HOST or not self.makes_again or not self.chooser.drop(started.place, str(error)):
                raise
            job = self.runner.begin(self.pool, started.asked, self.view)
            return self.complete(self.start(job, started.asked))
        return Ready(sent.images, sent.target, valid, sent, started.place, work, trouble.report())

    def _beside(self, started: Started, drawn: list[native.Drawn], work: Work) -> tuple[torch.Tensor, Any, torch.Tensor | None]:
        """Of the batch: the target, the places that are handed out (None: all), and `Work.valid` of these."""
        target = started.target() if started.target else torch.from_numpy(targets(started.runner.plan, work, drawn[0].mixing))
        kept, valid = started.trouble.kept(len(work)), None if work.valid is None else torch.from_numpy(work.valid)
        return target, kept, valid if valid is None or kept is None else kept_of(valid, kept)

    def finish(self, started: Started | Ready) -> Batch:
        """The batch, in the caller's thread."""
        made = started if isinstance(started, Ready) else self.complete(started)
        self.on_bad(made.report)
        self.seek.warn()
        if made.sent and self.uploader and self.gpu:
            devices.same(self.gpu.device, self.gpu.asked)
            with self.uploader.streams.relaxed():
                mark = self.uploader.hand(made.sent)
            self.chooser.handed(made.work.size, made.place, len(made.work), mark)
        images = made.parts if self.runner.plan.views else made.parts[0]
        return [images, made.target] if made.valid is None else [images, made.target, made.valid]


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
        self.next: deque[Started | Ready | Exception] = deque()  # taken from `made`, to be seen
        self.pending = 0
        stopped = threading.Event()
        thread = engine.feeder(seek, self.orders, self.started, stopped)
        self.sender = Sender(self.started, partial(_complete, engine), engine.enter) if engine.uploader else None
        self.made = self.sender.made if self.sender else self.started
        # Runs when the iterator is dropped, mid-epoch too, and before the interpreter ends.
        self.close = weakref.finalize(self, _stop, self.orders, stopped, thread, self.sender)
        for _ in range(engine.depth):
            self._order()

    def __iter__(self) -> "Threaded":
        return self

    @property
    def ready(self) -> int:
        """Batches that are done, so that asking for them waits for nothing."""
        while not self.made.empty():
            self.next.append(self.made.get())
        return sum(not isinstance(item, Started) or item.job.done for item in self.next)

    def __next__(self) -> Batch:
        if not self.close.alive or not self.pending:
            self.close()
            raise StopIteration
        item = self._wait()
        self.next.popleft()
        self.pending -= 1
        if self.sender:
            self.sender.took()
        self._order()
        if isinstance(item, Exception):
            try:
                raise item
            finally:
                del item  # its traceback holds this frame
        return self.engine.finish(item)

    def _wait(self) -> Started | Ready | Exception:
        """The next batch, whose pixels are there; it stays in `next`. Raises RuntimeError if that takes too long."""
        deadline = time.monotonic() + self.timeout
        try:
            if not self.next:
                self.next.append(self.made.get(timeout=self.timeout or None))
        except queue.Empty:
            raise self._late() from None
        item = self.next[0]
        if self.timeout and isinstance(item, Started) and not item.job.wait(max(0.0, deadline - time.monotonic())):
            raise self._late()
        return item

    def _late(self) -> RuntimeError:
        return RuntimeError(f"DataLoader timed out after {self.timeout} seconds")  # torch's words

    def _order(self) -> None:
        work = next(self.works, None)
        if work is not None:
            if isinstance(work, Work):
                self.engine.runner.advise(self.engine.pool, work)
            self.orders.put(work)
            self.pending += 1


def _feed(engine: NativeEngine, seek: View, orders: Orders, started: Results, stopped: threading.Event) -> None:
    """The feeder thread. It knows no iterator, so that dropping the iterator ends it."""
    entered = attempt(engine.enter)
    reading: deque[tuple[_native.Job, Work] | Exception] = deque()
    for work in iter(orders.get, None):
        if stopped.is_set():
            return
        failed = work if isinstance(work, Exception) else entered
        reading.append(failed if isinstance(failed, Exception) else attempt(_begin, engine, work, seek))
        while len(reading) > FETCH_AHEAD or (reading and orders.empty()):
            item = reading.popleft()
            started.put(item if isinstance(item, Exception) else attempt(engine.start, *item))


def _begin(engine: NativeEngine, work: Work, seek: View) -> tuple[_native.Job, Work]:
    return engine.runner.begin(engine.pool, work, seek), work


def _complete(engine: NativeEngine, item: Started | Exception) -> Ready | Exception:
    return item if isinstance(item, Exception) else attempt(engine.complete, item)


def attempt(step: Callable[..., T], *arguments: Any) -> T | Exception:
    """What `step` returns or raises: a batch that fails leaves the others alone."""
    try:
        return step(*arguments)
    except Exception as error:  # noqa: BLE001  handed to the consumer, whole
        return error


def _stop(orders: Orders, stopped: threading.Event, thread: threading.Thread, sender: Sender | None = None) -> None:
    stopped.set()
    orders.put(None)
    if sender:
        sender.stop()
        sender.join()
    if thread.is_alive() and thread is not threading.current_thread():  # the collector may run in the feeder itself
        thread.join(JOIN)
