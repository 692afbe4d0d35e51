"""The kinds of ops, and what everybody else asks an op of each kind.

The engines, masks, `show`, size schedules and DALI's graph know an op by its kind. So a new op is a
subclass of its kind, and runs wherever the kind does: natively, by the reference, on masks, in
`show`. AUGMENT has one kind, `programs.Program`. RandomErasing is the only op that erases.
"""

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fastload.spec import Floats, Ints, Records, Spec, Stage
from fastload.transforms.base import Op, Params, filter_name
from fastload.transforms.matrices import IDENTITY


def window_words(window: Records) -> str:
    """Of top, left, height, width, px."""
    top, left, height, width = (int(v) for v in window)
    return f"{height}x{width} px from row {top}, column {left}"


@dataclass(frozen=True)
class Region(Op, abc.ABC):
    """CROP: resizes a box of the image, or all of it."""

    stage = Stage.CROP
    fast_decode = True
    cuts: ClassVar[bool] = True  # the box may be a part of the image
    interpolation = "bilinear"  # of base.FILTERS; "random": `filters` has each sample's

    def boxes(self, records: Ints, sizes: Ints) -> Ints:
        """int32 [N, 4]: top, left, height, width of what is resized, px, inside the image; sizes
        int32 [N, 2] before the op, px.
        """
        return records[:, :4]

    @abc.abstractmethod
    def targets(self, records: Ints, sizes: Ints) -> Ints:
        """int32 [N, 2]: the size that it gets, px."""

    def filters(self, records: Ints) -> Ints | None:
        """PIL's numbers int32 [N] of the filters, where they are drawn."""
        return None

    def words(self, record: Records, before: Spec) -> str:
        one = np.asarray(record, np.int32)[None]
        unknown = np.zeros((1, 2), np.int32)
        height, width = self.targets(one, unknown)[0]
        if not self.cuts:
            return f"to {height}x{width} px"
        drawn = self.filters(one)
        by = "" if drawn is None else f", {filter_name(int(drawn[0]))}"
        return f"{window_words(self.boxes(one, unknown)[0])}, resized to {height}x{width}{by}"


@dataclass(frozen=True)
class Whole(Region):
    """CROP: resizes all of the image, to a size that depends on its own."""

    cuts = False

    @abc.abstractmethod
    def sized(self, sizes: Ints) -> Ints:
        """int32 [N, 2]: the sizes that images of `sizes` get, px."""

    def out_spec(self, spec: Spec) -> Spec:
        if spec.height is None or spec.width is None:
            return spec.resized(None, None)
        height, width = self.sized(np.array([[spec.height, spec.width]], np.int32))[0]
        return spec.resized(int(height), int(width))

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 2] height and width to resize to, px."""
        targets = self.sized(sizes)
        return Params(targets, targets)

    def boxes(self, records: Ints, sizes: Ints) -> Ints:
        return np.concatenate([np.zeros_like(sizes), sizes], axis=1)

    def targets(self, records: Ints, sizes: Ints) -> Ints:
        return records


@dataclass(frozen=True)
class Window(Op):
    """CROP: shows a window that may reach beyond the image; nothing is resized.

    records: int32 [N, 4] top, left (negative: beyond the image), height, width, px.
    """

    stage = Stage.CROP
    padding_mode = "constant"  # what is seen beyond: `colour`, or a mode of np.pad

    def stays_inside(self, before: Spec) -> bool:
        """Whether the window never reaches beyond an image like `before`."""
        return False

    def words(self, record: Records, before: Spec) -> str:
        return window_words(record)


@dataclass(frozen=True)
class Flip(Op):
    """CROP, or a step of AUGMENT after ops of that stage: mirrors the image.

    records: int32 [N, 1], 1 where it is mirrored.
    """

    stage = Stage.CROP
    movable = True
    axis: ClassVar[int]  # 0: top and bottom are swapped; 1: left and right

    def scaled(self, factor: float) -> "Flip":
        return self

    def fitted(self, height: float, width: float) -> "Flip":
        return self

    def words(self, record: Records, before: Spec) -> str:
        return "mirrored" if int(record[0]) else "not mirrored"


@dataclass(frozen=True)
class Warp(Op):
    """CROP: resamples through a matrix.

    records: float64 [N, 10]: PIL's coefficients a..h (see warp.py), then height and width of the
        result, px. `matrices.IDENTITY` leaves the image as it is.
    """

    stage = Stage.CROP
    projective: ClassVar[bool] = False  # all eight coefficients count; else six, and g = h = 0
    interpolation = "nearest"  # of base.WARPING
    expand = False  # whether the result has another size

    def words(self, record: Records, before: Spec) -> str:
        height, width = (int(v) for v in record[8:])
        if tuple(record[:8]) == IDENTITY:
            return f"unchanged, {height}x{width} px"
        coefficients = " ".join(f"{v:.4g}" for v in self.coefficients(record))
        return f"matrix {coefficients}, to {height}x{width} px"

    def coefficients(self, record: Records) -> list[float]:
        """Of one record: those that count."""
        return [float(v) for v in record[: 8 if self.projective else 6]]


@dataclass(frozen=True)
class Gather(Op, abc.ABC):
    """STORE: keeps some rows and columns, in order.

    records: int32 [N, rows + columns]: numbers of the kept rows, then of the columns, both rising.
    """

    stage = Stage.STORE

    @abc.abstractmethod
    def kept(self, height: int, width: int) -> tuple[int, int]:
        """How many rows and columns stay."""

    def words(self, record: Records, before: Spec) -> str:
        height, width = before.height or 0, before.width or 0
        rows, columns = self.kept(height, width)
        # Their numbers are in the record; they would fill a sheet.
        return f"{rows} of {height} rows kept; {columns} of {width} columns kept"


@dataclass(frozen=True)
class Values(Op):
    """STORE: makes another value of each one, by its channel only.

    It draws nothing. The native engine asks the reference once for all 256 values.
    """

    stage = Stage.STORE
    keeps_masks = True

    def linear(self, before: Spec) -> tuple[ArrayLike, ArrayLike] | None:
        """(mean, deviation), each a number or one per channel, of an op that makes
        (value - mean) / deviation; None for one that makes something else.
        """
        return None
