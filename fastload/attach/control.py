"""What the training loop gets at each `next`: the batch; a stop when enough was measured; or, with
--ladder, batches for its rungs.
"""

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fastload.attach import aside, copies, ending, log
from fastload.attach.copies import settled
from fastload.attach.looking import Facts, facts, held, images_in
from fastload.attach.recorder import Recorder

WARM_UP = 5  # steps that count for nothing: first kernels, first files
GRACE = 20  # steps that other ranks may be apart
KEPT = 8  # batches for the step alone
PART = 15  # a rung's replicate is the budget / PART: five turns of three rungs
# Where batches are rare the run goes on beyond its time until there are enough for a verdict:
# this many batches, or turns of the rungs, but no longer than LONGEST times its time.
FEWEST, TURNS, LONGEST = 12, 3, 4
# What tries other loaders on the program's data set, in a child of it. It is imported there, by
# name, because it needs torch.
TRIAL = "fastload.profiler.trial"
TRIAL_SHARE = 0.25  # of the time measured, which it comes on top of
TRIAL_FEWEST, TRIAL_MOST = 3.0, 10.0  # s


class Stopped(SystemExit):
    """Enough was measured. A SystemExit, so that the program ends as by sys.exit(0)."""


@dataclass(frozen=True)
class Limits:
    """When to stop; None: never. ladder: replay batches, which changes the training."""

    steps: int | None = None
    seconds: float | None = None
    ladder: bool = False


@dataclass(frozen=True)
class Subject:
    """What another loader needs to run a program's data set."""

    dataset: Any
    batch_size: int | None
    workers: int
    collate: Callable[..., Any] | None
    init: Callable[[int], Any] | None = None  # of a worker process


class Control:
    """The `turn` of a Recorder."""

    def __init__(
        self, limits: Limits, folder: str, detach: Callable[[], object] = lambda: None
    ) -> None:
        self.limits, self.folder, self.detach = limits, folder, detach
        self.ranks = int(os.environ.get("WORLD_SIZE") or 1)
        self.batches = 0  # of any loader; they stand for steps where no optimiser makes any
        self.started: float | None = None  # when the warm-up was over
        self.rungs: Rungs | None = None
        self.stopped = False
        self.subject: Subject | None = None  # of the loader that was trained on last
        self.copied: int | None = None  # bytes of a batch that the loop copies to a GPU
        self.thread: threading.Thread | None = None  # that trains
        self.process = os.getpid()

    def __call__(
        self, recorder: Recorder, number: int, loader: object, fetch: Callable[[], object]
    ) -> object:
        if self.stopped:  # the program has caught the first one: it is not measured again
            raise Stopped(0)
        progress = recorder.steps_total or self.batches
        if self.thread is None:
            ending.after_main(lambda: self.ended(recorder))
        self.thread = threading.current_thread()
        if self.started is None and progress >= WARM_UP:
            self.started = time.perf_counter()
        if recorder.steps or self.subject is None:
            self.subject = subject(loader)
        if self.done(progress):
            self.stopped = True
            self.end(recorder)
            recorder.finish(stopped=True)
            raise Stopped(0)
        self.batches += 1
        if self.limits.ladder and self.started is not None:
            if self.rungs is None and recorder.steps:
                self.rungs = Rungs(number, (self.limits.seconds or 40.0) / PART, _depth(loader))
            if self.rungs is not None and self.rungs.number == number:
                return self.rungs.next(recorder, fetch)
        batch = recorder.wait(number, fetch)
        if self.copied is None and self.started is not None and recorder.steps_total:
            self.copied = copies.bytes_on_host(batch) if copies.wanted(facts(loader)) else 0
        return batch

    def ended(self, recorder: Recorder) -> None:
        """The main module has ended by itself: not by a crash, which is to be told of at once."""
        if os.getpid() != self.process or self.stopped or hasattr(sys, "last_value"):
            return
        thread = self.thread
        if thread is threading.main_thread() or thread is None or not thread.is_alive():
            recorder.safely(self.end, recorder)

    def end(self, recorder: Recorder) -> None:
        """Time copies, and try other loaders, once, on what was trained on: the program has done
        its work.
        """
        tried, self.subject = self.subject, None
        if self.ranks > 1 or self.started is None:
            return
        if self.copied:
            recorder.tell(copies=copies.measure(self.copied))
        if tried is None:
            return
        share = TRIAL_SHARE * (time.perf_counter() - self.started)
        seconds = min(max(share, TRIAL_FEWEST), TRIAL_MOST)
        recorder.tell(trial=self.trial(tried, seconds))

    def trial(self, tried: Subject, seconds: float) -> Facts:
        """What `fastload.profiler.trial` measures in a child; the reason where it cannot."""

        def work() -> Iterator[Facts]:
            # Wrapped parts of PIL and PyTorch are not what a native engine may stand for.
            self.detach()
            yield from importlib.import_module(TRIAL).measure(tried, seconds)

        if not aside.can():
            return {"tier": None, "why": ["this system does not fork processes"]}
        try:
            answer = aside.run(work, seconds)
        except (OSError, RuntimeError, AssertionError) as error:  # no child: memory, or its daemon
            answer = {"problem": str(error)}
        if "tier" not in answer:
            answer |= {"tier": None, "why": [answer["problem"]]}
        return answer

    def done(self, progress: int) -> bool:
        """Whether enough was seen.

        Ranks agree on a step, or the last ones would wait for the first for ever.
        """
        over = self.limits.steps is not None and progress >= self.limits.steps + WARM_UP
        late = self._late(progress)
        if self.ranks == 1 or over:
            return over or late
        path = os.path.join(self.folder, "stop_at")
        if late and not os.path.exists(path):
            _write_once(path, str(progress + GRACE))
        try:
            with open(path, encoding="ascii") as file:
                return progress >= int(file.read())
        except FileNotFoundError:
            return False

    def _late(self, progress: int) -> bool:
        """Whether the time is over, and enough was seen in it or can no longer be waited for."""
        if self.limits.seconds is None or self.started is None:
            return False
        passed = time.perf_counter() - self.started
        if passed > LONGEST * self.limits.seconds:
            return True
        return passed > self.limits.seconds and self._enough(progress)

    def _enough(self, progress: int) -> bool:
        if self.limits.ladder:
            return self.rungs is not None and self.rungs.turns >= TURNS
        return progress >= WARM_UP + FEWEST


def subject(loader: object) -> Subject | None:
    """Of a loader of PyTorch's; None of any other."""
    if held(loader, "_route") is not None or held(loader, "dataset") is None:
        return None
    batch, workers = held(loader, "batch_size"), held(loader, "num_workers")
    return Subject(
        held(loader, "dataset"),
        batch if type(batch) is int else None,
        workers if type(workers) is int else 0,
        held(loader, "collate_fn"),
        held(loader, "worker_init_fn"),
    )


class Rungs:
    """Loader alone, training, step alone, in turns, within the training loop: one after the other
    for `seconds` each.
    """

    def __init__(self, number: int, seconds: float, depth: int) -> None:
        self.number, self.seconds, self.depth = number, seconds, depth
        self.kept: list[object] = []
        self.rung = "training"
        self.began, self.images, self.last = time.perf_counter(), 0, 0
        self.handed_out = 0
        self.turns = 0  # rungs of the step that are whole: the last one of a turn

    def next(self, recorder: Recorder, fetch: Callable[[], object]) -> object:
        """The loop's next batch."""
        now = time.perf_counter()
        if self.images and now - self.began >= self.seconds:
            now = self.close(recorder)
            self.rung = "step" if self.rung == "training" else "training"
            if self.rung == "training":
                self.alone(recorder, fetch)
            recorder.steps = 0
            self.began = time.perf_counter()
        if self.rung == "step" and self.kept:
            self.handed_out += 1
            batch = self.kept[self.handed_out % len(self.kept)]
        else:
            batch = recorder.wait(self.number, fetch)
            self.kept = [*self.kept[-KEPT + 1 :], batch]
        self.last = images_in(batch)
        self.images += self.last
        return batch

    def alone(self, recorder: Recorder, fetch: Callable[[], object]) -> None:
        """Loader alone; what it had ready counts for nothing.

        An epoch's end raises StopIteration, as for the loop.
        """
        self.rung = "loader"
        for _ in range(self.depth + 1):
            fetch()
        self.began, self.images = time.perf_counter(), 0
        try:
            while time.perf_counter() - self.began < self.seconds:
                self.images += images_in(fetch())
        finally:
            if time.perf_counter() - self.began > self.seconds / 4:
                self.close(recorder)
            self.rung, self.images, self.began = "training", 0, time.perf_counter()

    def close(self, recorder: Recorder) -> float:
        """Write the rung down.

        The last batch has been trained on when the loop asks for the next one.
        """
        now = settled()
        recorder.log.write(
            log.RUNG,
            self.number,
            self.began,
            now - self.began,
            0.0,
            images=self.images,
            name=self.rung,
        )
        self.images = 0
        self.turns += self.rung == "step"
        return now


def _depth(loader: object) -> int:
    """Batches that the loader may hold ready."""
    return int(getattr(loader, "num_workers", 0) or 0) * int(
        getattr(loader, "prefetch_factor", None) or 2
    )


def _write_once(path: str, text: str) -> None:
    """Write a file if no other process has written it; it appears whole or not at all."""
    own = f"{path}.{os.getpid()}"
    with open(own, "w", encoding="ascii") as file:
        file.write(text)
    try:
        os.link(own, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(own)
