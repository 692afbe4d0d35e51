"""What a loader has counted at a moment: read from its own counters, batch by batch nothing."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from fastload.loader.base import BaseLoader
from fastload.loader.explaining import possible
from fastload.metrics import following
from fastload.metrics.pace import Standing
from fastload.sources.base import remote
from fastload.spec import Json


@dataclass(frozen=True)
class Facts:
    """Sums since the loader was made, and where it is."""

    at: float  # s, of time.perf_counter
    counts: Json  # of the meter
    stages: Mapping[str, tuple[int, int, int]]  # samples, ns of wall time, ns of CPU time
    decoded: Mapping[str, int]  # images by way
    possible: float | None  # images/s
    store: Json | None  # requests, bytes and the like; None: the data lie on a disk
    epoch: int  # from 0
    step: int  # batches of the epoch that were handed out
    steps: int | None  # of an epoch; None: not known
    run: Standing | None  # beside its plan; None: it has none


def facts(loader: BaseLoader[object], steps: int | None) -> Facts:
    """Reads counters only. The consumer's thread may count meanwhile.

    steps: batches of an epoch, where known.
    """
    engine, source, progress = loader._engine, loader._source, loader._progress
    stages = engine.stats() if engine else {}
    far = None if source is None else remote(source)
    return Facts(
        at=time.perf_counter(),
        counts=loader._meter.as_dict(),
        stages=stages,
        decoded=engine.ways() if engine else {},
        possible=possible(stages, loader.num_workers),
        store=None if far is None else far.access.store.traffic.as_dict(),
        epoch=progress.epoch,
        step=progress.step,
        steps=steps,
        run=following.standing(loader),
    )
