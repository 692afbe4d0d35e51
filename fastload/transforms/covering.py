"""CROP: what becomes of a Resize by the shorter edge where images of one batch share a size that is
no square. `Plan.at` puts it there.
"""

from dataclasses import dataclass

import numpy as np

from fastload.spec import Ints, Spec
from fastload.transforms.base import FILTERS, filter_problems, size_problems
from fastload.transforms.kinds import Whole


@dataclass(frozen=True)
class Cover(Whole):
    """Resize so that the image just covers `size`: one side is met, the other one is as long or
    longer.

    For a square it is torchvision's Resize by the shorter edge, px for px.

    Args:
        size: Height and width, px.
        interpolation: torchvision's name.
        antialias: Taken, as torchvision does; PIL images are always antialiased.
    """

    size: tuple[int, int]
    interpolation: str = "bilinear"
    antialias: bool | None = True

    def problems(self, spec: Spec) -> list[str]:
        return size_problems(self.size) + filter_problems(self.interpolation, FILTERS)

    def sized(self, sizes: Ints) -> Ints:
        height, width = self.size
        rows, columns = sizes[:, 0].astype(np.int64), sizes[:, 1].astype(np.int64)
        # As torchvision: int(size * long / short)
        wide = (height * columns / rows).astype(np.int64)
        tall = (width * rows / columns).astype(np.int64)
        by_height = wide >= width
        pairs = [np.where(by_height, height, tall), np.where(by_height, wide, width)]
        out: Ints = np.stack(pairs, axis=1).astype(np.int32)
        return out
