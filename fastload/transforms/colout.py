"""STORE: ColOut drops a random share of rows and columns.

Source: Composer 0.7.1, algorithms/colout/colout.py.
"""

from dataclasses import dataclass

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, probability_problems
from fastload.transforms.kinds import Gather


@dataclass(frozen=True)
class ColOut(Gather):
    """Keep int((1 - p) * size) rows and columns, in order, and drop the others at random.

    The image shrinks.

    Args:
        p_row: Share of the rows to drop.
        p_col: Share of the columns to drop.
        batch: The same rows and columns for a whole batch (Composer's default), or drawn per
            sample.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.ColOut(0.5, 0.25)(Image.new("RGB", (120, 90))).size
        (90, 45)
    """

    p_row: float = 0.15
    p_col: float = 0.15
    batch: bool = True

    @property
    def per_batch(self) -> bool:
        return self.batch

    def problems(self, spec: Spec) -> list[str]:
        problems = probability_problems("p_row", self.p_row) + probability_problems(
            "p_col", self.p_col
        )
        if spec.height is None or spec.width is None:
            problems.append(
                "image sizes differ from sample to sample; fix them first, with "
                "RandomResizedCrop or CenterCrop"
            )
            return problems
        if not problems and not all(self.kept(spec.height, spec.width)):
            problems.append(
                f"nothing of {spec.height}x{spec.width} would be left (p_row {self.p_row}, p_col "
                f"{self.p_col}); lower them"
            )
        return problems

    def kept(self, height: int, width: int) -> tuple[int, int]:
        return int((1 - self.p_row) * height), int((1 - self.p_col) * width)

    def draws(self, spec: Spec) -> int:
        return (spec.height or 0) + (spec.width or 0)

    def out_spec(self, spec: Spec) -> Spec:
        return (
            spec.resized(*self.kept(spec.height, spec.width))
            if spec.height and spec.width
            else spec
        )

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, rows + columns], the kept row numbers, then the kept column numbers,
        both rising.
        """
        height, width = (int(v) for v in sizes[0])
        rows, columns = self.kept(height, width)
        picked = np.concatenate(
            [_smallest(u[:, :height], rows), _smallest(u[:, height:], columns)], axis=1
        )
        records = np.broadcast_to(picked, (len(sizes), rows + columns)).astype(np.int32)
        return Params(
            records, np.broadcast_to(np.array([rows, columns], np.int32), sizes.shape).copy()
        )


def _smallest(u: Floats, count: int) -> Ints:
    """Places of the `count` smallest of each row of u, rising: a uniform subset in order. int [N,
    count].
    """
    return np.sort(np.argsort(u, axis=1, kind="stable")[:, :count], axis=1)
