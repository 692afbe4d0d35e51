"""Batches of images of their own sizes, with targets: each sample is a task of its own, in threads
that leave the GIL to others while native code decodes, resizes and stores.
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from typing import NamedTuple, cast

import numpy as np
import torch

from fastload.backends.base import Batch, Engine, WorkOrError
from fastload.engine import tensors, waits
from fastload.engine.gathered import Gathered, Room
from fastload.engine.slots import Ring
from fastload.errors import BackendError, SampleError
from fastload.joint.samples import Maker, Sample
from fastload.plan.bad_samples import Report, Trouble, made
from fastload.plan.plan import Plan
from fastload.spec import Work
from fastload.system import room
from fastload.system.openmp import one_thread
from fastload.system.threads import Threads

Made = list[Sample]
FORKED = (
    "loader: an iterator with workers was opened in another process; call iter() of the loader in "
    "this one"
)


class JointEngine(Engine):
    """Threads and memory of one loader, over all epochs."""

    def __init__(self, plan: Plan, threads: int, depth: int, batch: int, *, pinned: bool) -> None:
        """depth: batches under way; batch: samples of one, of which memory is kept."""
        self.plan, self.depth, self.make = plan, depth, Maker(plan)
        self.stacks = False  # whether the caller stacks samples as PyTorch's default_collate
        self.on_bad: Callable[[Report], object] = bool
        self.ring = Ring((depth + 2) * batch, pinned=pinned)
        self._images, self._masks = (Ring(depth + 2, pinned=pinned) for _ in range(2))
        self.threads = Threads(threads, "fastload-joint", one_thread) if threads else None
        self.process = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this process is a child of the one that has the threads."""
        return os.getpid() != self.process

    def stats(self) -> dict[str, tuple[int, int, int]]:
        """Of all samples so far, by the stages of `joint.clock`."""
        return self.make.clock.stats()

    def epoch(self, works: Iterator[WorkOrError], timeout: float = 0) -> "Batches":
        """Batches of `works`, in order."""
        return Batches(self, works, timeout)

    def memory(self, count: int) -> Room | None:
        """For a batch of so many samples that are stacked; None: each has memory of its own."""
        if not count:
            return None
        images = Gathered(count, self._images, self.ring.take)
        return Room(images, Gathered(count, self._masks, np.empty))

    def one(self, work: Work, position: int, into: Room | None = None) -> Sample:
        """A sample of a batch. Raises SampleError."""
        room.check("an image")
        if into is None:
            return self.make(work, position, self.ring.take)
        takes = (partial(each.take, position) for each in into)
        return self.make(work, position, *takes)

    def all(self, work: Work, into: Room | None = None) -> Made:
        """A batch in the caller's thread. Raises SampleError."""
        return [self.one(work, position, into) for position in range(len(work))]


class Flight(NamedTuple):
    """A batch under way."""

    work: Work
    each: list[Future[Sample]]
    room: Room | None

    def columns(self, made: Made) -> Batch:
        """Images and targets: tensors where samples lie in the batch's own memory, else lists."""
        images = [one.image for one in made]
        targets = cast("list[torch.Tensor]", [one.target for one in made])  # the user's function's
        if self.room is None:
            return [images, targets]
        whole, masks = self.room.images.tensor(images), self.room.masks.tensor(targets)
        if whole is None:
            return [images, targets]
        return [whole, targets if masks is None else masks]


class Batches:
    """An epoch under way. Only the consumer's thread asks the user's sampler."""

    def __init__(self, engine: JointEngine, works: Iterator[WorkOrError], timeout: float) -> None:
        self.engine, self.works, self.timeout = engine, works, timeout
        self.on_bad, self.stacks = engine.on_bad, engine.stacks  # another epoch may have others
        self.flights: deque[Flight | Exception] = deque()
        self.ended = threading.Event()
        weakref.finalize(self, self.ended.set).atexit = False  # what was begun is left out

    def __iter__(self) -> "Batches":
        return self

    @property
    def ready(self) -> int:
        """Batches that are done before they are asked for."""
        return sum(
            isinstance(one, Flight) and all(future.done() for future in one.each)
            for one in list(self.flights)
        )

    def __next__(self) -> Batch:
        if self.engine.forked and self.engine.threads is not None:
            raise BackendError(FORKED)
        self._order()
        try:
            flight = self.flights[0]
            if isinstance(flight, Flight):
                self._wait(flight)
            self.flights.popleft()
        except IndexError:  # the epoch is over, or another thread has ended it meanwhile
            raise StopIteration from None
        if isinstance(flight, Exception):
            raise flight
        made, work, report = self._landed(flight)
        if report.errors:
            self.on_bad(report)
        valid = [] if work.valid is None else [tensors.own(work.valid)]
        return [*flight.columns(made), *valid]

    def close(self) -> None:
        """What has not begun is dropped."""
        self.ended.set()
        self.flights.clear()
        self.works = iter(())

    def _order(self) -> None:
        """Begin batches until as many are under way as may be."""
        depth = self.engine.depth if self.engine.threads else 1
        while len(self.flights) < depth:
            work = next(self.works, None)
            if work is None:
                return
            self.flights.append(work if isinstance(work, Exception) else self._begin(work))

    def _begin(self, work: Work) -> Flight:
        threads, name = self.engine.threads, self.engine.plan.source.name
        into = self.engine.memory(len(work)) if self.stacks else None
        if threads is None:
            return Flight(work, [], into)
        tasks = [
            (position, f"makes {name(sample)}")
            for position, sample in enumerate(work.samples.tolist())
        ]
        task = _Task(self.engine, work, into, self.ended)
        return Flight(work, threads.begin(task, tasks), into)

    def _landed(self, flight: Flight) -> tuple[Made, Work, Report]:
        """The batch as `on_error` has it. Raises SampleError."""
        trouble = Trouble(self.engine.plan.on_error, flight.work)
        count = len(self.engine.plan.source)
        first = [flight]  # its results are used once

        def run(work: Work) -> Made:
            return (
                self._results(first.pop())
                if first and work is flight.work
                else self.engine.all(work)
            )

        batch, work = made(run, trouble, count, 0)
        return batch or [], work, trouble.report()

    def _wait(self, flight: Flight) -> None:
        """Until its samples are there. It stays in `flights`: what a signal raises costs no batch.

        Raises RuntimeError if that takes too long.
        """
        if self.engine.threads is None:
            return
        late = wait(flight.each, self.timeout or None).not_done
        if late:
            running = self.engine.threads.running()
            under_way = {"being made": len(self.flights)}
            cause = waits.stalled(self.timeout, under_way, running, threading.current_thread())
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds") from cause

    def _results(self, flight: Flight) -> Made:
        if self.engine.threads is None:
            return self.engine.all(flight.work, flight.room)
        return [future.result() for future in flight.each]


class _Task:
    """Makes samples of a batch, unless nobody waits for them any more."""

    def __init__(
        self, engine: JointEngine, work: Work, into: Room | None, ended: threading.Event
    ) -> None:
        self.engine, self.work, self.into, self.ended = engine, work, into, ended

    def __call__(self, position: int) -> Sample:
        if self.ended.is_set():
            raise SampleError(self.engine.make.joint.where, -1, "its epoch has ended")
        return self.engine.one(self.work, position, self.into)
