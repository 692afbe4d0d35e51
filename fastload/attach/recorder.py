"""Times the `next` of every loader in this process, and each batch that a worker makes.

Costs some microseconds a batch.
"""

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

from fastload.attach import log, stages, taken
from fastload.attach.looking import Facts, facts, images_in, reference
from fastload.attach.stages import STAGES, Timed

IN_FLIGHT = 64  # waits whose GPU events may be unresolved; older ones are written without


P = ParamSpec("P")
T = TypeVar("T")


class _Event(Protocol):
    """torch.cuda.Event."""

    def record(self) -> None: ...

    def query(self) -> bool: ...

    def elapsed_time(self, end: object, /) -> float: ...


class _Fetcher(Protocol):
    """Of a worker of PyTorch's loader."""

    dataset: object
    collate_fn: Callable[..., object]


class Recorder:
    """One per process and folder.

    turn: decides what the training loop gets, see `control`; only: the loader to look at.
    """

    def __init__(
        self,
        folder: str,
        turn: "Callable[[Recorder, int, object, Callable[[], object]], object]",
        only: object = None,
    ) -> None:
        self.log = log.Log(folder)
        self.turn, self.only = turn, only
        self.steps = 0  # of optimisers, since the last batch
        self.steps_total = 0
        self.inner = False  # inside a `next` already
        self.broken = False  # something of ours has failed; the program goes on unmeasured
        self._numbering = threading.RLock()  # each loader has one, whatever its thread
        self._loaders: dict[int, int] = {}
        # By number: gives the loader, which is the program's to drop.
        self._refs: dict[int, Callable[[], Any]] = {}
        self._facts: list[Facts] = []
        self._said: dict[str, object] = {}
        self._events: deque[tuple[_Event, _Event, Facts]] = deque()
        self._made = 0  # batches, in a worker
        self._since: tuple[float, float] | None = None  # as _took

    def number(self, loader: object) -> int | None:
        """The loader's number in the log; None for one that is not looked at."""
        if self.only is not None and loader is not self.only:
            return None
        if (number := self._loaders.get(id(loader))) is not None:
            return number
        with self._numbering:
            if id(loader) not in self._loaders:
                number = self._loaders[id(loader)] = len(self._facts)
                dropped = partial(self._loaders.pop, id(loader), None)
                self._refs[number] = reference(loader, dropped)
                self._facts.append(facts(loader))
                self.tell()
            return self._loaders[id(loader)]

    def tell(self, **more: object) -> None:
        """Write the facts of this process; what was said once (`more`) stays said."""
        self._said |= more
        environment = {
            name.lower(): os.environ.get(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        }
        self.log.tell({"argv": sys.argv, **environment, "loaders": self._facts, **self._said})

    def finish(self, **more: object) -> None:
        """Write what is in flight, and what the loaders count themselves."""
        if not self.broken:
            self.safely(self._finish, more)

    def _finish(self, more: dict[str, object]) -> None:
        self.resolve()
        for number in self._refs:
            self._count_stages(number)
        if self._facts or more:
            self.tell(**more, **self._took())

    def _took(self) -> dict[str, object]:
        """CPU time of loaders' Python threads, in the time since the first batch, s."""
        if self._since is None:
            return {}
        start, before = self._since
        wall, python = time.perf_counter() - start, taken.python_seconds() - before
        return {"taken": {"wall_s": wall, "python_s": python}}

    def _count_stages(self, number: int) -> None:
        """Of fastload's own loaders."""
        loader = self._refs[number]()
        if loader is not None and self._facts[number]["backend"] == "native":
            self._facts[number]["stages"] = loader.stats()["stages"]

    def step(self, *_: object) -> None:
        """An optimiser has done a step."""
        self.steps += 1
        self.steps_total += 1

    def next(self, loader: object, fetch: Callable[[], object]) -> object:
        """fetch(), timed. `turn` decides what the training loop gets for it.

        Raises what fetch raises, and nothing else.
        """
        number = None if self.inner or self.broken else self.safely(self.number, loader)
        if number is None:
            return fetch()
        self.inner = True
        fetched = _Fetched(fetch)
        try:
            return self.turn(self, number, loader, fetched)
        except Exception as error:
            if fetched.raised(error):
                raise
            self._fail(error)
        finally:
            self.inner = False
        return fetched.batches.pop() if fetched.batches else fetch()

    def safely(self, call: Callable[P, T], *arguments: P.args, **more: P.kwargs) -> T | None:
        """Run a call of ours beside the program's own work. If it fails, the program goes on."""
        try:
            return call(*arguments, **more)
        except Exception as error:  # noqa: BLE001
            self._fail(error)
            return None

    def _fail(self, error: Exception) -> None:
        if not self.broken:
            self.broken = True
            print(
                f"fastload: profile: process {os.getpid()} is not measured any more ({error!r})",
                file=sys.stderr,
            )

    def wait(self, number: int, fetch: Callable[[], object]) -> object:
        """fetch(), timed and written down."""
        before = _event()
        start, cpu = time.perf_counter(), time.thread_time()
        self._since = self._since or (start, taken.python_seconds())
        steps, self.steps = self.steps, 0
        try:
            batch = fetch()
        except StopIteration:
            self.log.write(log.END, number, start, time.perf_counter() - start, 0.0, steps=steps)
            self._count_stages(number)
            raise
        record: Facts = {
            "kind": log.WAIT, "loader": number, "t": start, "wall": time.perf_counter() - start,
            "cpu": time.thread_time() - cpu, "images": images_in(batch), "steps": steps,
        }  # fmt: skip
        if before is None or (after := _event()) is None:
            self.log.write(**record)
        else:
            self._events.append((before, after, record))
            self.resolve(IN_FLIGHT)
        return batch

    def resolve(self, most: int = 0) -> None:
        """Write the waits whose GPU events are done, and others until `most` are left.

        Between two events around `next` an idle GPU lets time pass, a busy one none.
        """
        while self._events and (len(self._events) > most or self._events[0][1].query()):
            before, after, record = self._events.popleft()
            idle = before.elapsed_time(after) / 1e3 if after.query() else log.UNKNOWN
            if not math.isnan(idle):
                idle = min(idle, record["wall"])
            self.log.write(**record, idle=idle)

    def make_batch(self, fetcher: _Fetcher, fetch: Callable[[], object]) -> object:
        """A batch made by a worker, or by num_workers=0: timed, and now and then split."""
        begun = None if self.broken else self.safely(self._begin, fetcher)
        if begun is None:
            return fetch()
        try:
            batch = fetch()
        finally:
            ended = self.safely(self._end, begun)
        if ended is not None:
            self.safely(self._write_made, begun, ended, images_in(batch))
        return batch

    def _begin(self, fetcher: _Fetcher) -> "_Making":
        self._made += 1
        deep = self._made % stages.DEEP_EVERY == 2
        # A worker's copy of the data set stays split; the user's own is put back after each batch.
        undo = stages.split_transforms(fetcher.dataset) if deep or self._made == 1 else []
        begun = _Making(deep, undo, stages.starved(), time.perf_counter(), time.thread_time())
        if deep:
            STAGES.start()
        return begun

    def _end(self, begun: "_Making") -> "tuple[float, float, Mapping[str, list[float]]]":
        """Wall and CPU seconds, and those of each stage."""
        wall, cpu = time.perf_counter() - begun.start, time.thread_time() - begun.cpu
        costs: Mapping[str, list[float]] = STAGES.stop() if begun.deep else {}
        if begun.undo and not _in_worker():
            stages.join_transforms(begun.undo)
        return wall, cpu, costs

    def _write_made(
        self, begun: "_Making", ended: "tuple[float, float, Mapping[str, list[float]]]", images: int
    ) -> None:
        wall, cpu, costs = ended
        start, late = begun.start, begun.late
        self.log.write(
            log.FETCH, 0, start, wall, cpu, starved=stages.starved() - late, images=images
        )
        for name, (stage_wall, stage_cpu) in costs.items():
            self.log.write(log.STAGE, 0, start, stage_wall, stage_cpu, images=images, name=name)


class _Making(NamedTuple):
    """A batch that is being made."""

    deep: bool  # it is split into stages
    undo: list[stages.Split]
    late: float  # s that the thread had waited for a core
    start: float
    cpu: float


class _Fetched:
    """The loop's own `next`, which remembers what it gave and raised."""

    def __init__(self, fetch: Callable[[], object]) -> None:
        self.fetch = fetch
        self.batches: list[object] = []  # the last one
        self.error: int | None = None  # the id: the exception itself would hold this frame

    def __call__(self) -> object:
        self.batches.clear()
        try:
            batch = self.fetch()
        except BaseException as error:
            self.error = id(error)
            raise
        self.batches.append(batch)
        return batch

    def raised(self, error: Exception) -> bool:
        return self.error == id(error)


def time_collate(fetcher: _Fetcher) -> None:
    """Make the collate function of a new fetcher a stage."""
    if type(fetcher.collate_fn) is not Timed:
        fetcher.collate_fn = Timed(fetcher.collate_fn, "collate")


def _in_worker() -> bool:
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _event() -> "_Event | None":
    """A mark in the current stream of the GPU; None where the program uses no GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    event: _Event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
