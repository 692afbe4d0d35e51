"""CROP on PIL images."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from fastload.spec import Longs, Records
from fastload.transforms.base import FILTERS, Fill, Op, fill_colour
from fastload.transforms.geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.padding import Pad, RandomCrop
from fastload.transforms.warp import RandomAffine, RandomPerspective, RandomRotation

RESAMPLING = {name: Image.Resampling(number) for name, number in FILTERS.items()}


def _random_resized_crop(op: RandomResizedCrop, image: Image.Image, record: Records) -> Image.Image:
    top, left, height, width = (int(v) for v in record[:4])
    out_height, out_width = op.size
    box = image.crop((left, top, left + width, top + height))
    drawn = (
        Image.Resampling(int(record[4]))
        if op.interpolation == "random"
        else RESAMPLING[op.interpolation]
    )
    return box.resize((out_width, out_height), drawn)


def _resize(op: Resize, image: Image.Image, record: Records) -> Image.Image:
    height, width = (int(v) for v in record)
    return image.resize((width, height), RESAMPLING[op.interpolation])


def _center_crop(op: CenterCrop, image: Image.Image, record: Records) -> Image.Image:
    top, left, height, width = (int(v) for v in record)
    return image.crop((left, top, left + width, top + height))  # PIL fills what lies outside with 0


def _window(op: Pad | RandomCrop, image: Image.Image, record: Records) -> Image.Image:
    top, left, height, width = (int(v) for v in record)
    if op.padding_mode == "constant":
        out = Image.new(image.mode, (width, height), colour(op.fill, image))
        out.paste(image, (-left, -top))
        return out
    rows = sources(image.height, top, height, op.padding_mode)
    columns = sources(image.width, left, width, op.padding_mode)
    return Image.fromarray(np.asarray(image)[rows][:, columns])


def sources(side: int, start: int, length: int, mode: Any) -> Longs:
    """Which row (or column) of an image with `side` of them each of `length` rows from `start`
    shows.
    """
    before, after = max(-start, 0), max(start + length - side, 0)
    padded: Longs = np.pad(np.arange(side), (before, after), mode=mode)
    return padded[start + before : start + before + length]


def colour(fill: Fill, image: Image.Image) -> int | tuple[int, ...]:
    """The fill of an image's mode, as PIL takes it."""
    values = fill_colour(fill, len(image.getbands()))
    return values[0] if len(values) == 1 else values


def _horizontal_flip(op: RandomHorizontalFlip, image: Image.Image, record: Records) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if int(record[0]) else image


def _vertical_flip(op: RandomVerticalFlip, image: Image.Image, record: Records) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if int(record[0]) else image


def _warp(
    op: RandomAffine | RandomPerspective | RandomRotation, image: Image.Image, record: Records
) -> Image.Image:
    height, width = (int(v) for v in record[8:])
    if tuple(record[:8]) == IDENTITY and image.size == (width, height):
        return image
    kind, count = (
        (Image.Transform.PERSPECTIVE, 8)
        if isinstance(op, RandomPerspective)
        else (Image.Transform.AFFINE, 6)
    )
    data = [float(v) for v in record[:count]]
    return image.transform(
        (width, height), kind, data, RESAMPLING[op.interpolation], fillcolor=colour(op.fill, image)
    )


APPLY: dict[type[Op], Callable[[Any, Any, Any], Any]] = {
    RandomResizedCrop: _random_resized_crop,
    Resize: _resize,
    CenterCrop: _center_crop,
    Pad: _window,
    RandomCrop: _window,
    RandomHorizontalFlip: _horizontal_flip,
    RandomVerticalFlip: _vertical_flip,
    RandomAffine: _warp,
    RandomPerspective: _warp,
    RandomRotation: _warp,
}
