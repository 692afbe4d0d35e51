"""Times the `next` of every loader in this process, and each batch that a worker makes. Costs some microseconds a batch."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from fastload.attach import log, stages
from fastload.attach.stages import STAGES, Timed

IN_FLIGHT = 64  # waits whose GPU events may be unresolved; older ones are written without


class Recorder:
    """One per process and folder. turn: decides what the training loop gets, see `control`; only: the loader to look at."""

    def __init__(self, folder: str, turn: "Callable[[Recorder, int, Any, Callable[[], Any]], Any]", only: Any = None) -> None:
        self.log = log.Log(folder)
        self.turn, self.only = turn, only
        self.steps = 0  # of optimisers, since the last batch
        self.steps_total = 0
        self.inner = False  # inside a `next` already
        self._loaders: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other loader gets the id of a dead one
        self._facts: list[dict[str, Any]] = []
        self._said: dict[str, Any] = {}
        self._events: deque[tuple[Any, Any, dict[str, Any]]] = deque()
        self._made = 0  # batches, in a worker

    def number(self, loader: Any) -> int | None:
        """The loader's number in the log; None for one that is not looked at."""
        if self.only is not None and loader is not self.only:
            return None
        if id(loader) not in self._loaders:
            self._loaders[id(loader)] = len(self._facts)
            self._kept.append(loader)
            self._facts.append(facts(loader))
            self.tell()
        return self._loaders[id(loader)]

    def tell(self, **more: Any) -> None:
        """Write the facts of this process; what was said once (`more`) stays said."""
        self._said |= more
        environment = {name.lower(): os.environ.get(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
        self.log.tell({"argv": sys.argv, **environment, "loaders": self._facts, **self._said})

    def finish(self, **more: Any) -> None:
        """Write what is in flight, and what the loaders count themselves."""
        self.resolve()
        for place, loader in enumerate(self._kept):
            stats = getattr(loader, "stats", None)
            if callable(stats) and self._facts[place]["backend"] == "native":
                self._facts[place]["stages"] = stats()["stages"]
        if self._facts or more:
            self.tell(**more)

    def step(self, *_: object) -> None:
        """An optimiser has made a step."""
        self.steps += 1
        self.steps_total += 1

    def next(self, loader: Any, fetch: Callable[[], Any]) -> Any:
        """fetch(), timed; what the training loop gets in its place is `turn`'s to say. Raises what fetch raises."""
        number = None if self.inner else self.number(loader)
        if number is None:
            return fetch()
        self.inner = True
        try:
            return self.turn(self, number, loader, fetch)
        finally:
            self.inner = False

    def wait(self, number: int, fetch: Callable[[], Any]) -> Any:
        """fetch(), timed and written down."""
        before = _event()
        start, cpu = time.perf_counter(), time.thread_time()
        steps, self.steps = self.steps, 0
        try:
            batch = fetch()
        except StopIteration:
            self.log.write(log.END, number, start, time.perf_counter() - start, 0.0, steps=steps)
            raise
        record: dict[str, Any] = {
            "kind": log.WAIT, "loader": number, "t": start, "wall": time.perf_counter() - start,
            "cpu": time.thread_time() - cpu, "images": images_in(batch), "steps": steps,
        }  # fmt: skip
        if before is None:
            self.log.write(**record)
        else:
            self._events.append((before, _event(), record))
            self.resolve(IN_FLIGHT)
        return batch

    def resolve(self, most: int = 0) -> None:
        """Write the waits whose GPU events are done, and others until `most` are left.

        Between two events around `next` an idle GPU lets time pass, a busy one none.
        """
        while self._events and (len(self._events) > most or self._events[0][1].query()):
            before, after, record = self._events.popleft()
            idle = before.elapsed_time(after) / 1e3 if after.query() else log.UNKNOWN
            self.log.write(**record, idle=min(idle, record["wall"]) if idle == idle else idle)  # noqa: PLR0124  NaN

    def made(self, fetcher: Any, fetch: Callable[[], Any]) -> Any:
        """A batch made by a worker, or by num_workers=0: timed, and now and then split into stages."""
        self._made += 1
        deep = self._made % stages.DEEP_EVERY == 2
        # A worker's copy of the data set stays split; the user's own is put back after each batch.
        undo = stages.split_transforms(fetcher.dataset) if deep or self._made == 1 else []
        late, start, cpu = stages.starved(), time.perf_counter(), time.thread_time()
        if deep:
            STAGES.start()
        try:
            batch = fetch()
        finally:
            found: Mapping[str, list[float]] = STAGES.stop() if deep else {}
            if undo and not _in_worker():
                stages.join_transforms(undo)
        wall, cpu = time.perf_counter() - start, time.thread_time() - cpu
        images = images_in(batch)
        self.log.write(log.FETCH, 0, start, wall, cpu, starved=stages.starved() - late, images=images)
        for name, (stage_wall, stage_cpu) in found.items():
            self.log.write(log.STAGE, 0, start, stage_wall, stage_cpu, images=images, name=name)
        return batch


def time_collate(fetcher: Any) -> None:
    """Make the collate function of a new fetcher a stage."""
    if not isinstance(fetcher.collate_fn, Timed):
        fetcher.collate_fn = Timed(fetcher.collate_fn, "collate")


def facts(loader: Any) -> dict[str, Any]:
    """What a reader wants to know of a loader."""
    found = {name: getattr(loader, name, None) for name in ("num_workers", "batch_size", "prefetch_factor", "pin_memory")}
    plain = {name: value for name, value in found.items() if isinstance(value, int)}
    return {**plain, "type": type(loader).__name__, "dataset": type(getattr(loader, "dataset", None)).__name__, "backend": _backend(loader)}


def images_in(batch: Any, depth: int = 4) -> int:
    """Images in a batch: the length of its first tensor, or of the batch; 1 where nothing has a length."""
    found = _tensor(batch, depth)
    try:
        return len(batch if found is None else found)
    except TypeError:
        return 1


def _tensor(batch: Any, depth: int) -> Any:
    if hasattr(batch, "ndim") and hasattr(batch, "shape"):
        return batch if batch.ndim else None
    if not depth:
        return None
    parts = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, (list, tuple)) else ()
    return next((found for part in parts if (found := _tensor(part, depth - 1)) is not None), None)


def _backend(loader: Any) -> str | None:
    return getattr(getattr(loader, "_route", None), "backend", None)


def _in_worker() -> bool:
    from torch.utils.data import get_worker_info

    return get_worker_info() is not None


def _event() -> Any:
    """A mark in the current stream of the GPU; None where the program uses no GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
