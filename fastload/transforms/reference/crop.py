"""CROP on PIL images."""

from typing import Any

import numpy as np
from PIL import Image

from fastload.spec import Ints, Longs, Records
from fastload.transforms.base import FILTERS, Op
from fastload.transforms.kinds import Flip, Region, Warp, Window
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.reference.pixels import pixels

RESAMPLING = {name: Image.Resampling(number) for name, number in FILTERS.items()}


@pixels.register
def _region(op: Region, image: Image.Image, record: Ints) -> Image.Image:
    one, size = record[None], np.array([[image.height, image.width]], np.int32)
    top, left, height, width = (int(v) for v in op.boxes(one, size)[0])
    out_height, out_width = (int(v) for v in op.targets(one, size)[0])
    drawn = op.filters(one)
    resampling = RESAMPLING[op.interpolation] if drawn is None else Image.Resampling(int(drawn[0]))
    if (height, width) != (image.height, image.width):
        image = image.crop((left, top, left + width, top + height))
    return image.resize((out_width, out_height), resampling)


@pixels.register
def _window(op: Window, image: Image.Image, record: Records) -> Image.Image:
    top, left, height, width = (int(v) for v in record)
    if op.padding_mode == "constant":
        out = Image.new(image.mode, (width, height), colour(op, image))
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


def colour(op: Op, image: Image.Image) -> int | tuple[int, ...]:
    """The op's fill in an image's mode, as PIL takes it."""
    values = op.colour(len(image.getbands()))
    return values[0] if len(values) == 1 else values


@pixels.register
def _flip(op: Flip, image: Image.Image, record: Records) -> Image.Image:
    if not int(record[0]):
        return image
    return image.transpose(
        Image.Transpose.FLIP_LEFT_RIGHT if op.axis else Image.Transpose.FLIP_TOP_BOTTOM
    )


@pixels.register
def _warp(op: Warp, image: Image.Image, record: Records) -> Image.Image:
    return warped(op, image, record, RESAMPLING[op.interpolation], colour(op, image))


def warped(
    op: Warp,
    image: Image.Image,
    record: Records,
    resampling: Image.Resampling,
    fill: int | tuple[int, ...],
) -> Image.Image:
    """An image, or a mask, through a record's matrix; the same object where nothing moves."""
    height, width = (int(v) for v in record[8:])
    if tuple(record[:8]) == IDENTITY and image.size == (width, height):
        return image
    kind = Image.Transform.PERSPECTIVE if op.projective else Image.Transform.AFFINE
    return image.transform(
        (width, height), kind, op.coefficients(record), resampling, fillcolor=fill
    )
