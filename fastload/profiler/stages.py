"""What each stage costs per image: from the native engine's counters, or by running the reference
stage by stage.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from fastload import lowering
from fastload.errors import FastloadError
from fastload.plan.plan import Plan, plan
from fastload.plan.steps import records
from fastload.profiler.evidence import StageCost
from fastload.sources import Source, raw_pixels, read
from fastload.spec import Json, Stage, Work
from fastload.transforms import pil

COUNTED = "counted in the loader's own threads while it ran alone"
REPLAYED = (
    "fastload's reference ops on a sample of the images, one thread of this process, the "
    "loader stopped"
)
TASKS = Path("/proc/self/task")
CHUNK = 8  # images that go through a stage together


class Deltas:
    """Sums what the stages of `loader.stats()` gained while the context was open."""

    def __init__(self, loader: object) -> None:
        stats: Callable[[], Json] | None = getattr(loader, "stats", None)
        self._stats = stats if callable(stats) else dict[str, Json]
        self._before: Json = {}
        self._sums: dict[str, list[float]] = {}
        # Seconds that this process's other threads waited for a core
        self._late = self._late_before = 0.0

    def _read(self) -> Json:
        stages: Json = self._stats().get("stages", {})
        return stages

    def __enter__(self) -> None:
        self._before, self._late_before = self._read(), threads_starved()

    def __exit__(self, *_: object) -> None:
        self._late += threads_starved() - self._late_before
        for name, now in self._read().items():
            before = self._before.get(name, {"samples": 0, "wall_s": 0.0, "cpu_s": 0.0})
            sums = self._sums.setdefault(name, [0.0, 0.0, 0.0])
            for index, key in enumerate(("samples", "wall_s", "cpu_s")):
                sums[index] += now[key] - before[key]

    def cpu(self) -> float:
        """CPU time of all stages since the loader was made, s."""
        return float(sum(stage["cpu_s"] for stage in self._read().values()))

    def costs(self) -> tuple[StageCost, ...]:
        """Empty if the loader counts nothing."""
        return tuple(
            StageCost(name, wall / count, cpu / count)
            for name, (count, wall, cpu) in self._sums.items()
            if count
        )

    @property
    def starved(self) -> float:
        """Share of the stages' time in which a thread waited for a core; 0 if the loader counts
        nothing.
        """
        wall = sum(wall for _, wall, _ in self._sums.values())
        blocked = sum(wall - cpu for name, (_, wall, cpu) in self._sums.items() if name != "read")
        # Threads that are not the loader's wait for cores too.
        return max(0.0, min(self._late, blocked) / wall) if wall else 0.0


def threads_starved() -> float:
    """Seconds that this process's other threads have waited for a core; 0 where the system does not
    tell.
    """
    own, total = str(threading.get_native_id()), 0.0
    with suppress(OSError):
        for task in os.listdir(TASKS):
            with suppress(OSError, ValueError, IndexError):  # a thread may end meanwhile
                total += (
                    0.0
                    if task == own
                    else int((TASKS / task / "schedstat").read_text(encoding="ascii").split()[1])
                    / 1e9
                )
    return total


def plan_of(loader: object) -> Plan | None:
    """The plan of a loader over a data set that fastload knows, PyTorch's own loaders too."""
    try:
        pipeline, _ = lowering.lower(getattr(loader, "dataset", None))
        return plan(pipeline) if pipeline else None
    except FastloadError:
        return None


def replay(work: Plan, seconds: float) -> tuple[StageCost, ...]:
    """Cost of each stage of the torch backend: read, decode, draw (random numbers), crop, augment,
    store.
    """
    clock = _Clock()
    with _one_thread():
        _chunk(work, 0, _Clock())  # imports and first-touch costs are not the data's
        start, number = time.perf_counter(), 1
        while time.perf_counter() - start < seconds:
            _chunk(work, number, clock)
            number += 1
    return tuple(
        StageCost(name, wall / clock.images, cpu / clock.images)
        for name, (wall, cpu) in clock.sums.items()
    )


class _Clock:
    """Wall and CPU time of this thread, by stage; `lap` gives the time since the last lap to a
    stage.
    """

    def __init__(self) -> None:
        self.images = 0
        self.sums: dict[str, tuple[float, float]] = {}

    def start(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def lap(self, name: str) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        old_wall, old_cpu = self.sums.get(name, (0.0, 0.0))
        self.sums[name] = (old_wall + wall - self._wall, old_cpu + cpu - self._cpu)
        self.start()


def _chunk(work: Plan, number: int, clock: _Clock) -> None:
    """One chunk of images through all stages, as backends/torch.py runs them."""
    source = work.source
    spread = (
        np.random.Generator(np.random.Philox(number))
        .permutation(len(source))[:CHUNK]
        .astype(np.int64)
    )
    clock.start()
    data = [read(source, int(sample)) for sample in spread]
    clock.lap("read")
    images: list[Image.Image | torch.Tensor] = [
        _decode(source, int(sample), encoded) for sample, encoded in zip(spread, data, strict=True)
    ]
    clock.lap("decode")
    sizes = np.array([pil.size(image) for image in images], np.int32)
    drawn = records(work.steps, Work(spread, np.zeros_like(spread), 0, 0, number), sizes)
    clock.lap("draw")
    for step, of_step in zip(work.steps, drawn, strict=True):
        images = [
            pil.apply(step.op, image, record) for image, record in zip(images, of_step, strict=True)
        ]
        clock.lap(Stage(step.stage).name.lower())
    layout = torch.channels_last if work.out.channels_last else torch.contiguous_format
    torch.stack([pil.to_tensor(image) for image in images]).contiguous(memory_format=layout)
    clock.lap("store")
    clock.images += len(spread)


def _decode(source: Source, sample: int, encoded: bytes) -> Image.Image:
    try:
        pixels = raw_pixels(source, sample)
        return pil.decode(encoded) if pixels is None else Image.fromarray(pixels)
    except pil.DECODE_ERRORS as error:
        raise pil.undecodable(source.name(sample), sample, error) from error


@contextmanager
def _one_thread() -> Iterator[None]:
    """torch on one thread, as in a worker process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
