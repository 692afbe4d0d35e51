"""A transform of torchvision's references/detection that its library has not."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torchvision.transforms import v2

Fill = int | float | Sequence[int] | Sequence[float] | Mapping[Any, Any]


class FixedSizeCrop(v2.RandomCrop):  # type: ignore[misc]
    """Crop an image to a size at most, and pad it to that size at the right and at the bottom.

    As references/detection has it for large-scale jitter, of which it is the second half. One draw
    says where the crop lies, between the top left corner and the bottom right one. Boxes are cut
    off at the crop's edge. SanitizeBoundingBoxes then removes those of which nothing is left.

    Args:
        size: Height and width, px; one number is both.
        fill: Of the padding, as v2.RandomCrop's: a number, one per channel, or a dictionary by
            types.

    Example:
        >>> from PIL import Image
        >>> from fastload import detection
        >>> detection.FixedSizeCrop((64, 96))(Image.new("RGB", (120, 50))).size
        (96, 64)
    """

    def __init__(self, size: int | Sequence[int], fill: Fill = 0) -> None:
        super().__init__(size, fill=fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Of an image and its target, as a list."""
        return self.placed(v2.query_size(flat_inputs), float(torch.rand(1)))

    def placed(self, size: tuple[int, int], drawn: float) -> dict[str, Any]:
        """The same of an image's height and width, px, and a number from 0 to 1."""
        (height, width), (most_high, most_wide) = size, self.size
        high, wide = min(height, most_high), min(width, most_wide)
        return {
            "needs_crop": (high, wide) != (height, width),
            "top": int((height - high) * drawn), "left": int((width - wide) * drawn),
            "height": high, "width": wide,
            "needs_pad": (high, wide) != (most_high, most_wide),
            "padding": [0, 0, most_wide - wide, most_high - high],
        }  # fmt: skip

    def transform(self, value: Any, params: dict[str, Any]) -> Any:
        """An image, boxes, masks or keypoints: first cropped, then padded."""
        cropped = super().transform(value, {**params, "needs_pad": False})
        return super().transform(cropped, {**params, "needs_crop": False})
