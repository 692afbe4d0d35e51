"""The native engine: read, decode, crop, resize, flip, augment and store in C++ threads; Python is entered per batch.

Images that libjpeg-turbo does not take (PNG, CMYK, damaged JPEGs, …) are decoded by Pillow, one by one, and join their batch.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fastload import _native
from fastload.backends import augment, crop, cuda, instructions, store
from fastload.errors import SampleError
from fastload.plan import Plan, records
from fastload.sources.collect import View
from fastload.spec import Stage, Work
from fastload.transforms import pil

exact = True


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why the native engine cannot run `plan`."""
    crops, augmenting = plan.stage(Stage.CROP), plan.stage(Stage.AUGMENT)
    reasons = crop.unsupported(crops) + augment.unsupported(augmenting)
    depth = len(crops) + augment.depth(augmenting)
    if not reasons and depth > _native.MAX_DEPTH:
        reasons.append(f"CROP and AUGMENT make {depth} steps, want up to {_native.MAX_DEPTH}")
    if plan.size_mode != "decode":  # which adds a gather behind all ops
        reasons += store.erased_first(plan.stage(Stage.STORE), plan.size_mode)
    return reasons + store.unsupported(plan.stage(Stage.STORE), device) + cuda.unsupported(plan)


def compile(plan: Plan, device: str) -> "Runner":
    """device "cuda": the host stores uint8 without what ColOut drops (less to send), the GPU normalises, casts and lays out.

    With plan.augment "gpu" it augments too; the host's part ends with the crop.
    """
    last = plan.stage(Stage.STORE)
    height, width = crop.final_size(last[0].spec if last else plan.out)
    table, fills = store.table(last, plan.out.dtype), store.fills(last, plan.out.dtype)
    return Runner(plan, crop.interpolation(plan.stage(Stage.CROP)), height, width, table, fills, on_device=device == "cuda")


class Drawn(NamedTuple):
    """The records of a batch, as `_native.Job.run` takes them; and what the GPU does before STORE."""

    crops: Any
    programs: Any
    rows: Any
    columns: Any
    boxes: Any
    on_device: Any = None  # _native.DevicePrograms; None: nothing


@dataclass(frozen=True)
class Runner:
    """Stateless: a job goes begin → draw → finish, and the engine decides when."""

    plan: Plan
    filter: str
    height: int  # of the crop, px; ColOut stores less
    width: int
    table: Any  # [3, 256] of the output type, or None for uint8
    fills: Any  # [boxes, 3] of the output type, or None: what RandomErasing writes
    on_device: bool

    def at(self, size: int) -> "Runner":
        """The runner of batches whose work has this size, px."""
        plan = self.plan.at(size)
        height, width = crop.final_size(plan.cropped)
        return replace(self, plan=plan, height=height, width=width)

    @property
    def host_dtype(self) -> np.dtype[Any]:
        """What the host writes; the device makes the rest."""
        return np.dtype(np.uint8) if self.on_device or self.table is None else self.table.dtype

    @property
    def host_channels_last(self) -> bool:
        return self.on_device or self.plan.out.channels_last

    def host_shape(self, count: int) -> tuple[int, int, int, int]:
        height, width = crop.final_size(self.plan.out)
        return (count, height, width, 3) if self.host_channels_last else (count, 3, height, width)

    def advise(self, pool: _native.Pool, work: Work) -> None:
        """Ask the system to read the samples ahead: they are ordered, and fetched a few batches later."""
        place = self.plan.source.locate(work.samples)
        pool.advise(self.plan.source.files, place.file, place.offset, place.size)

    def begin(self, pool: _native.Pool, work: Work, seek: View) -> _native.Job:
        """Start reading. seek: the epoch's seek indexes."""
        source, samples = self.plan.source, work.samples
        return pool.fetch(source.files, *source.locate(samples)[:4], seek.locate(samples), seek.collect(samples))

    def draw(self, job: _native.Job, work: Work) -> Drawn:
        """Wait for the samples' sizes, then draw their records."""
        job.wait_fetched()
        jpegs = job.status == _native.OK
        self._redo_foreign(job, work)
        sizes, steps = job.sizes, self.plan.steps
        of: dict[Stage, list[Any]] = {Stage.CROP: [], Stage.AUGMENT: [], Stage.STORE: []}
        for step, record in zip(steps, records(steps, work, sizes), strict=True):
            of[step.op.stage].append(record)
        crops, rows = crop.fold(self.plan.stage(Stage.CROP), of[Stage.CROP], sizes)
        if not crop.no_scaling(self.plan):
            crop.shrink(crops, jpegs)
        cropped = np.broadcast_to(np.array([self.height, self.width], np.int32), sizes.shape)
        parts = [row[:, None] for row in rows] + augment.fold(self.plan.stage(Stage.AUGMENT), of[Stage.AUGMENT], cropped)
        last, stored, programs = self.plan.stage(Stage.STORE), of[Stage.STORE], instructions.joined(parts)
        if self.plan.augment == "gpu":
            return Drawn(crops, None, None, None, None, cuda.programs(programs, self.height, self.width))
        return Drawn(crops, programs, *store.kept(last, stored), store.boxes(last, stored))

    def start(self, job: _native.Job, drawn: Drawn, out: Any) -> None:
        """Start decoding into `out`, an array of host_shape and host_dtype."""
        table = None if self.on_device else self.table
        job.run(
            drawn.crops, self.filter, table, out, self.height, self.width, self.host_channels_last, pil.PASS_ORDER,
            drawn.programs, drawn.rows, drawn.columns, drawn.boxes, self.fills,
        )  # fmt: skip

    def finish(self, job: _native.Job, work: Work, drawn: Drawn, out: Any) -> None:
        """Wait until `out` is whole; raises SampleError for the first sample that nobody can decode."""
        job.wait_done()
        if self._redo_foreign(job, work, drawn.crops):
            # Their records stand: a damaged JPEG's header has given the size that Pillow sees too.
            self.start(job, drawn, out)
            job.wait_done()
            for place in np.flatnonzero(job.status != _native.OK).tolist():
                raise self._error(work, place, job.message(place))

    def _redo_foreign(self, job: _native.Job, work: Work, crops: Any = None) -> bool:
        """Give the job Pillow's pixels for what the native decoder does not take, at the scale of its crop if there is one.

        True if there were any.
        """
        status = job.status
        for place in np.flatnonzero(status == _native.FAILED).tolist():
            raise self._error(work, place, job.message(place))
        foreign = np.flatnonzero(status == _native.FOREIGN).tolist()
        for place in foreign:
            scale = 1 if crops is None else int(crops[place, crop.SCALE])
            try:
                pixels = np.asarray(pil.decode(job.payload(place), scale))
            except pil.DECODE_ERRORS as error:
                raise self._error(work, place, f"cannot be decoded ({error}); mend or remove the file") from error
            job.set_pixels(place, np.ascontiguousarray(pixels), scale)
        return bool(foreign)

    def _error(self, work: Work, place: int, reason: str) -> SampleError:
        sample = int(work.samples[place])
        return SampleError(self.plan.source.name(sample), sample, reason)
