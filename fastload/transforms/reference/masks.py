"""Masks: class numbers per pixel, moved as their image is. Both backends use this; PyTorch's rule
of nearest pixels, as torchvision v2.

All that moves whole rows and columns is folded into two lists of numbers, so that a mask is
gathered once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fastload.spec import Ints, Longs, Records
from fastload.transforms.base import Op
from fastload.transforms.kinds import Flip, Gather, Region, Warp, Window
from fastload.transforms.reference import crop
from fastload.transforms.reference.decoding import opened

MaskPixels = NDArray[Any]  # uint8 or int32 [H, W]
# Pillow's modes with one channel of integers
MODES = ("1", "L", "P", "I", "I;16", "I;16B", "I;16L", "I;16N")


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


@singledispatch
def moved_by(op: Op, mask: Moved, record: Records, fill: int | None) -> Moved:
    """A mask after the op, by one sample's record; a function for a class is registered with
    `@moved_by.register`, and serves its subclasses. fill: as `moved` has it.
    """
    return mask


@moved_by.register
def _region(op: Region, mask: Moved, record: Ints, fill: int | None) -> Moved:
    one, size = record[None], np.array([mask.size], np.int32)
    top, left, height, width = (int(v) for v in op.boxes(one, size)[0])
    rows, columns = (int(v) for v in op.targets(one, size)[0])
    return mask.taken(top + nearest(rows, height), left + nearest(columns, width))


@moved_by.register
def _window(op: Window, mask: Moved, record: Records, fill: int | None) -> Moved:
    top, left, height, width = (int(v) for v in record)
    if op.padding_mode != "constant":
        return mask.taken(
            crop.sources(mask.size[0], top, height, op.padding_mode),
            crop.sources(mask.size[1], left, width, op.padding_mode),
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
    value = (getattr(op, "fill", None) or 0) if fill is None else fill
    return int(value[0] if isinstance(value, (tuple, list)) else value)


@moved_by.register
def _flip(op: Flip, mask: Moved, record: Records, fill: int | None) -> Moved:
    if not int(record[0]):
        return mask
    return (
        replace(mask, columns=mask.columns[::-1])
        if op.axis
        else replace(mask, rows=mask.rows[::-1])
    )


@moved_by.register
def _warp(op: Warp, mask: Moved, record: Records, fill: int | None) -> Moved:
    """By Pillow, which warps its image too: the same matrix, the nearest pixel."""
    before = Image.fromarray(mask.pixels())
    after = crop.warped(op, before, record, Image.Resampling.NEAREST, _fill(op, fill))
    return mask if after is before else _begun(np.asarray(after))


@moved_by.register
def _gather(op: Gather, mask: Moved, record: Records, fill: int | None) -> Moved:
    rows, columns = op.kept(*mask.size)
    return mask.taken(
        record[:rows].astype(np.int64), record[rows : rows + columns].astype(np.int64)
    )


def problems(op: Op, fill: int | None) -> list[str]:
    """Why masks cannot follow an op: "what; what to do"."""
    if not op.keeps_masks and moved_by.dispatch(type(op)) is moved_by.dispatch(object):
        return ["masks have no such op; leave it out"]
    own_fill = getattr(op, "fill", None)
    if fill is None and isinstance(own_fill, (tuple, list)) and len(set(own_fill)) > 1:
        return [f"fills with {own_fill}, and a mask has one number; give mask_fill"]
    return []


def moved(
    mask: MaskPixels, ops: Iterable[Op], records: Iterable[Records], fill: int | None
) -> MaskPixels:
    """The mask [H, W] after the ops, by its image's records.

    fill: what is seen beyond it; None: what each op says.
    """
    now = _begun(mask)
    for op, record in zip(ops, records, strict=True):
        now = moved_by(op, now, record, fill)
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
