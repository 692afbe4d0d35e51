"""STORE: finished batches made smaller, as progressive resizing does it.
`DataLoader(size_schedule=...)` appends these ops.

Source: Composer 0.7.1, algorithms/progressive_resizing, and torch's nearest resize by a scale
factor.
"""

import math
from dataclasses import dataclass

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params
from fastload.transforms.kinds import Gather


@dataclass(frozen=True)
class BatchResize(Gather):
    """Keep the nearest row and column of each pixel in an image `factor` (above 0, below 1) times
    as high and wide.
    """

    factor: float

    per_batch = True

    def problems(self, spec: Spec) -> list[str]:
        height, width = spec.height or 0, spec.width or 0
        left = all(self.kept(height, width))
        return (
            []
            if left
            else [
                (
                    f"nothing of {height}x{width} would be left (factor {self.factor}); use larger "
                    "sizes"
                )
            ]
        )

    def kept(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns that stay.

        In double, as torch multiplies: 120 / 176 * 176 falls to 119.
        """
        return math.floor(height * self.factor), math.floor(width * self.factor)

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(*self.kept(spec.height or 0, spec.width or 0))

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, rows + columns], the kept row numbers, then the kept column numbers,
        both rising.
        """
        height, width = (int(v) for v in sizes[0])
        rows, columns = self.kept(height, width)
        return _params(
            nearest(rows, height, self.factor), nearest(columns, width, self.factor), len(sizes)
        )


@dataclass(frozen=True)
class BatchCrop(BatchResize):
    """Cut one random window for the whole batch.

    The last position of a window is never drawn, as in Composer.
    """

    def draws(self, spec: Spec) -> int:
        return 2  # top, left

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, rows + columns], as BatchResize."""
        full = sizes[0].astype(np.int64)
        kept = np.array(self.kept(int(full[0]), int(full[1])))
        top, left = np.floor(u[0] * (full - kept)).astype(np.int64)
        return _params(top + np.arange(kept[0]), left + np.arange(kept[1]), len(sizes))


def nearest(count: int, full: int, factor: float) -> Ints:
    """int32 [count]: which of 0..full-1 is nearest to each pixel of a side made `factor` times as
    long, in torch's float32.
    """
    scale = np.float32(1.0 / factor)
    out: Ints = np.minimum(np.floor(np.arange(count, dtype=np.float32) * scale), full - 1).astype(
        np.int32
    )
    return out


def _params(rows: Ints, columns: Ints, count: int) -> Params:
    record = np.concatenate([rows, columns]).astype(np.int32)
    return Params(
        np.tile(record, (count, 1)),
        np.tile(np.array([len(rows), len(columns)], np.int32), (count, 1)),
    )
