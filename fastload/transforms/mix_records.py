"""What mixing does to a batch, as records: drawn by `Mix`, carried out by the kernels and by
`reference.mix`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastload.spec import Ints, Longs

Weights = NDArray[np.float32]


class MixRecords(NamedTuple):
    """What mixing does to each of the N samples of a batch."""

    partner: Longs  # int64 [N]: position of the partner in the batch
    # int32 [N, 4]: top, left, height, width, px: what is the partner's; height 0: nothing
    box: Ints
    weights: Weights  # float32 [N, 2]: of the image and of its partner, outside the box
    shares: Weights  # float32 [N, 2]: of the image's label and of its partner's
    # Smoothing of the image's label and of its partner's, before they are mixed
    smoothing: tuple[float, float] = (0.0, 0.0)

    @property
    def moves(self) -> bool:
        """Whether any pixel changes."""
        return bool(self.weights[:, 1].any() or self.box[:, 2:].all(axis=1).any())

    def rows(self) -> Ints:
        """int32 [N, 7], as the kernels take partners: position, box, the bits of the weights."""
        parts = [
            self.partner.astype(np.int32)[:, None],
            self.box,
            np.ascontiguousarray(self.weights).view(np.int32),
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))
