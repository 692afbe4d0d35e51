"""CROP: windows that may reach beyond the image.

Names, defaults and arithmetic are torchvision v2's.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastload.draws import any_refused
from fastload.errors import PipelineError
from fastload.spec import Floats, Ints, Longs, Spec
from fastload.transforms.base import (
    MAX_SIDE,
    Fill,
    Params,
    everywhere,
    fill_problems,
    fitted_size,
    pair,
    size_problems,
)
from fastload.transforms.kinds import Window

MODES = ("constant", "edge", "reflect", "symmetric")
Border = tuple[int, int, int, int]  # left, top, right, bottom; px


def border(padding: Any) -> Any:
    """torchvision's `padding` as (left, top, right, bottom): from one number, (left and right, top
    and bottom), or all four.
    """
    values = (padding,) if isinstance(padding, int) else tuple(padding or (0,))
    return {1: values * 4, 2: values * 2}.get(len(values), values)


def border_problems(padding: tuple[Any, ...], mode: str, fill: object, channels: int) -> list[str]:
    problems = []
    if len(padding) != 4 or not all(
        isinstance(v, int) and not isinstance(v, bool) and 0 <= v <= MAX_SIDE for v in padding
    ):
        problems.append(
            f"padding is {padding}, want 1, 2 or 4 whole numbers from 0 to {MAX_SIDE} px"
        )
    if mode not in MODES:
        problems.append(f"padding_mode is {mode!r}, want one of {', '.join(MODES)}")
    return problems + fill_problems(fill, channels)


@dataclass(frozen=True)
class Pad(Window):
    """Widen every image by a border.

    Args:
        padding: One number, (left and right, top and bottom), or (left, top, right, bottom), px;
            kept as four.
        fill: Of padding_mode constant: a number, or one per channel; None: black.
        padding_mode: constant, edge, reflect or symmetric.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.Pad((4, 2))(Image.new("RGB", (120, 90))).size
        (128, 94)
    """

    padding: Any
    fill: Fill = 0
    padding_mode: str = "constant"

    torchvision = ("padding", "fill", "padding_mode")

    def __post_init__(self) -> None:
        object.__setattr__(self, "padding", border(self.padding))

    def problems(self, spec: Spec) -> list[str]:
        return border_problems(self.padding, self.padding_mode, self.fill, spec.channels)

    def out_spec(self, spec: Spec) -> Spec:
        left, top, right, bottom = self.padding
        known = spec.height is not None and spec.width is not None
        return (
            spec.resized((spec.height or 0) + top + bottom, (spec.width or 0) + left + right)
            if known
            else spec
        )

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 4] top, left (0 or negative), height, width of the window, px."""
        left, top, right, bottom = self.padding
        after = (sizes + np.array([top + bottom, left + right])).astype(np.int32)
        return Params(np.concatenate([everywhere((-top, -left), sizes), after], axis=1), after)

    def stays_inside(self, before: Spec) -> bool:
        return not any(self.padding)


@dataclass(frozen=True)
class RandomCrop(Window):
    """Cut `size` at random from the image, padded on request.

    Args:
        size: Height and width, or one number for both, px; kept as a pair.
        padding: As Pad's; None: no border.
        pad_if_needed: Whether smaller images are padded by what they lack, on both sides.
        fill: Of padding_mode constant: a number, or one per channel; None: black.
        padding_mode: constant, edge, reflect or symmetric.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandomCrop((48, 64))(Image.new("RGB", (120, 90))).size
        (64, 48)
    """

    size: Any
    padding: Any = None
    pad_if_needed: bool = False
    fill: Fill = 0
    padding_mode: str = "constant"

    torchvision = ("size", "padding", "pad_if_needed", "fill", "padding_mode")

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", pair(self.size))
        object.__setattr__(self, "padding", None if self.padding is None else border(self.padding))

    @property
    def _border(self) -> Border:
        return self.padding or (0, 0, 0, 0)

    @property
    def _wider(self) -> Longs:
        """What the border adds to height and width, px."""
        left, top, right, bottom = self._border
        return np.array([top + bottom, left + right])

    def problems(self, spec: Spec) -> list[str]:
        problems = size_problems(self.size) + border_problems(
            self._border, self.padding_mode, self.fill, spec.channels
        )
        if not problems and spec.height is not None and spec.width is not None:
            problems += self._too_small(np.array([[spec.height, spec.width]], np.int32))
        return problems

    def _too_small(self, sizes: Ints) -> list[str]:
        small = (sizes + self._wider < self.size).any(axis=1)
        if self.pad_if_needed or not any_refused(small):
            return []
        height, width = sizes[small.argmax()]
        border_ = " with its padding" * (self.padding is not None)
        size = f"{self.size[0]}x{self.size[1]}"
        return [
            (
                f"size is {size}, but an image of {height}x{width} px{border_} is smaller; set "
                "pad_if_needed=True, or resize first"
            )
        ]

    def draws(self, spec: Spec) -> int:
        return 2  # top, left

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(*self.size)

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 4] top, left (negative: padding), height, width of the window, px.

        Raises PipelineError for images that are too small, unless pad_if_needed.
        """
        if problems := self._too_small(sizes):
            raise PipelineError(f"{self.name}: {problem}" for problem in problems)
        left, top, _, _ = self._border
        out = everywhere(self.size, sizes)
        lacking = np.maximum(out - sizes - self._wider, 0)
        start = -(np.array([top, left]) + lacking)
        room = sizes + self._wider + 2 * lacking - out
        start = start + np.floor(u * (room + 1)).astype(np.int64)
        return Params(np.concatenate([start.astype(np.int32), out], axis=1), out)

    def stays_inside(self, before: Spec) -> bool:
        height, width = before.height or 0, before.width or 0  # 0: not known
        fits = self.size[0] <= height and self.size[1] <= width
        # Without pad_if_needed it refuses images that are smaller.
        return not any(self._border) and (not self.pad_if_needed or bool(fits))

    def scaled(self, factor: float) -> "RandomCrop | None":
        return self.fitted(factor, factor)

    def fitted(self, height: float, width: float) -> "RandomCrop | None":
        if self.padding is not None:
            return None
        return replace(self, size=fitted_size(self.size, height, width))
