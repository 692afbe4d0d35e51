"""What training scripts define themselves: classes and functions that no library has, so that
fastload cannot know them.
"""

import random
from typing import Any

import torch
from PIL import Image, ImageFilter, ImageOps
from torchvision.datasets import ImageFolder
from torchvision.transforms import functional as F


class TwoViews:
    """SimCLR, MoCo: the same chain twice."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, image: Any) -> list[Any]:
        return [self.transform(image), self.transform(image)]


class MultiCrop:
    """DINO, SwAV: views of two sizes."""

    def __init__(self, transforms: list[Any]) -> None:
        self.transforms = transforms

    def __call__(self, image: Any) -> list[Any]:
        return [transform(image) for transform in self.transforms]


class WeakAndStrong:
    """FixMatch."""

    def __init__(self, weak: Any, strong: Any, last: Any) -> None:
        self.weak, self.strong, self.last = weak, strong, last

    def __call__(self, image: Any) -> tuple[Any, Any]:
        return self.last(self.weak(image)), self.last(self.strong(image))


class PILBlur:
    """Pillow's Gaussian blur of a random radius, px."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def __call__(self, image: Image.Image) -> Image.Image:
        return image.filter(ImageFilter.GaussianBlur(random.uniform(self.low, self.high)))


class Solarization:
    def __call__(self, image: Image.Image) -> Image.Image:
        return ImageOps.solarize(image)


class Cutout:
    """A square of zeros, centred anywhere."""

    def __init__(self, side: int) -> None:
        self.side = side

    def __call__(self, image: torch.Tensor) -> torch.Tensor:
        top, left = (random.randrange(length) - self.side // 2 for length in image.shape[1:])
        image[:, max(top, 0) : top + self.side, max(left, 0) : left + self.side] = 0
        return image


class OfPairs:
    """An image and its mask, transformed alike."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, image: Image.Image, mask: Image.Image) -> tuple[Any, Any]:
        return F.pil_to_tensor(F.resize(image, [self.size])), F.pil_to_tensor(
            F.resize(mask, [self.size])
        )


class MultiCropFolder(ImageFolder):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)[0]


def stacked(crops: Any) -> torch.Tensor:
    return torch.stack([F.to_tensor(crop) for crop in crops])


def to_rgb(image: Image.Image) -> Image.Image:
    return image.convert("RGB")
