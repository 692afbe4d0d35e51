"""FFCV's loader (1.0.2) over .beton files: its thread, its compiled and parallel loop. What the
loop does to a sample, reading it too, is the native engine's code, called by address, so the pixels
are the same and a JPEG that cannot be decoded is an error. With device="cuda" it ends with the
crop, as natively, and the GPU does what follows.

`fastload.backends.ffcv.ops` has ops for pipelines of FFCV's own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload import _native
from fastload.backends.ffcv.installed import problem
from fastload.backends.native import crop
from fastload.backends.native import runner as native
from fastload.errors import BackendError
from fastload.plan.plan import Plan
from fastload.sources import Source, Subset
from fastload.sources.base import Location
from fastload.sources.beton import BetonSource
from fastload.sources.seek_views import View
from fastload.spec import Longs, Work

ELSEWHERE = 'use backend="native"'


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why FFCV cannot run `plan`."""
    reasons = [missing] if (missing := problem()) else []
    if beton(plan.source)[0] is None:
        reasons.append(
            f"data is no FFCV file (got {plan.source.where}); run fastload convert SRC x.beton, "
            f"or {ELSEWHERE}"
        )
    if not crop.no_scaling(plan):
        reasons.append(
            "decode_scale 'fast' needs each JPEG's header before its crop is chosen; leave it "
            f"out, or {ELSEWHERE}"
        )
    if plan.placement.decode == "gpu":
        reasons.append(f"decode 'gpu': FFCV's loop decodes; leave decode out, or {ELSEWHERE}")
    if plan.masks is not None:
        reasons.append(f"masks in place of labels are not written for FFCV; {ELSEWHERE}")
    if plan.by_part:
        reasons.append(f"ops of a mix's parts are not written for FFCV; {ELSEWHERE}")
    if plan.target is not None:
        reasons.append(f"target in place of labels is not written for FFCV; {ELSEWHERE}")
    if any(picture.out.channels == 1 for picture in plan.pictures):
        reasons.append(f"images of one channel are not written for FFCV; {ELSEWHERE}")
    others = '; use backend="torch"' if device == "cpu" else ""
    return reasons + [f"{reason}{others}" for reason in native.unsupported(plan, device)]


def beton(source: Source, samples: Longs | None = None) -> tuple[BetonSource | None, Longs | None]:
    """The FFCV file that a source's samples are of (None if there is none), and their numbers in
    it.
    """
    while isinstance(source, Subset):
        samples = None if samples is None else source.indices[samples]
        source = source.base
    return source if isinstance(source, BetonSource) else None, samples


def compile(plan: Plan, device: str) -> "Runner":
    runner = native.compile(plan, device)
    return Runner(runner.plan, runner.pictures)


@dataclass(frozen=True)
class Runner(native.Runner):
    """The native runner of batches that FFCV's loop makes."""

    def begin(self, pool: _native.Pool, work: Work, location: Location, seek: View) -> _native.Job:
        """Nothing is read: sizes are in the file's rows."""
        source, samples = self.plan.source, work.samples
        file, numbers = beton(source, samples)
        if file is None or numbers is None:
            raise BackendError(f"{source.where}: is no FFCV file; {ELSEWHERE}")
        return pool.lend(
            file.sizes(numbers),
            (source.files, *location[:3]),
            seek.locate(samples, location.seek),
            location.raw,
        )


def threads(workers: int) -> int:
    """How many FFCV can have of that many:

    Numba fixes the most when it starts, and FFCV has always one.
    """
    from numba import config

    most: Any = config
    return int(np.clip(workers, 1, most.NUMBA_NUM_THREADS))


def loop(plan: Plan, workers: int) -> Any:
    """FFCV's part: see `driver.Loop`. Raises BackendError."""
    source, _ = beton(plan.source)
    if source is None:
        raise BackendError(f"{plan.source.where}: is no FFCV file; {ELSEWHERE}")
    from fastload.backends.ffcv import imports

    imports.load()
    from fastload.backends.ffcv.driver import Loop

    return Loop(source, threads(workers))
