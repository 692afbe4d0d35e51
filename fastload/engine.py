"""The only place with threads and state: it drives a runner over an epoch's works and hands out batches in order.

Life of a batch in the native engine: order (consumer) → begin → draw → start (feeder thread) → finish (consumer).
Only the consumer's thread touches the user's sampler, as in PyTorch.
"""

import queue
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.utils.data

from fastload import _native
from fastload.backends import native
from fastload.backends import torch as reference
from fastload.errors import SampleError
from fastload.slots import Ring, Uploader
from fastload.sources.collect import Collection, Fixed, View
from fastload.spec import Work

Batch = list[torch.Tensor]  # [images, labels], as torch's default_collate returns pairs
FETCH_AHEAD = 2  # batches whose files are read while the one before is decoded


class Started(NamedTuple):
    """A batch whose samples the pool is decoding."""

    runner: native.Runner  # of the work's size
    work: Work
    job: _native.Job
    drawn: native.Drawn
    out: Any  # the batch's slot: array of host_shape and host_dtype


class NativeEngine:
    """Threads, slots and counters of one loader; lives as long as it, over all epochs."""

    def __init__(self, runner: native.Runner, threads: int, depth: int, seek: Collection | Fixed, *, pinned: bool) -> None:
        self.runner, self.depth, self.seek = runner, depth, seek
        self.runners: dict[int | None, native.Runner] = {None: runner}  # by the work's size
        self.pool = _native.Pool(threads)
        self.upload = Uploader(runner) if runner.on_device else None
        self.ring = Ring(depth + 2, pinned=pinned)

    def epoch(self, works: Iterator[Work]) -> Iterator[Batch]:
        """Batches of `works`, in order."""
        seek = self.seek.epoch()
        return _Inline(self, works, seek) if self.pool.threads == 0 else _Threaded(self, works, seek)

    def start(self, job: _native.Job, work: Work) -> Started:
        """Draw the records and start decoding into a slot."""
        if work.size is not None and work.size not in self.runners:
            self.runners[work.size] = self.runner.at(work.size)
        runner = self.runners[work.size]
        drawn = runner.draw(job, work)
        out = self.ring.take(runner.host_shape(len(work)), runner.host_dtype)
        runner.start(job, drawn, out)
        return Started(runner, work, job, drawn, out)

    def finish(self, started: Started) -> Batch:
        """Wait for the pixels and wrap them."""
        started.runner.finish(started.job, started.work, started.drawn, started.out)
        self.seek.warn()
        images = torch.from_numpy(started.out)
        labels = torch.from_numpy(self.runner.plan.source.labels[started.work.samples])
        if self.upload:
            return self.upload(images, labels, started.drawn.on_device)
        if self.runner.plan.out.dtype == "bfloat16":
            images = images.view(torch.bfloat16)
        return [images.permute(0, 3, 1, 2) if self.runner.host_channels_last else images, labels]


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


class _Threaded:
    """A feeder thread per epoch reads ahead and draws records; `depth` batches are under way."""

    def __init__(self, engine: NativeEngine, works: Iterator[Work], seek: View) -> None:
        self.engine, self.works = engine, works
        self.orders: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self.started: queue.SimpleQueue[Started | BaseException] = queue.SimpleQueue()
        self.pending = 0
        stopped = threading.Event()
        arguments = (engine, seek, self.orders, self.started, stopped)
        thread = threading.Thread(target=_feed, args=arguments, name="fastload-feeder", daemon=True)
        # Runs when the iterator is dropped, mid-epoch too, and before the interpreter ends.
        self.close = weakref.finalize(self, _stop, self.orders, stopped, thread)
        thread.start()
        for _ in range(engine.depth):
            self._order()

    def __iter__(self) -> "_Threaded":
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


def _feed(
    engine: NativeEngine,
    seek: View,
    orders: "queue.SimpleQueue[Work | None]",
    started: "queue.SimpleQueue[Started | BaseException]",
    stopped: threading.Event,
) -> None:
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


def _stop(orders: "queue.SimpleQueue[Work | None]", stopped: threading.Event, thread: threading.Thread) -> None:
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

    def __getitem__(self, work: Work) -> tuple[torch.Tensor, torch.Tensor] | SampleError:
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
