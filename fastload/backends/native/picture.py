"""How one of the pictures of a sample is made natively, and the records of a batch of it."""

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fastload import _native, draws
from fastload.backends.native import augment, crop, cuda, store
from fastload.backends.native.by_part import Folded
from fastload.backends.native.drawing import Drawing
from fastload.plan.batch import mix_records
from fastload.plan.plan import Plan
from fastload.spec import Array, Dtype, Floats, Ints, Stage, Work
from fastload.transforms import pil
from fastload.transforms.mix_records import MixRecords


class Drawn(NamedTuple):
    """The records of a batch in one picture: what the host does, and what the GPU does."""

    crops: _native.CropRecords
    programs: _native.Programs | None  # of the host
    store: _native.StoreRecords  # of the host
    mix: MixRecords | None  # what becomes of the labels; None: nothing is mixed
    on_device: cuda.OnDevice | None = None  # None: there is no GPU

    def work(self, out: Array) -> _native.PictureWork:
        """These records, made into `out`, an array of the picture's host_shape and host_dtype."""
        return _native.PictureWork(self.crops, self.store, out, self.programs)


class Kit(NamedTuple):
    """Records that batches of one size use, one after the other."""

    samples: int
    native: _native.Kit
    drawn: Drawn  # nothing is mixed
    given: Floats  # [N, given], what of the draws is no part of the programs


KITS = 64  # that are kept; more batches are hardly ever under way


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
    def host_dtype(self) -> Dtype:
        """What the host writes; the device makes the rest."""
        table = self.tables.values
        return np.dtype(np.uint8) if self.on_device or table is None else table.dtype

    @property
    def host_channels_last(self) -> bool:
        return self.on_device or self.plan.out.channels_last or self.plan.patch > 0

    def host_shape(self, count: int) -> tuple[int, int, int, int]:
        # A GPU that augments drops rows and columns after that.
        gpu = self.on_device and self.plan.augment == "gpu"
        height, width = (self.height, self.width) if gpu else crop.final_size(self.plan.out)
        return (count, height, width, 3) if self.host_channels_last else (count, 3, height, width)

    @cached_property
    def drawing(self) -> Drawing:
        return Drawing(self.plan, self.height, self.width)

    def draw(self, work: Work, sizes: Ints) -> Drawn:
        """Records for images of `sizes` int32 [N, 2], px; at full scale."""
        return self._drawn(work, self.drawing.folded(work, sizes))

    def ahead(self, work: Work) -> tuple[list[draws.Run], Drawn] | None:
        """Records that are filled once the images' sizes are known, and by what; None where Python
        has to do that.
        """
        found = self.drawing.ahead(work)
        return found and (found[0], self._drawn(work, found[1]))

    @cached_property
    def kits(self) -> deque[Kit]:
        """Those that no batch has; append and pop are atomic."""
        return deque(maxlen=KITS)

    def kit(self, count: int) -> Kit | None:
        """Records of `count` samples, for a job to fill; None where Python has to."""
        while self.kits:
            with suppress(IndexError):  # another thread has the last
                kit = self.kits.pop()
                if kit.samples == count:
                    return kit
        found = self.drawing.fixed(count)
        if found is None:
            return None
        runs, folded, given = found
        drawn = self._records(folded, None, count)
        made = _native.Kit(drawn.crops, drawn.store, drawn.programs, runs)
        return Kit(count, made, drawn, given)

    def _drawn(self, work: Work, drawn: Folded) -> Drawn:
        return self._records(drawn, mix_records(self.plan, work), len(work))

    def _records(self, drawn: Folded, how: MixRecords | None, count: int) -> Drawn:
        crops = _native.CropRecords(
            drawn.crops,
            self.filter if drawn.filters is None else drawn.filters,
            self.height,
            self.width,
            pil.PASS_ORDER,
        )
        programs = (
            None if drawn.programs is None else _native.Programs(drawn.programs, self.functions)
        )
        partners = how.rows() if how and how.moves else None
        lists = store.Lists(drawn.rows, drawn.columns, drawn.boxes, drawn.keys, partners)
        if not self.on_device:
            stored = store.records(self.host_channels_last, lists, self.tables, self.plan.patch)
            return Drawn(crops, programs, stored, how)
        host, device = cuda.divided(
            self.plan, self.host_shape(count), cuda.HostPart(programs, lists), self.tables
        )
        return Drawn(
            crops, host.programs, store.records(True, host.lists, store.NO_TABLES), how, device
        )


def picture(plan: Plan, device: str) -> "Picture":
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
