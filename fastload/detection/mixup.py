"""MixUp of images with boxes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from fastload.detection import merging
from fastload.detection.box_mix import GREY, KEYS, BoxMix, Params, State, canvas, fill_of, pixels
from fastload.detection.merging import Size, Target
from fastload.errors import UsageError
from fastload.spec import Floats
from fastload.transforms import pil
from fastload.transforms.sampling import beta

LARGEST = 128  # alpha; nearly all shares are 0.4 to 0.6 then


class MixUp(BoxMix):
    """Two images laid over each other, with the objects of both.

    Neither is resized: both begin at the top left of a canvas that holds both, so no box changes.
    A value is λ·a + (1 - λ)·b with λ ~ Beta(alpha, alpha), in float32, rounded to the nearest,
    ties to even. The labels are not weighed.

    Args:
        alpha: Of Beta; 32 keeps λ near one half, as YOLO's trainers have it.
        p: How likely a sample is mixed.
        fill: Of what one image does not cover: one number from 0 to 255, or one per channel.
        keys: Of the target, what has one value for each object beside tensors of torchvision's.

    Raises:
        UsageError: An argument makes no sense.

    Source: Zhang et al. 2019, arXiv:1902.04103, section 3.1.

    Example:
        >>> from fastload import detection
        >>> from torchvision.transforms import v2
        >>> mix = v2.Compose([v2.ToImage(), detection.MixUp()])
        >>> data = detection.WithPartners(detection.yolo("yolo", "train"), mix)
        >>> image, target = data[0]
        >>> target["boxes"].canvas_size == tuple(image.shape[1:])
        True
    """

    def __init__(
        self,
        alpha: float = 32.0,
        p: float = 1.0,
        fill: int | Sequence[int] = GREY,
        *,
        keys: Sequence[str] = KEYS,
    ) -> None:
        super().__init__(p, keys)
        if not 0 < alpha <= LARGEST:
            raise UsageError(
                f"{self.where}: alpha is {alpha}, want a number above 0, up to {LARGEST}; change it"
            )
        self.alpha, self.fill = float(alpha), fill_of(self.where, fill)

    def draws(self, states: Sequence[State]) -> int:
        return 2 * int(self.alpha) - 1 if self.alpha.is_integer() else 2

    def drawn(self, u: Floats, states: Sequence[State]) -> Params | None:
        if not self.alpha.is_integer():
            return {"share": float(beta(u, self.alpha))}
        # Of 2k - 1 uniforms, the one in the middle has Beta(k, k): beta() is slow for a large k.
        middle = int(self.alpha) - 1
        return {"share": float(np.partition(u, middle)[middle])}

    def shares(self, params: Params) -> tuple[np.float32, np.float32]:
        """Of the sample and of the other one."""
        return np.float32(params["share"]), np.float32(1 - params["share"])

    def holding(self, sizes: Sequence[Size]) -> Size:
        """Height and width that hold images of these sizes, px. Raises ValueError if no image may
        have so many.
        """
        height, width = (max(sides) for sides in zip(*sizes, strict=True))
        most = Image.MAX_IMAGE_PIXELS
        if most is not None and height * width > 2 * most:
            raise ValueError(
                f"{self.where} of images of {_said(sizes)} px would have {height * width} px, want "
                f"{2 * most} at most; resize them before"
            )
        return height, width

    def picture(self, images: Sequence[Any], params: Params) -> torch.Tensor:
        size = self.holding([pil.size(image) for image in images])
        parts = []
        for image, share in zip(images, self.shares(params), strict=True):
            on, (height, width) = canvas(size, self.fill), pil.size(image)
            on[:, :height, :width] = pixels(image)
            parts.append(on.float() * float(share))
        return (parts[0] + parts[1]).round().to(torch.uint8)

    def target(self, states: Sequence[State], params: Params) -> Target:
        size = self.holding([size for size, _ in states])
        merging.check_all((target for _, target in states), size)
        moved = [merging.placed(target, 0, 0, size) for _, target in states]
        return merging.joined(moved, size, self.keys)


def _said(sizes: Sequence[Size]) -> str:
    return " and ".join(f"{height}x{width}" for height, width in sizes)
