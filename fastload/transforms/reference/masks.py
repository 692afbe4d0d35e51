"""Masks: class numbers per pixel, moved as their image is. Both backends use this; PyTorch's rule
of nearest pixels, as torchvision v2.

All that moves whole rows and columns is folded into two lists of numbers, so that a mask is
gathered once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fastload.spec import Longs, Records
from fastload.transforms.base import Op
from fastload.transforms.batch_resize import BatchCrop, BatchResize
from fastload.transforms.choose import RandomApply, RandomChoice
from fastload.transforms.color import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from fastload.transforms.colout import ColOut
from fastload.transforms.erasing import RandomErasing
from fastload.transforms.geometry import (
    CenterCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from fastload.transforms.matrices import IDENTITY
from fastload.transforms.output import Normalize, ToDtype, ToImage
from fastload.transforms.padding import Pad, RandomCrop
from fastload.transforms.reference import crop
from fastload.transforms.reference.decoding import opened
from fastload.transforms.warp import RandomAffine, RandomPerspective, RandomRotation

MaskPixels = NDArray[Any]  # uint8 or int32 [H, W]
MODES = (
    "1",
    "L",
    "P",
    "I",
    "I;16",
    "I;16B",
    "I;16L",
    "I;16N",
)  # Pillow's, of one channel of whole numbers


@dataclass(frozen=True)
class Moved:
    """A mask on its way: which of its rows and columns are left, in their order."""

    mask: MaskPixels
    rows: Longs
    columns: Longs

    @property
    def size(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def pixels(self) -> MaskPixels:
        return self.mask[self.rows][:, self.columns]  # five times as fast as np.ix_

    def taken(self, rows: Longs, columns: Longs) -> "Moved":
        """What is seen of it at these rows and columns."""
        return Moved(self.mask, self.rows[rows], self.columns[columns])


def _begun(mask: MaskPixels) -> Moved:
    return Moved(mask, np.arange(mask.shape[0]), np.arange(mask.shape[1]))


def nearest(count: int, side: int) -> Longs:
    """int64 [count]: which of 0..side-1 each px of the resized side shows, in torch's float32."""
    scale = np.float32(side) / np.float32(count)
    out: Longs = np.minimum(np.floor(np.arange(count, dtype=np.float32) * scale), side - 1).astype(
        np.int64
    )
    return out


def _resized_crop(op: RandomResizedCrop, mask: Moved, record: Records, fill: int | None) -> Moved:
    top, left, height, width = (int(v) for v in record)
    return mask.taken(top + nearest(op.size[0], height), left + nearest(op.size[1], width))


def _resize(op: Resize, mask: Moved, record: Records, fill: int | None) -> Moved:
    height, width = (int(v) for v in record)
    return mask.taken(nearest(height, mask.size[0]), nearest(width, mask.size[1]))


def _window(
    op: CenterCrop | Pad | RandomCrop, mask: Moved, record: Records, fill: int | None
) -> Moved:
    top, left, height, width = (int(v) for v in record)
    mode = getattr(op, "padding_mode", "constant")
    if mode != "constant":
        return mask.taken(
            crop.sources(mask.size[0], top, height, mode),
            crop.sources(mask.size[1], left, width, mode),
        )
    rows, columns = (
        np.arange(max(start, 0), min(start + length, side))
        for start, length, side in zip((top, left), (height, width), mask.size, strict=True)
    )
    seen = mask.taken(rows, columns)
    if seen.size == (height, width):
        return seen
    out = np.full((height, width), _fill(op, fill), mask.mask.dtype)
    out[np.ix_(rows - top, columns - left)] = seen.pixels()
    return _begun(out)


def _fill(op: Op, fill: int | None) -> int:
    """What is seen beyond a mask: what the user wants, or the op's fill."""
    given = (getattr(op, "fill", None) or 0) if fill is None else fill
    return int(given[0] if isinstance(given, (tuple, list)) else given)


def _horizontal_flip(
    op: RandomHorizontalFlip, mask: Moved, record: Records, fill: int | None
) -> Moved:
    return replace(mask, columns=mask.columns[::-1]) if int(record[0]) else mask


def _vertical_flip(op: RandomVerticalFlip, mask: Moved, record: Records, fill: int | None) -> Moved:
    return replace(mask, rows=mask.rows[::-1]) if int(record[0]) else mask


def _warp(
    op: RandomAffine | RandomPerspective | RandomRotation,
    mask: Moved,
    record: Records,
    fill: int | None,
) -> Moved:
    """By Pillow, which warps its image too: the same matrix, the nearest pixel."""
    height, width = (int(v) for v in record[8:])
    if tuple(record[:8]) == IDENTITY and mask.size == (height, width):
        return mask
    kind, count = (
        (Image.Transform.PERSPECTIVE, 8)
        if isinstance(op, RandomPerspective)
        else (Image.Transform.AFFINE, 6)
    )
    matrix, image = [float(v) for v in record[:count]], Image.fromarray(mask.pixels())
    return _begun(
        np.asarray(
            image.transform(
                (width, height), kind, matrix, Image.Resampling.NEAREST, fillcolor=_fill(op, fill)
            )
        )
    )


def _gather(op: ColOut | BatchResize, mask: Moved, record: Records, fill: int | None) -> Moved:
    rows, columns = op.kept(*mask.size)
    return mask.taken(
        record[:rows].astype(np.int64), record[rows : rows + columns].astype(np.int64)
    )


MOVES: dict[type[Op], Callable[[Any, Moved, Any, int | None], Moved]] = {
    RandomResizedCrop: _resized_crop,
    Resize: _resize,
    CenterCrop: _window,
    Pad: _window,
    RandomCrop: _window,
    RandomHorizontalFlip: _horizontal_flip,
    RandomVerticalFlip: _vertical_flip,
    RandomAffine: _warp,
    RandomPerspective: _warp,
    RandomRotation: _warp,
    ColOut: _gather,
    BatchResize: _gather,
    BatchCrop: _gather,
}
STILL = (  # these leave masks as they are
    ColorJitter, GaussianBlur, Grayscale, RandomAdjustSharpness, RandomAutocontrast, RandomEqualize,
    RandomErasing, RandomGrayscale,
    RandomInvert, RandomPosterize, RandomSolarize, Normalize, ToDtype, ToImage,
)  # fmt: skip


def problems(op: Op, fill: int | None) -> list[str]:
    """Why masks cannot follow an op: "what; what to do"."""
    parts = op.transforms if isinstance(op, (RandomApply, RandomChoice)) else (op,)
    if any(not isinstance(part, (*MOVES, *STILL)) for part in parts):
        return ["masks have no such op; leave it out"]
    given = getattr(op, "fill", None)
    if fill is None and isinstance(given, (tuple, list)) and len(set(given)) > 1:
        return [f"fills with {given}, and a mask has one number; give mask_fill"]
    return []


def moved(
    mask: MaskPixels, ops: Iterable[Op], records: Iterable[Records], fill: int | None
) -> MaskPixels:
    """The mask [H, W] after the ops, by its image's records.

    fill: what is seen beyond it; None: what each op says.
    """
    now = _begun(mask)
    for op, record in zip(ops, records, strict=True):
        if move := MOVES.get(type(op)):
            now = move(op, now, record, fill)
    return now.pixels()


def decode(data: bytes) -> MaskPixels:
    """uint8 [H, W], or int32 where the format has more: the numbers as they are, of a palette image
    its indices.

    Raises what pil.DECODE_ERRORS names; ValueError for images of several channels or of fractions.
    """
    with opened(data, 1, 12) as image:  # of int32, and the copies on the way
        if image.mode not in MODES:
            raise ValueError(
                f"mode {image.mode}, want one channel of class numbers: {', '.join(MODES[:4])}"
            )
        values = np.array(image)
    return values.astype(np.uint8 if values.dtype.itemsize == 1 else np.int32)
