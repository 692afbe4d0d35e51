"""The only place with threads and state: it drives a runner over an epoch's works and hands out batches in order.

Life of a batch in the native engine: order (consumer) → begin → draw → start (feeder thread) → finish (consumer).
Only the consumer's thread touches the user's sampler, as in PyTorch.
"""

import queue
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.utils.data

from fastload import _native
from fastload.backends import masks, native
from fastload.backends import torch as reference
from fastload.errors import SampleError
from fastload.plan import Plan
from fastload.slots import Ring, Uploader
from fastload.sources.collect import Indexes
from fastload.sources.seek_views import View
from fastload.spec import Ints, Work

Batch = list[Any]  # [images, labels], as torch's default_collate returns pairs; of several views, images is a list
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded


class Started(NamedTuple):
    """A batch whose samples the pool is decoding."""

    runner: native.Runner  # of the work's size
    work: Work
    job: _native.Job
    drawn: list[native.Drawn]  # of each picture
    outs: list[Any]  # its slot: array of host_shape and host_dtype
    target: Callable[[], torch.Tensor]  # labels or masks


Orders: TypeAlias = "queue.SimpleQueue[Work | None]"  # None: no more
Results: TypeAlias = "queue.SimpleQueue[Started | BaseException]"


class NativeEngine:
    """Threads, slots and counters of one loader; lives as long as it, over all epochs."""

    def __init__(self, runner: native.Runner, threads: int, depth: int, seek: Indexes, *, pinned: bool) -> None:
        self.runner, self.depth, self.seek = runner, depth, seek
        self.runners: dict[int | None, native.Runner] = {None: runner}  # by the work's size
        self.pool = _native.Pool(threads)
        self.uploads = [Uploader(picture) if picture.on_device else None for picture in runner.pictures]
        self.rings = [Ring(depth + 2, pinned=pinned) for _ in runner.pictures]
        self.mask_threads = ThreadPoolExecutor(threads, "fastload-masks") if threads and runner.plan.masks else None

    def epoch(self, works: Iterator[Work]) -> Iterator[Batch]:
        """Batches of `works`, in order."""
        seek = self.seek.epoch()
        return _Inline(self, works, seek) if self.pool.threads == 0 else Threaded(self, works, seek)

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
        drawn = runner.draw(job, work)
        outs = [
            ring.take(picture.host_shape(len(work)), picture.host_dtype) for ring, picture in zip(self.rings, runner.pictures, strict=True)
        ]
        sizes = job.sizes
        runner.start(job, drawn, outs)
        return Started(runner, work, job, drawn, outs, self._target(runner.plan, work, sizes))

    def finish(self, started: Started) -> Batch:
        """Wait for the pixels and wrap them."""
        started.runner.finish(started.job, started.work, started.drawn, started.outs)
        self.seek.warn()
        target = started.target()
        batches = []
        for picture, upload, out in zip(self.runner.pictures, self.uploads, started.outs, strict=True):
            images, given = upload(torch.from_numpy(out), target) if upload else (_images(picture, out), target)
            batches.append(images)
        return [batches if self.runner.plan.views else batches[0], given]

    def _target(self, plan: Plan, work: Work, sizes: Ints) -> Callable[[], torch.Tensor]:
        """What gives the batch's labels or masks; masks are begun at once, where there are threads for them."""
        if plan.masks is None:
            return lambda: torch.from_numpy(plan.source.labels[work.samples])
        return masks.begin(plan, work, sizes, self.mask_threads)


def _images(picture: native.Picture, out: Any) -> torch.Tensor:
    """[N, 3, H, W] over a slot."""
    images = torch.from_numpy(out)
    if picture.plan.out.dtype == "bfloat16":
        images = images.view(torch.bfloat16)
    return images.permute(0, 3, 1, 2) if picture.host_channels_last else images


class _Inline:
    """num_workers=0: everything in the caller's thread, one batch at a time; breakpoints and tracebacks are plain."""

    def __init__(self, engine: NativeEngine, works: Iterator[Work], seek: View) -> None:
        self.engine, self.works, self.seek = engine, works, seek

    def __iter__(self) -> "_Inline":
        return self

    def __next__(self) -> Batch:
        work = next(self.works)
        engine = self.engine
        return engine.finish(engine.start(engine.runner.begin(engine.pool, work, self.seek), work))


class Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(self, engine: NativeEngine, works: Iterator[Work], seek: View) -> None:
        self.engine, self.works = engine, works
        self.orders: Orders = queue.SimpleQueue()
        self.started: Results = queue.SimpleQueue()
        self.pending = 0
        stopped = threading.Event()
        thread = engine.feeder(seek, self.orders, self.started, stopped)
        # Runs when the iterator is dropped, mid-epoch too, and before the interpreter ends.
        self.close = weakref.finalize(self, _stop, self.orders, stopped, thread)
        for _ in range(engine.depth):
            self._order()

    def __iter__(self) -> "Threaded":
        return self

    def __next__(self) -> Batch:
        if not self.close.alive or not self.pending:
            self.close()
            raise StopIteration
        started = self.started.get()
        self.pending -= 1
        try:
            if isinstance(started, BaseException):
                raise started
            self._order()
            return self.engine.finish(started)
        except BaseException:
            self.close()  # as in torch, an error ends the epoch
            raise

    def _order(self) -> None:
        work = next(self.works, None)
        if work is not None:
            self.engine.runner.advise(self.engine.pool, work)
            self.orders.put(work)
            self.pending += 1


def _feed(engine: NativeEngine, seek: View, orders: Orders, started: Results, stopped: threading.Event) -> None:
    """The feeder thread. It knows no iterator, so that dropping the iterator ends it."""
    reading: deque[tuple[_native.Job, Work]] = deque()
    try:
        for work in iter(orders.get, None):
            if stopped.is_set():
                return
            reading.append((engine.runner.begin(engine.pool, work, seek), work))
            while len(reading) > FETCH_AHEAD or (reading and orders.empty()):
                started.put(engine.start(*reading.popleft()))
    except BaseException as error:  # noqa: BLE001  handed to the consumer, whole
        started.put(error)


def _stop(orders: Orders, stopped: threading.Event, thread: threading.Thread) -> None:
    stopped.set()
    orders.put(None)
    if thread.is_alive() and thread is not threading.current_thread():  # the collector may run in the feeder itself
        thread.join()


class TorchEngine:
    """The torch backend on PyTorch's own engine: each of its workers makes whole batches, as it does for any data set."""

    def __init__(self, runner: reference.Runner, workers: int, depth: int, *, pinned: bool, context: Any = None) -> None:
        self.runner, self.workers, self.pinned, self.context = runner, workers, pinned, context
        self.per_worker = max(1, depth // max(1, workers))

    def epoch(self, works: Iterator[Work]) -> Iterator[Batch]:
        loader: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(
            _Works(self.runner),
            batch_size=None,
            sampler=_Once(works),
            num_workers=self.workers,
            prefetch_factor=self.per_worker if self.workers else None,
            pin_memory=self.pinned,
            multiprocessing_context=self.context if self.workers else None,
            generator=torch.Generator(),  # the inner loader draws nothing from the user's
        )
        for batch in loader:
            if isinstance(batch, SampleError):
                raise batch
            yield list(batch)


class _Works(torch.utils.data.Dataset[Any]):
    """A data set whose items are batches, indexed by works; an error travels as a value, since workers lose its type."""

    def __init__(self, runner: reference.Runner) -> None:
        self.runner = runner

    def __getitem__(self, work: Work) -> tuple[Any, torch.Tensor] | SampleError:
        try:
            return self.runner(work)
        except SampleError as error:
            return error


class _Once(torch.utils.data.Sampler[Work]):
    """An iterator as a sampler."""

    def __init__(self, works: Iterator[Work]) -> None:
        self.works = works

    def __iter__(self) -> Iterator[Work]:
        return self.works
