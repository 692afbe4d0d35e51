"""Images that are in memory as pixels, not as files: CIFAR, MNIST and their like."""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastload import _native
from fastload.sources.base import Location
from fastload.spec import Longs, Pixels


@dataclass(frozen=True)
class ArraySource:
    """images: uint8 [N, H, W, 3], or [N, H, W] of grey; kept as they are, never copied."""

    where: str
    images: Pixels
    labels: Longs
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "files"}

    @cached_property
    def files(self) -> _native.Files:
        """Nothing is read: every sample is 0 bytes, and `pixels` has the rest."""
        return _native.Files((os.devnull,), keep_open=True)

    def locate(self, samples: Longs) -> Location:
        nothing = np.zeros_like(samples)
        return Location(nothing, nothing, nothing, None)

    def pixels(self, sample: int) -> Pixels:
        image = self.images[sample]
        return np.ascontiguousarray(
            image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
        )

    def name(self, sample: int) -> str:
        return f"{self.where}[{sample}]"
