"""Images that are in memory as pixels, not as files: CIFAR, MNIST and their like."""

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
        """The images, as if they were one file of raw pixels."""
        images = self.images
        if images.ndim == 3:
            images = np.broadcast_to(images[..., None], (*images.shape, 3))
        return _native.Files([self.where], keep_open=True, arrays=[(0, _native.PixelArray(images))])

    def locate(self, samples: Longs) -> Location:
        height, width = self.images.shape[1:3]
        count, size = len(samples), height * width * 3
        nothing, raw = np.zeros(count, np.int64), np.empty((count, 2), np.int32)
        raw[:] = height, width
        return Location(nothing, samples * size, np.full(count, size), None, None, raw)

    def pixels(self, sample: int) -> Pixels:
        image = self.images[sample]
        return np.ascontiguousarray(
            image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
        )

    def name(self, sample: int) -> str:
        return f"{self.where}[{sample}]"
