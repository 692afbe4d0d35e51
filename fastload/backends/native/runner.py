"""The native engine: read, decode, crop, resize, flip, augment and store in C++ threads; Python is
entered per batch.

Images that libjpeg-turbo does not take (PNG, CMYK, damaged JPEGs, …) are decoded by Pillow, one
by one, and join their batch.
"""

import operator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.backends import foreign, mending
from fastload.backends import torch as reference
from fastload.backends.native import augment, crop, cuda, instructions, store
from fastload.errors import SampleError
from fastload.plan.bad_samples import Trouble
from fastload.plan.placement import Placement
from fastload.plan.plan import Plan, mixed
from fastload.sources.base import Location
from fastload.sources.seek_views import View
from fastload.spec import Array, Ints, Stage, Work
from fastload.transforms import pil
from fastload.transforms.mix_records import MixRecords


def unsupported(plan: Plan, device: str = "cpu") -> list[str]:
    """Every reason why the native engine cannot run `plan`."""
    return plan.every(_unsupported) + cuda.unsupported(plan, plan.place)


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
    return Runner(plan, tuple(_picture(one, device) for one in plan.pictures))


def _picture(plan: Plan, device: str) -> "Picture":
    last = plan.stage(Stage.STORE)
    height, width = crop.final_size(last[0].spec if last else plan.out)
    tables, functions = (
        store.tables(last, plan.out.dtype),
        augment.functions(plan.stage(Stage.AUGMENT)),
    )
    return Picture(
        plan,
        crop.interpolation(plan.stage(Stage.CROP)),
        height,
        width,
        tables,
        functions,
        on_device=device == "cuda",
    )


class Drawn(NamedTuple):
    """The records of a batch in one picture: what the host does, and what the GPU does."""

    crops: _native.CropRecords
    programs: _native.Programs | None  # of the host
    store: _native.StoreRecords  # of the host
    mixed: MixRecords | None  # what becomes of the labels; None: nothing is mixed
    on_device: cuda.OnDevice | None = None  # None: there is no GPU

    def work(self, out: Array) -> _native.PictureWork:
        """These records, made into `out`, an array of the picture's host_shape and host_dtype."""
        return _native.PictureWork(self.crops, self.store, out, self.programs)


@dataclass(frozen=True)
class Picture:
    """How one of the pictures that a sample becomes is made; mostly there is one."""

    plan: Plan
    filter: str
    height: int  # of the crop, px; ColOut stores less
    width: int
    tables: store.Tables
    functions: _native.Functions | None  # of the users' ops
    on_device: bool

    def at(self, plan: Plan) -> "Picture":
        """The same by a plan of another size."""
        height, width = crop.final_size(plan.cropped)
        return replace(self, plan=plan, height=height, width=width)

    @property
    def host_dtype(self) -> np.dtype[np.generic]:
        """What the host writes; the device makes the rest."""
        table = self.tables.values
        return np.dtype(np.uint8) if self.on_device or table is None else table.dtype

    @property
    def host_channels_last(self) -> bool:
        return self.on_device or self.plan.out.channels_last

    def host_shape(self, count: int) -> tuple[int, int, int, int]:
        # A GPU that augments drops rows and columns after that.
        gpu = self.on_device and self.plan.augment == "gpu"
        height, width = (self.height, self.width) if gpu else crop.final_size(self.plan.out)
        return (count, height, width, 3) if self.host_channels_last else (count, 3, height, width)

    def draw(self, work: Work, sizes: Ints) -> Drawn:
        """Records for images of `sizes` int32 [N, 2], px; at full scale."""
        of: dict[Stage, list[Array]] = {Stage.CROP: [], Stage.AUGMENT: [], Stage.STORE: []}
        for step, record in zip(self.plan.steps, self.plan.records(work, sizes), strict=True):
            of[step.stage].append(record)
        rows, warps = crop.fold(self.plan.stage(Stage.CROP), of[Stage.CROP], sizes)
        cropped = np.broadcast_to(np.array([self.height, self.width], np.int32), sizes.shape)
        parts = [row[:, None] for row in warps] + augment.fold(
            self.plan.stage(Stage.AUGMENT), of[Stage.AUGMENT], cropped
        )
        filters = crop.filters(self.plan.stage(Stage.CROP), of[Stage.CROP])
        crops = _native.CropRecords(
            rows,
            self.filter if filters is None else filters,
            self.height,
            self.width,
            pil.PASS_ORDER,
        )
        how, joined = mixed(self.plan, work), instructions.joined(parts)
        programs = None if joined is None else _native.Programs(joined, self.functions)
        lists = store.lists(self.plan.stage(Stage.STORE), of[Stage.STORE], how)
        if not self.on_device:
            return Drawn(
                crops, programs, store.records(self.host_channels_last, lists, self.tables), how
            )
        host, device = cuda.divided(
            self.plan, self.host_shape(len(sizes)), cuda.HostPart(programs, lists), self.tables
        )
        return Drawn(
            crops, host.programs, store.records(True, host.lists, store.NO_TABLES), how, device
        )


@dataclass(frozen=True)
class Runner:
    """Stateless: a job goes begin → draw → start → finish, and the engine decides when."""

    plan: Plan
    pictures: tuple[Picture, ...]

    def at(self, size: int) -> "Runner":
        """The runner of batches whose work has this size, px."""
        plan = self.plan.at(size)
        return replace(
            self,
            plan=plan,
            pictures=tuple(
                picture.at(one) for picture, one in zip(self.pictures, plan.pictures, strict=True)
            ),
        )

    def placed(self, place: Placement) -> "Runner":
        """The runner of batches that are made there; their pixels are the same."""
        if place == self.plan.place:
            return self
        plan = self.plan.placed(place)
        return replace(
            self,
            plan=plan,
            pictures=tuple(
                replace(a, plan=b) for a, b in zip(self.pictures, plan.pictures, strict=True)
            ),
        )

    def advise(self, pool: _native.Pool, place: Location) -> None:
        """Ask the system to read the samples ahead: they are ordered, and fetched a few batches
        later.
        """
        pool.advise(self.plan.source.files, place.file, place.offset, place.size)

    def begin(self, pool: _native.Pool, work: Work, place: Location, seek: View) -> _native.Job:
        """Start reading. place: where the work's samples lie; seek: the epoch's seek indexes."""
        samples = work.samples
        return pool.fetch(
            self.plan.source.files, *place[:4],
            seek=seek.locate(samples, place.seek), collect=seek.collect(samples), raw=place.raw,
        )  # fmt: skip

    def draw(self, job: _native.Job, work: Work, trouble: Trouble) -> tuple[list[Drawn], Work]:
        """Wait for the samples' sizes, then draw the records of each picture; the work as `trouble`
        has left it. Raises SampleError.
        """
        job.wait_fetched()
        jpegs = job.status == _native.OK
        _, bad = self._redo_foreign(job, work)
        bad = sorted(
            bad + foreign.too_large(self.plan.source, work, job.sizes, jpegs),
            key=operator.itemgetter(0),
        )
        work, encoded = mending.mended(job, self.plan, work, bad, trouble)
        sizes = job.sizes
        drawn = [picture.draw(work, sizes) for picture in self.pictures]
        if not crop.no_scaling(self.plan):
            jpegs &= ~self.plan.source.locate(work.samples).is_raw
            jpegs[list(encoded)] = True
            crop.shrink([one.crops.rows for one in drawn], jpegs)
            mending.scale(job, encoded, drawn[0].crops.rows)
        return drawn, work

    def start(self, job: _native.Job, drawn: list[Drawn], outs: list[Array]) -> None:
        """Start decoding into `outs`, of each picture an array of its host_shape and host_dtype.

        What is late comes in `finish`.
        """
        job.run([one.work(out) for one, out in zip(drawn, outs, strict=True)])

    def finish(
        self, job: _native.Job, work: Work, drawn: list[Drawn], outs: list[Array], trouble: Trouble
    ) -> tuple[list[Drawn], Work]:
        """Wait until `outs` are whole; the records and the work of what is in them.

        Raises SampleError for the first sample that nobody can decode, where bad samples raise.
        """
        asked: set[int] = set()  # what Pillow was asked for: it has the last word
        while True:
            job.wait_done()
            foreign, bad = self._redo_foreign(job, work, drawn[0].crops.rows, asked)
            bad = [(place, error) for place, error in bad if place not in trouble.lost]
            if bad:
                work, encoded = mending.mended(job, self.plan, work, bad, trouble)
                drawn = self._again(job, work, drawn, [place for place, _ in bad], encoded)
            elif not foreign:
                return drawn, work
            # The others' records stand: a damaged JPEG's header has given the size that Pillow sees
            # too.
            self.start(job, drawn, outs)

    def _again(
        self,
        job: _native.Job,
        work: Work,
        drawn: list[Drawn],
        places: list[int],
        encoded: dict[int, bytes],
    ) -> list[Drawn]:
        """The records with those of other samples in `places`."""
        fresh = [picture.draw(work, job.sizes) for picture in self.pictures]
        jpegs = np.zeros(len(work), np.bool_)
        jpegs[list(encoded)] = True
        if not crop.no_scaling(self.plan):
            crop.shrink([one.crops.rows for one in fresh], jpegs)
        others = np.setdiff1d(np.arange(len(work)), places)
        for new, old in zip(fresh, drawn, strict=True):
            new.crops.rows[others] = old.crops.rows[others]  # at the scales that they have
        mending.scale(job, encoded, fresh[0].crops.rows)
        return fresh

    def _redo_foreign(
        self, job: _native.Job, work: Work, crops: Ints | None = None, asked: set[int] | None = None
    ) -> tuple[bool, list[tuple[int, SampleError]]]:
        """Give the job Pillow's pixels for what the native decoder does not take, at the scale of
        its crop if there is one.

        Whether there were any, and the places and errors of what nobody can decode. asked: places
        that Pillow was given before.
        No more than foreign.HELD bytes of pixels are given at once: of what is beyond, the size
        only, or nothing where crops are
        known: it is left for the next time.
        """
        if job.regular:
            return False, []
        status, late = job.status, job.late.astype(np.bool_)
        bad = [
            (place, self._failed(job, work, place))
            for place in np.flatnonzero(status == _native.FAILED).tolist()
        ]
        places = np.flatnonzero((status == _native.FOREIGN) | late).tolist()
        batch = foreign.Given(job, self.plan.source, work)
        for place in places:
            if asked is not None and place in asked:
                bad.append((place, self._failed(job, work, place)))
                continue
            try:
                given = batch.pixels(
                    place, None if crops is None else int(crops[place, crop.SCALE])
                )
            except SampleError as error:
                bad.append((place, error))
                continue
            if given and asked is not None:
                asked.add(place)
        return bool(places), sorted(bad, key=operator.itemgetter(0))

    def _failed(self, job: _native.Job, work: Work, place: int) -> SampleError:
        """What is wrong with a sample: where users' functions run, the reference knows their
        exception, which no thread can keep.
        """
        if any(picture.functions for picture in self.pictures):
            one = slice(place, place + 1)
            try:
                reference.Runner(self.plan)(
                    replace(
                        work,
                        samples=work.samples[one],
                        occurrences=work.occurrences[one],
                        size=None,
                    )
                )
            except SampleError as error:
                return error
            except OSError:  # the file, which the reason names
                pass
        return mending.failed(job, self.plan, work, place)
