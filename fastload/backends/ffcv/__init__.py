"""FFCV's loader (1.0.2) over .beton files: its thread, its compiled and parallel loop. What the loop does to a sample, reading it too, is
the native engine's code, called by address, so the pixels are the same and a JPEG that cannot be decoded is an error. With
device="cuda" it ends with the crop, as natively, and the GPU does what follows.

`fastload.backends.ffcv.ops` has ops for pipelines of FFCV's own.
"""

import ctypes
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastload import _native
from fastload.backends import crop, native
from fastload.errors import BackendError
from fastload.machine import FFCV, INSTALL_FFCV
from fastload.plan import Plan
from fastload.sources import Source, Subset
from fastload.sources.base import Location
from fastload.sources.beton import BetonSource
from fastload.sources.seek_views import View
from fastload.spec import Longs, Work

NEEDS = ("ffcv", "numba")
ELSEWHERE = 'use backend="native"'


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why FFCV cannot run `plan`."""
    reasons = [found] if (found := problem()) else []
    if beton(plan.source)[0] is None:
        what = type(plan.source).__name__
        reasons.append(f"data is {what} ({plan.source.where}), FFCV reads one .beton file; fastload convert SRC x.beton, or {ELSEWHERE}")
    if not crop.no_scaling(plan):
        reasons.append(f"decode_scale 'fast' needs each JPEG's header before its crop is chosen; leave it out, or {ELSEWHERE}")
    if plan.place.decode == "gpu":
        reasons.append(f"decode 'gpu': FFCV's loop decodes; leave decode out, or {ELSEWHERE}")
    if plan.masks is not None:
        reasons.append(f"masks in place of labels are not written for FFCV; {ELSEWHERE}")
    others = '; use backend="torch"' if device == "cpu" else ""
    return reasons + [f"{reason}{others}" for reason in native.unsupported(plan, device)]


def problem() -> str:
    """Why FFCV cannot be used here, and what mends it; "" if it can, as far as that is known without importing it."""
    for name in NEEDS:
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return f"{name} is not installed; {INSTALL_FFCV}"
        if name == "ffcv" and found != FFCV:
            return f"ffcv is {found}, want {FFCV}; {INSTALL_FFCV}"
    return ""


def unloadable() -> str:
    """Why ffcv's own library cannot be loaded, as where OpenCV or TurboJPEG has gone, and what mends it; "" if it can. Imports no ffcv."""
    spec = importlib.util.find_spec("ffcv")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for library in sorted(Path(folder).glob("_libffcv*.so")):
            try:
                ctypes.CDLL(str(library))
            except OSError as error:
                return f"ffcv is installed and its library cannot be loaded ({error}); {INSTALL_FFCV}"
    return ""


def beton(source: Source, samples: Longs | None = None) -> tuple[BetonSource | None, Any]:
    """The FFCV file that a source's samples are of (None if there is none), and their numbers in it."""
    base: Any = source
    while isinstance(base, Subset):
        samples = None if samples is None else base.indices[samples]
        base = base.base
    return base if isinstance(base, BetonSource) else None, samples


def compile(plan: Plan, device: str) -> "Runner":
    made = native.compile(plan, device)
    return Runner(made.plan, made.pictures)


@dataclass(frozen=True)
class Runner(native.Runner):
    """The native runner of batches that FFCV's loop makes."""

    def begin(self, pool: _native.Pool, work: Work, place: Location, seek: View) -> _native.Job:
        """Nothing is read: sizes are in the file's rows."""
        source, samples = self.plan.source, work.samples
        file, numbers = beton(source, samples)
        if file is None:
            raise BackendError(f"{source.where}: is no FFCV file; {ELSEWHERE}")
        return pool.lend(file.sizes(numbers), (source.files, *place[:3]), seek.locate(samples, place.seek), place.raw)


def threads(workers: int) -> int:
    """How many FFCV can have of that many: Numba fixes the most when it starts, and FFCV has always one."""
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
