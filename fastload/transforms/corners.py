"""CROP: a window in a corner, as torchvision's FiveCrop and TenCrop take it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.errors import PipelineError
from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, everywhere, pair, size_problems
from fastload.transforms.kinds import Window


@dataclass(frozen=True)
class CornerCrop(Window):
    """Cut `size` (height, width; px) from a corner. Transforms that make several crops are lowered
    to it.
    """

    size: Any
    bottom: bool
    right: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", pair(self.size))

    def problems(self, spec: Spec) -> list[str]:
        problems = size_problems(self.size)
        if not problems and spec.height is not None and spec.width is not None:
            problems += self._too_small(np.array([[spec.height, spec.width]], np.int32))
        return problems

    def _too_small(self, sizes: Ints) -> list[str]:
        small = (sizes < self.size).any(axis=1)
        if not small.any():
            return []
        height, width = sizes[small.argmax()]
        wanted = f"{self.size[0]}x{self.size[1]}"
        return [f"size is {wanted}, but an image of {height}x{width} px is smaller; resize first"]

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(*self.size)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 4] top, left, height, width of the window, px.

        Raises PipelineError for images that are too small.
        """
        if problems := self._too_small(sizes):
            raise PipelineError(f"{self.name}: {problem}" for problem in problems)
        out = everywhere(self.size, sizes)
        start = (sizes - out) * np.array([self.bottom, self.right], np.int32)
        return Params(np.concatenate([start, out], axis=1).astype(np.int32), out)

    def stays_inside(self, before: Spec) -> bool:
        return True
