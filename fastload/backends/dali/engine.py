"""Runs the graph over an epoch's works:

DALI's threads and prefetching, our order, and a way on after a sample that DALI cannot decode.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
import torch.utils.dlpack

from fastload import _native
from fastload.backends import mending
from fastload.backends.base import Batch, Engine, WorkOrError
from fastload.backends.dali import graph as dali_graph
from fastload.backends.dali import inputs as dali_inputs
from fastload.backends.dali import own_graph as dali_own_graph
from fastload.backends.dali import tail as dali_tail
from fastload.backends.dali.inputs import HostBatch
from fastload.backends.dali.line import Line, Output, Pipeline, Source
from fastload.errors import BackendError, SampleError
from fastload.plan.bad_samples import Report
from fastload.plan.batch import mix_records, targets
from fastload.plan.plan import Plan
from fastload.sources.base import remote
from fastload.spec import Size, Work
from fastload.system import garbage
from fastload.transforms.reference.mix import mix

# A child of a fork would wait for ever for the threads of a pipeline that it ends.
garbage.leave_to_parent()

FETCH_AHEAD = 2  # batches whose files are read while those before are decoded


class DaliEngine(Engine):
    """What a loader keeps from epoch to epoch.

    With fastload's records it keeps the pipeline too, if the last epoch came to its end: one with a
    policy takes 0.6 s to make. DALI's own random numbers begin anew, as each epoch's must, only
    with a new pipeline.
    """

    def __init__(
        self, plan: Plan, device: str, threads: int, depth: int, *, own: bool, pinned: bool
    ) -> None:
        self.plan, self.device, self.own = plan, device, own
        self.threads, self.depth = threads, depth
        self.pinned = pinned and device != "cuda"
        self.pictures = dali_inputs.pictures_of(plan, own=own)
        self.plans: dict[Size | None, Plan] = {None: plan}  # by the work's size
        self.pool = _native.Pool(1)  # reads files and headers
        self.kept: Line | None = None  # of an epoch that is over
        # Called with a batch's bad samples that did not raise
        self.on_bad: Callable[[Report], object] = bool

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> "Epoch":
        """Batches of `works`, in order; an error takes its batch's place.

        timeout: DALI has none.
        """
        return Epoch(self, works)

    def at(self, size: Size | None) -> Plan:
        if size not in self.plans:
            self.plans[size] = self.plan.at(size or 0)
        return self.plans[size]

    def begin(self, work: Work) -> _native.Job:
        source = self.plan.source
        if (far := remote(source)) is not None:
            far.access.wait(far.cells(work.samples))
        location = source.locate(work.samples)
        return self.pool.fetch(source.files, *location[:4], raw=location.raw)

    def line(self, feed: "Feed", count: int, seed: int) -> Line:
        """For batches of up to `count` samples; seed: of DALI's own numbers."""
        kept, self.kept = self.kept, None
        if kept is None or kept.limit != count:
            source = Source(feed)
            return Line(self._build(source, count, seed), source, count)
        kept.source.feed = feed
        kept.pipeline.reset()
        return kept

    def _build(self, source: Source, count: int, seed: int) -> Pipeline:
        number = torch.cuda.current_device() if self.device == "cuda" else None
        graph = dali_own_graph if self.own else dali_graph
        with warnings.catch_warnings(record=True):  # DALI's policies use names that DALI deprecates
            pipeline: Pipeline = graph.pipeline(
                source, self.pictures, self.device, batch_size=count, num_threads=self.threads,
                device_id=number,
                prefetch_queue_depth=self.depth, seed=seed,
            )  # fmt: skip
            pipeline.build()
        return pipeline


class Feed:
    """What DALI calls for the next batch.

    It keeps what it gave until that is delivered, and the error that ended it.
    """

    def __init__(self, engine: DaliEngine, works: Iterator[Work | Exception]) -> None:
        self.engine, self.works = engine, works
        self.reading: deque[tuple[Work, _native.Job] | Exception] = deque()
        # For the next pipeline: batches at which another one broke, or that were too long for it
        self.again: deque[HostBatch] = deque()
        self.handed: deque[HostBatch] = deque()
        self.rest: list[HostBatch] = []  # behind the error
        self.error: Exception | None = None
        self.limit = 0  # samples of a batch that the pipeline takes

    def __call__(self) -> tuple[object, ...]:
        """Arrays of one batch.

        Raises StopIteration at the end, and where nothing can follow what was given.
        """
        batch = self.again.popleft() if self.again else self.next()
        if batch is not None and len(batch.work) > self.limit:
            self.again.appendleft(batch)
            batch = None
        if batch is None:
            raise StopIteration
        self.handed.append(batch)
        return batch.arrays

    def next(self) -> HostBatch | None:
        """None at the end, or for an error. The error is kept until all before it is delivered."""
        try:
            while self.error is None and len(self.reading) <= FETCH_AHEAD:
                work = next(self.works, None)
                if work is None:
                    break
                self.reading.append(
                    work if isinstance(work, Exception) else (work, self.engine.begin(work))
                )
            if self.error is not None or not self.reading:
                return None
            item = self.reading.popleft()
            if isinstance(item, Exception):
                raise item
            work, job = item
            return dali_inputs.make(self.engine.at(work.size), self.engine.pictures, work, job)
        except Exception as error:  # noqa: BLE001  handed to the consumer, whole
            self.error = error
            return None

    def convert(self) -> None:
        """Let Pillow decode all that was given; what it cannot decode is an error in its batch's
        place.
        """
        waiting, self.again = [*self.handed, *self.again], deque()
        self.handed.clear()
        for position, batch in enumerate(waiting):
            try:
                self.again.append(
                    dali_inputs.through_pillow(
                        self.engine.at(batch.work.size), self.engine.pictures, batch
                    )
                )
            except SampleError as error:
                self.error, self.rest = error, waiting[position + 1 :]
                return


class Epoch:
    """An iterator with a pipeline of its own; dropping it before its end ends the pipeline."""

    def __init__(self, engine: DaliEngine, works: Iterator[Work | Exception]) -> None:
        self.engine, self.feed, self.on_bad = engine, Feed(engine, works), engine.on_bad
        self.line: Line | None = None
        self._start()

    def __iter__(self) -> "Epoch":
        return self

    def __next__(self) -> Batch:
        while self.line is not None:
            pipeline = self.line.pipeline
            try:
                outputs = pipeline.outputs(
                    torch.cuda.current_stream() if self.engine.device == "cuda" else None
                )
            except StopIteration:
                self._keep()
                self._start()
            except (RuntimeError, IndexError, ValueError) as error:
                # DALI's. The pipeline cannot be used any more.
                self._recover(error)
            else:
                batch = self.feed.handed.popleft()
                pipeline.schedule_run()
                return self._batch(outputs, batch)
        failed, self.feed.error = self.feed.error, None
        if failed is None:
            raise StopIteration
        self.feed.again.extend(self.feed.rest)
        self.feed.rest = []
        self._start()  # the epoch goes on
        raise failed

    @property
    def ready(self) -> int:
        """Batches that are done: DALI does not tell."""
        return 0

    def close(self) -> None:
        """End the pipeline."""
        self.line, self.feed.works = None, iter(())
        self.feed.reading.clear()

    def _keep(self) -> None:
        """Let the engine have the pipeline, which has given all that it was given."""
        if self.line is not None and not self.engine.own:
            self.line.source.feed = None
            self.engine.kept = self.line
        self.line = None

    def _start(self) -> None:
        """A pipeline for what is to come, or none."""
        self.line, feed = None, self.feed
        if not feed.again and (batch := feed.next()):
            feed.again.append(batch)
        if feed.again:
            first = feed.again[0].work
            feed.limit = max(len(batch.work) for batch in feed.again)
            seed = int(
                np.random.SeedSequence(
                    [first.seed, first.epoch, first.step, first.rank]
                ).generate_state(1)[0]
                >> 1
            )
            self.line = self.engine.line(feed, feed.limit, seed)
            self.line.pipeline.schedule_run()

    def _recover(self, error: Exception) -> None:
        """Go on without DALI's decoders for the batches under way: one of them has a sample that
        they do not take.
        """
        self.line = None
        if not self.feed.handed or self.feed.handed[0].decoded:
            raise BackendError(f"backend dali: {_reason(error)}; use backend='native'") from error
        self.feed.convert()
        self._start()

    def _batch(self, outputs: Sequence[Output], batch: HostBatch) -> Batch:
        images = [
            dali_tail.finish(torch.utils.dlpack.from_dlpack(one.as_tensor()), tail)
            for one, tail in zip(outputs, batch.tails, strict=True)
        ]
        self.on_bad(batch.trouble.report())
        target, how = batch.target, mix_records(self.engine.at(batch.work.size), batch.work)
        if how is not None:
            images, target = (
                [mix(images[0], how)],
                torch.from_numpy(targets(self.engine.plan, batch.work, how)),
            )
        if self.engine.device == "cuda":
            target = target.to(images[0].device, non_blocking=True)
        elif self.engine.pinned:
            images, target = [one.pin_memory() for one in images], target.pin_memory()
        whole = [images if self.engine.plan.views else images[0], target]
        whole += [] if batch.work.valid is None else [torch.from_numpy(batch.work.valid)]
        return mending.without_lost(whole, batch.trouble, len(batch.work))


def _reason(error: Exception) -> str:
    """DALI's own words, without the traceback around them."""
    said = str(error).rpartition("encountered:")[2].splitlines()
    lines = [line.strip() for line in said if line.strip()]
    return lines[0] if lines else type(error).__name__
