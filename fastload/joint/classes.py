"""A mask of classes on its way through joint transforms: which of its rows and columns are seen.

torchvision moves such masks by flips, crops, nearest pixels, and padding with one number. All of
these take whole rows and columns. So a mask is two lists of numbers until the end, and what the
batch does not show is never touched.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from fastload import _native
from fastload.spec import Array, Longs, Pixels
from fastload.transforms.reference.masks import nearest

OUTSIDE = -1  # a row or column beyond the mask, which shows the fill
DTYPES = (torch.uint8, torch.int64)
Take = Callable[[tuple[int, int, int], np.dtype[Any]], Array]  # memory for a mask


@dataclass(frozen=True)
class ClassMask:
    """One of them.

    Args:
        pixels: uint8 [H, W], the numbers of classes.
        rows: int64, which of its rows are seen, in order; OUTSIDE: none.
        columns: The same.
        fill: What is seen outside.
        dtype: Of the tensor that it becomes.
        kind: That tensor's class.
    """

    pixels: Pixels
    rows: Longs
    columns: Longs
    fill: int
    dtype: torch.dtype
    kind: Any

    @property
    def size(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    def flip(self) -> "ClassMask":
        return replace(self, columns=self.columns[::-1])

    def cut(self, top: int, left: int, height: int, width: int) -> "ClassMask":
        """Only this box of what is seen now. It lies inside that."""
        return replace(
            self, rows=self.rows[top : top + height], columns=self.columns[left : left + width]
        )

    def pad(self, padding: list[int], fill: int) -> "ClassMask":
        """So many px more: left, top, right and bottom."""
        left, top, right, bottom = padding
        if fill != self.fill and (OUTSIDE in self.rows or OUTSIDE in self.columns):
            return self.settled().pad(padding, fill)
        rows, columns = _longer(self.rows, top, bottom), _longer(self.columns, left, right)
        return replace(self, rows=rows, columns=columns, fill=fill)

    def resize(self, height: int, width: int) -> "ClassMask":
        rows, columns = nearest(height, len(self.rows)), nearest(width, len(self.columns))
        return replace(self, rows=self.rows[rows], columns=self.columns[columns])

    def settled(self) -> "ClassMask":
        """The same of new pixels, all of which are seen."""
        pixels = np.empty(self.size, np.uint8)
        self._into(pixels)
        return replace(begun(pixels), dtype=self.dtype, kind=self.kind)

    def tensor(self, take: Take = np.empty) -> torch.Tensor:
        """[1, H, W] in memory that `take` gives."""
        out = take((1, *self.size), np.dtype(str(self.dtype).removeprefix("torch.")))
        self._into(out[0])
        made = torch.from_numpy(out)
        return made if self.kind is torch.Tensor else made.as_subclass(self.kind)

    def _into(self, out: Array) -> None:
        rows, columns = (np.ascontiguousarray(one) for one in (self.rows, self.columns))
        _native.mask_seen(self.pixels, rows, columns, self.fill, out)


def begun(pixels: Pixels) -> ClassMask:
    """All of a mask, uint8 [H, W]."""
    from torchvision import tv_tensors

    rows, columns = (np.arange(side) for side in pixels.shape)
    return ClassMask(pixels, rows, columns, 0, torch.uint8, tv_tensors.Mask)


def lazy(value: Any) -> Any:
    """torchvision's mask, if it is one of classes in uint8; else the value itself."""
    from torchvision import tv_tensors

    if type(value) is not tv_tensors.Mask:
        return value
    plain = value.as_subclass(torch.Tensor)  # of which facts are asked in a tenth of the time
    if plain.dtype != torch.uint8 or plain.ndim != 3 or plain.shape[0] != 1:
        return value
    return begun(np.ascontiguousarray(plain.numpy()[0]))


def settled(value: Any) -> Any:
    """The reverse."""
    return value.tensor() if isinstance(value, ClassMask) else value


def fill_of(fills: Any) -> int | None:
    """What torchvision fills masks with, by its dictionary of fills; None: nothing that one number
    of uint8 is.
    """
    from torchvision import tv_tensors

    value = fills[tv_tensors.Mask] if tv_tensors.Mask in fills else fills.get("others", ())
    if value is None:
        return 0
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return int(value) if whole and 0 <= value <= 255 else None


def _longer(numbers: Longs, before: int, after: int) -> Longs:
    first, last = (np.full(count, OUTSIDE, np.int64) for count in (before, after))
    return np.concatenate([first, numbers, last])
