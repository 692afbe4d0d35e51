"""CROP: what becomes of a Resize by the shorter edge where images of one batch share a size that is
no square. `Plan.at` puts it there.
"""

from dataclasses import dataclass

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import FILTERS, Params, filter_problems, size_problems
from fastload.transforms.kinds import Region


@dataclass(frozen=True)
class Cover(Region):
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

    cuts = False

    def problems(self, spec: Spec) -> list[str]:
        return size_problems(self.size) + filter_problems(self.interpolation, FILTERS)

    def out_spec(self, spec: Spec) -> Spec:
        if spec.height is None or spec.width is None:
            return spec.resized(None, None)
        height, width = self._targets(np.array([[spec.height, spec.width]], np.int32))[0]
        return spec.resized(int(height), int(width))

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 2] height and width to resize to, px."""
        targets = self._targets(sizes)
        return Params(targets, targets)

    def boxes(self, records: Ints, sizes: Ints) -> Ints:
        return np.concatenate([np.zeros_like(sizes), sizes], axis=1)

    def targets(self, records: Ints, sizes: Ints) -> Ints:
        return records

    def _targets(self, sizes: Ints) -> Ints:
        height, width = self.size
        rows, columns = sizes[:, 0].astype(np.int64), sizes[:, 1].astype(np.int64)
        # As torchvision: int(size * long / short)
        wide = (height * columns / rows).astype(np.int64)
        tall = (width * rows / columns).astype(np.int64)
        by_height = wide >= width
        pairs = [np.where(by_height, height, tall), np.where(by_height, wide, width)]
        out: Ints = np.stack(pairs, axis=1).astype(np.int32)
        return out
