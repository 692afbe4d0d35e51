"""The native backend: read, decode, crop, resize, flip, augment and store in C++ threads; Python is
entered per batch.

A batch goes begin, draw, start, finish; the engine decides when. Images that the native decoder
does not take are decoded by Pillow, one by one, and join their batch (undecoded.py).
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

from fastload import _native, rng
from fastload.backends import foreign, mending
from fastload.backends.native import augment, crop, cuda, store, undecoded
from fastload.backends.native.picture import Drawn, Kit, Picture, picture
from fastload.plan.bad_samples import Trouble
from fastload.plan.batch import mix_records
from fastload.plan.placement import Placement
from fastload.plan.plan import Plan
from fastload.sources import layered
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Array, Ints, Size, Stage, Work

if TYPE_CHECKING:
    import torch


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why the native engine cannot run `plan`."""
    if _native.MISSING:
        return [_native.MISSING]
    reasons = plan.every(_unsupported) + cuda.unsupported(plan, plan.placement)
    one = any(picture.out.channels == 1 for picture in plan.pictures)
    return reasons + ["images of one channel are stored by the CPU alone"] * (
        one and device != "cpu"
    )


def _unsupported(plan: Plan) -> list[str]:
    crops, augmenting = plan.stage(Stage.CROP), plan.stage(Stage.AUGMENT)
    reasons = crop.unsupported(crops) + augment.unsupported(augmenting)
    depth = len(crops) + augment.depth(augmenting)
    if not reasons and depth > _native.MAX_DEPTH:
        reasons.append(f"CROP and AUGMENT make {depth} steps, want up to {_native.MAX_DEPTH}")
    if plan.mix and store.noise(plan.stage(Stage.STORE), plan.out.dtype)[0] is not None:
        reasons.append(
            "RandomErasing's noise is not mixed natively; erase with a value, or leave out mix"
        )
    if plan.size_mode != "decode":  # which adds a gather behind all ops
        reasons += store.erased_first(plan.stage(Stage.STORE), plan.size_mode)
    return reasons + store.unsupported(plan.stage(Stage.STORE))


def compile(plan: Plan, device: str) -> "Runner":
    """device "cuda": the host stores uint8 without what ColOut drops (less to send), the GPU
    erases, mixes, normalises, casts and lays out. With plan.augment "gpu" it augments and drops
    too; the host's part ends with the crop.
    """
    return Runner(plan, tuple(picture(one, device) for one in plan.pictures))


class Outs(NamedTuple):
    """Memory for a batch, of each picture."""

    arrays: list[Array]  # host_shape, host_dtype
    images: "list[torch.Tensor] | None"  # over these, as the caller gets them; None: not yet made


@dataclass(frozen=True)
class Runner:
    """Without state: what changes is in the batches that it draws."""

    plan: Plan
    pictures: tuple[Picture, ...]

    def at(self, size: Size) -> "Runner":
        """The runner of batches whose work has this size, px."""
        plan = self.plan.at(size)
        pairs = zip(self.pictures, plan.pictures, strict=True)
        return replace(self, plan=plan, pictures=tuple(a.at(b) for a, b in pairs))

    def placed(self, placement: Placement) -> "Runner":
        """The runner of batches with this placement; their pixels are the same."""
        if placement == self.plan.placement:
            return self
        plan = self.plan.placed(placement)
        pairs = zip(self.pictures, plan.pictures, strict=True)
        return replace(self, plan=plan, pictures=tuple(replace(a, plan=b) for a, b in pairs))

    def advise(
        self, pool: _native.Pool, work: Work, location: Location, seek: View, *, later: bool
    ) -> None:
        """Ask the system to read ahead what is not read at once.

        later: the samples are fetched after those of other batches.
        """
        files = self.plan.source.files
        if later:
            own = seek.locate(work.samples, location.seek)
            layers = layered.likely(location, own)
            pool.advise(files, *(column[~layers] for column in location[:3]))
            if own is not None and layers.any():
                pool.advise(own.files, *(column[layers] for column in own[1:]))
        for beside in self.plan.target.fields(self.plan.source) if self.plan.target else ():
            if any(way.data is not None for way in beside.every_way()):
                continue
            # Whoever hands the batch out reads them one by one
            offset, size = beside.offset[work.samples], beside.size[work.samples]
            pool.advise(files, location.file, offset, size)

    def begin(self, pool: _native.Pool, work: Work, location: Location, seek: View) -> _native.Job:
        """Start reading. location: where the work's samples lie; seek: the epoch's seek indexes."""
        samples = work.samples
        return pool.fetch(
            self.plan.source.files, *location[:4], seek=seek.locate(samples, location.seek),
            collect=seek.collect(samples), raw=location.raw,
        )  # fmt: skip

    @cached_property
    def goes_on(self) -> bool:
        """Whether a job may draw by itself, without a look of Python's at its images."""
        plan = self.plan
        plain = all(not picture.on_device for picture in self.pictures)
        plain = plain and plan.checked is None
        return plain and plan.masks is None and bool(crop.no_scaling(plan))

    def ahead(self, job: _native.Job, work: Work, take: Callable[[], Outs]) -> "DrawnBatch | None":
        """The batch that a job which reads makes by itself, into arrays as `start` takes them; None
        where it is drawn by Python.
        """
        if not self.goes_on:
            return None
        kit = self.pictures[0].kit(len(work)) if len(self.pictures) == 1 else None
        if kit is not None:
            return self._follow(job, work, kit, take())
        found = [picture.ahead(work) for picture in self.pictures]
        ready = [each for each in found if each is not None]
        if len(ready) < len(found):
            return None
        drawn, outs = [each for _, each in ready], take()
        job.then(
            [one.work(out) for one, out in zip(drawn, outs.arrays, strict=True)],
            [runs for runs, _ in ready], seed=work.seed, epoch=work.epoch,
            most_pixels=Image.MAX_IMAGE_PIXELS or 0,
        )  # fmt: skip
        return DrawnBatch(
            self, job, work, Trouble(self.plan.on_error, work), drawn, outs.arrays, outs.images
        )

    def _follow(self, job: _native.Job, work: Work, kit: Kit, outs: Outs) -> "DrawnBatch":
        """The same of one picture, with records that earlier batches had."""
        plan = self.pictures[0].plan
        how, seen = mix_records(plan, work), plan.of_view(work)
        self.pictures[0].drawing.give(seen, kit.given)
        partners = how.rows() if how and how.moves else None
        job.follow(
            kit.native, outs.arrays[0], seen.samples, seen.occurrences, partners, seed=work.seed,
            epoch=work.epoch, step=rng.batch_step(seen), rank=seen.rank,
            most_pixels=Image.MAX_IMAGE_PIXELS or 0,
        )  # fmt: skip
        drawn = kit.drawn if how is None else kit.drawn._replace(mix=how)
        if partners is not None:  # for samples that Pillow decodes: then the job runs again
            drawn = drawn._replace(store=store.mixed(drawn.store, partners))
        trouble = Trouble(self.plan.on_error, work)
        return DrawnBatch(self, job, work, trouble, [drawn], outs.arrays, outs.images, kit)

    def draw(self, job: _native.Job, work: Work) -> "DrawnBatch":
        """Wait for the samples' sizes, then draw each picture's records. Raises SampleError."""
        trouble = Trouble(self.plan.on_error, work)
        batch = DrawnBatch(self, job, work, trouble)
        job.wait_fetched()
        encoded_ok, jpegs = job.status == _native.OK, job.jpegs.astype(np.bool_)
        _, bad = batch.through_pillow()
        bad += foreign.too_large(self.plan.source, work, job.sizes, encoded_ok)
        if self.plan.checked is not None:
            known = {position for position, _ in bad}
            beside = self.plan.checked.bad(self.plan.source, work.samples)
            bad += [one for one in beside if one[0] not in known]
        bad.sort(key=operator.itemgetter(0))
        work, encoded = mending.mended(job, self.plan, work, bad, trouble)
        sizes = job.sizes
        drawn = [picture.draw(work, sizes) for picture in self.pictures]
        if not crop.no_scaling(self.plan):
            jpegs &= ~self.plan.source.locate(work.samples).is_raw
            jpegs[list(encoded)] = True
            crop.shrink([one.crops.rows for one in drawn], jpegs)
            mending.scale(job, encoded, drawn[0].crops.rows)
        batch.work, batch.drawn = work, drawn
        return batch


@dataclass
class DrawnBatch:
    """One batch whose records are drawn; one thread at a time has it."""

    runner: Runner  # of the work's size and placement
    job: _native.Job
    work: Work  # with the samples that stand in for bad ones
    trouble: Trouble
    drawn: list[Drawn] = field(default_factory=list)  # of each picture
    outs: list[Array] = field(default_factory=list)  # of each: host_shape, host_dtype
    images: list["torch.Tensor"] | None = None  # over `outs`, where they are made before the pixels
    kit: Kit | None = None  # of the records, until the pixels are there

    def start(self, outs: list[Array]) -> None:
        """Start decoding into `outs`, of each picture an array of its host_shape and host_dtype.

        What is late comes in `finish`.
        """
        self.outs = outs
        self.job.run([one.work(out) for one, out in zip(self.drawn, outs, strict=True)])

    def whole(self) -> bool:
        """Wait for the job. True: `outs` are whole, and nothing is left to do for others."""
        regular = self.job.wait_done()
        if regular and self.kit is not None:
            self.runner.pictures[0].kits.append(self.kit)
            self.kit = None
        return regular

    def finish(self) -> None:
        """Wait until `outs` are whole: the work and the records are those of what is in them.

        Raises SampleError for the first sample that nobody can decode, where bad samples raise.
        """
        asked: set[int] = set()  # what Pillow was asked for: it has the last word
        while not self.whole():
            foreign, bad = self.through_pillow(self.drawn[0].crops.rows, asked)
            bad = [
                (position, error) for position, error in bad if position not in self.trouble.lost
            ]
            if bad:
                plan = self.runner.plan
                self.work, encoded = mending.mended(self.job, plan, self.work, bad, self.trouble)
                self._draw_again([position for position, _ in bad], encoded)
            elif not foreign:
                return
            # The others' records stand: a damaged JPEG's header has given the size that Pillow sees
            # too.
            self.start(self.outs)

    def through_pillow(
        self, crops: Ints | None = None, asked: set[int] | None = None
    ) -> tuple[bool, undecoded.Errors]:
        """See `undecoded.through_pillow`."""
        if self.job.regular:  # as nearly always
            return False, []
        functions = any(picture.functions for picture in self.runner.pictures)
        return undecoded.through_pillow(
            self.job, self.runner.plan, self.work, functions=functions, crops=crops, asked=asked
        )

    def _draw_again(self, positions: list[int], encoded: dict[int, bytes]) -> None:
        """The records, with those of other samples at these positions."""
        work, job = self.work, self.job
        fresh = [picture.draw(work, job.sizes) for picture in self.runner.pictures]
        jpegs = np.zeros(len(work), np.bool_)
        jpegs[list(encoded)] = True
        if not crop.no_scaling(self.runner.plan):
            crop.shrink([one.crops.rows for one in fresh], jpegs)
        others = np.setdiff1d(np.arange(len(work)), positions)
        for new, old in zip(fresh, self.drawn, strict=True):
            new.crops.rows[others] = old.crops.rows[others]  # at the scales that they have
        mending.scale(job, encoded, fresh[0].crops.rows)
        self.drawn = fresh
