"""What is drawn for the samples of a batch, folded into the kernels' records: by the ops' own
NumPy, or by a program that was recorded from it (fastload/draws/) and gives the same bits.

A recording takes 10 to 50 ms. So the first batches of a picture are drawn by NumPy, and a loader
that is asked for no more never records.
"""

import numpy as np

from fastload import draws
from fastload.backends.native import augment, by_part, crop, instructions, store
from fastload.backends.native.by_part import Folded
from fastload.plan import steps
from fastload.plan.plan import Plan
from fastload.spec import Array, Floats, Ints, Stage, Work

FIRST = 2  # batches that NumPy draws
FIRST_PARTS = 32  # the same of parts of one size of patches: there are hundreds of sizes


class Drawing:
    """Of one picture, whose crops have this size, px."""

    def __init__(self, plan: Plan, height: int, width: int) -> None:
        self.plan, self.cropped = plan, np.array([[height, width]], np.int32)
        self.drawn = 0  # batches
        self.recorded: draws.Recorded | None = None
        self.why = ""  # it is not recorded
        self.parts = [Drawing(one, height, width) for one in plan.by_part]

    def folded(self, work: Work, sizes: Ints) -> Folded:
        """The records of images of `sizes` int32 [N, 2], px."""
        if self.parts:
            return by_part.folded(self.parts, self.plan, work, sizes)
        work = self.plan.of_view(work)
        found = self.recorded.run(work, sizes) if self.recorded else None
        if found is not None:
            return _folded(found)
        out = self._by_numpy(work, sizes)
        self.drawn += 1
        first = FIRST_PARTS if self.plan.patch else FIRST
        if self.drawn >= first and not self.why and self.recorded is None:
            self._record(work, sizes, out)
        return out

    def ahead(self, work: Work) -> tuple[list[draws.Run], Folded] | None:
        """What is to be run once the images' sizes are known, and the records that it fills; None
        where there is no recording.
        """
        if self.recorded is None:
            return None
        runs, arrays = self.recorded.ready(self.plan.of_view(work))
        return runs, _folded(arrays)

    def fixed(self, count: int) -> tuple[list[draws.FixedRun], Folded, Floats] | None:
        """The same for any batch of so many samples, and the numbers that `give` fills for each;
        None where there is no recording.
        """
        if self.recorded is None:
            return None
        runs, arrays, given = self.recorded.fixed(count)
        return runs, _folded(arrays), given

    def give(self, work: Work, given: Floats) -> None:
        """What programs of `fixed` are given for this batch."""
        if self.recorded is not None:
            self.recorded.give(work, given)

    def _by_numpy(self, work: Work, sizes: Ints) -> Folded:
        found = self._fold(steps.uniforms_of(work), sizes)
        arrays = (None if array is None else np.ascontiguousarray(array) for array in found)
        return Folded(*arrays)  # type: ignore[arg-type]

    def _fold(self, uniforms: steps.Uniforms, sizes: Ints) -> Folded:
        plan = self.plan
        of: dict[Stage, list[Array]] = {Stage.CROP: [], Stage.AUGMENT: [], Stage.STORE: []}
        records = steps.drawn(plan.steps, uniforms, sizes)
        for step, record in zip(plan.steps, records, strict=True):
            of[step.stage].append(record)
        crops, augments = plan.stage(Stage.CROP), plan.stage(Stage.AUGMENT)
        rows, warps = crop.fold(crops, of[Stage.CROP], sizes)
        cropped = np.broadcast_to(self.cropped, (len(sizes), 2))
        parts = [row[:, None] for row in warps]
        parts += augment.fold(augments, of[Stage.AUGMENT], cropped)
        last, stored = plan.stage(Stage.STORE), of[Stage.STORE]
        return Folded(
            rows, crop.filters(crops, of[Stage.CROP]), instructions.joined(parts),
            *store.kept(last, stored), *store.boxes(last, stored)
        )  # fmt: skip

    def _record(self, work: Work, sizes: Ints, expected: Folded) -> None:
        """A program, if the ops' NumPy can be recorded, and it draws this batch as NumPy did."""
        try:
            recorded = draws.record(lambda uniforms, px: self._fold(uniforms, px)._asdict())
        except Exception as error:  # noqa: BLE001  ops of others' may do anything with a symbol
            self.why = f"{type(error).__name__}: {error}"
            return
        found = recorded.run(work, sizes)
        drawn = {name: array for name, array in expected._asdict().items() if array is not None}
        if (
            found is not None
            and {*drawn} == {*found}
            and all(map(_same, drawn.values(), (found[name] for name in drawn)))
        ):
            self.recorded = recorded
        else:
            self.why = "a program of it draws other numbers"


def _folded(arrays: dict[str, Array]) -> Folded:
    return Folded(*(arrays.get(name) for name in Folded._fields))  # type: ignore[arg-type]


def _same(one: Array, other: Array) -> bool:
    """To the bit, types and shapes too."""
    kinds = [(array.dtype, array.shape) for array in (one, other)]
    return kinds[0] == kinds[1] and one.tobytes() == other.tobytes()
