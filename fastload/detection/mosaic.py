"""Mosaic: four images around a point."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from fastload.detection import merging
from fastload.detection.box_mix import GREY, KEYS, BoxMix, Params, State, canvas, fill_of, pixels
from fastload.detection.merging import Size, Target
from fastload.errors import UsageError
from fastload.spec import Floats
from fastload.transforms import pil


class Place(NamedTuple):
    """Where an image of a mosaic lies, px."""

    height: int  # once it is resized
    width: int
    top: int  # of its first px on the canvas; less than 0: beyond it
    left: int

    def seen(self, size: Size) -> tuple[int, int, int, int]:
        """Of a canvas of this size, the part that shows it: top, left, bottom, right."""
        return (
            max(0, self.top), max(0, self.left),
            min(size[0], self.top + self.height), min(size[1], self.left + self.width),
        )  # fmt: skip


class Mosaic(BoxMix):
    """Four images around a point: the sample and three others, on a canvas of twice `size`.

    Each image is resized so that it fits into `size`, and touches the point with a corner: the
    sample lies above it at the left, the others are above at the right, below at the left, below at
    the right. The point is drawn from the middle half of the canvas each way. Boxes and keypoints
    are clamped to the canvas. Objects of whose boxes nothing is left are removed.

    Args:
        size: Height and width, px; one number is both. The result is twice as high and wide.
        p: How likely a sample becomes a mosaic; else it stays as it is.
        fill: Of what no image covers: one number from 0 to 255, or one per channel.
        keys: Of the target, what has one value for each object beside tensors of torchvision's.

    Raises:
        UsageError: An argument makes no sense.

    Source: YOLOv4 (Bochkovskiy et al. 2020, arXiv:2004.10934, section 3.4), with the placement of
    YOLOX's and Ultralytics' trainers.

    Example:
        >>> from fastload import detection
        >>> from torchvision.transforms import v2
        >>> mosaic = v2.Compose([detection.Mosaic((60, 90)), v2.ToImage()])
        >>> data = detection.WithPartners(detection.yolo("yolo", "train"), mosaic)
        >>> image, target = data[0]
        >>> image.shape, len(target["boxes"]) == len(target["labels"])
        (torch.Size([3, 120, 180]), True)
    """

    partners = 3

    def __init__(
        self,
        size: int | Sequence[int],
        p: float = 1.0,
        fill: int | Sequence[int] = GREY,
        *,
        keys: Sequence[str] = KEYS,
    ) -> None:
        super().__init__(p, keys)
        sides = (size, size) if isinstance(size, int) else tuple(size)
        if len(sides) != 2 or any(type(one) is not int or one < 2 for one in sides):
            raise UsageError(
                f"{self.where}: size is {size!r}, want height and width from 2 px on; change it"
            )
        self.size: Size = (sides[0], sides[1])
        self.fill = fill_of(self.where, fill)

    @property
    def made(self) -> Size:
        """Height and width of the result, px."""
        return (2 * self.size[0], 2 * self.size[1])

    def draws(self, states: Sequence[State]) -> int:
        return 2

    def drawn(self, u: Floats, states: Sequence[State]) -> Params | None:
        down, across = (int(side * (0.5 + each)) for side, each in zip(self.size, u, strict=True))
        return {"centre": (down, across)}

    def places(self, sizes: Sequence[Size], params: Params) -> list[Place]:
        """Of each image, of these sizes."""
        (y, x), out = params["centre"], []
        for number, (height, width) in enumerate(sizes):
            high, wide = self._fitted(height, width)
            above, left = number < 2, number % 2 == 0
            out.append(Place(high, wide, y - high if above else y, x - wide if left else x))
        return out

    def _fitted(self, height: int, width: int) -> Size:
        """The largest size of this shape that fits into `size`, rounded down."""
        high, wide = self.size
        if high * width <= wide * height:
            return high, max(1, width * high // height)
        return max(1, height * wide // width), wide

    def picture(self, images: Sequence[Any], params: Params) -> torch.Tensor:
        out = canvas(self.made, self.fill)
        places = self.places([pil.size(image) for image in images], params)
        for image, place in zip(images, places, strict=True):
            fitted = pixels(image, (place.height, place.width))
            top, left, bottom, right = place.seen(self.made)
            y, x = top - place.top, left - place.left
            out[:, top:bottom, left:right] = fitted[:, y : y + bottom - top, x : x + right - left]
        return out

    def target(self, states: Sequence[State], params: Params) -> Target:
        merging.check_all((target for _, target in states), self.made)
        moved = []
        places = self.places([size for size, _ in states], params)
        for (size, target), place in zip(states, places, strict=True):
            fitted = merging.resized(target, size, (place.height, place.width))
            moved.append(merging.placed(fitted, place.top, place.left, self.made))
        return merging.visible(merging.joined(moved, self.made, self.keys), self.keys)
