"""AUGMENT: colour ops, each a program of one row or a few.

Names, defaults and arithmetic are torchvision v2's.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fastload.draws import look_up
from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, is_number, probability_problems
from fastload.transforms.programs import CODE, Program, rows, where
from fastload.transforms.sampling import order, single

JITTER = ("brightness", "contrast", "saturation", "hue")
JITTERED = ("Brightness", "Contrast", "Color", "Hue")


@dataclass(frozen=True)
class ColorJitter(Program):
    """Brightness, contrast, saturation and hue by random factors, in a random order.

    Each is None, a number v (factors from max(0, 1 - v) to 1 + v; hue -v to v), or their (low,
    high).

    Args:
        brightness: Factors of the values.
        contrast: Factors of the distance from the image's mean luma.
        saturation: Factors of the distance from the pixel's luma.
        hue: Turns of the colour circle, -0.5 to 0.5.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.ColorJitter(brightness=(0.5, 0.5))(image).getpixel((60, 45))
        (5, 50, 100)
    """

    brightness: Any = None
    contrast: Any = None
    saturation: Any = None
    hue: Any = None

    keeps_masks = True
    torchvision = JITTER

    def __post_init__(self) -> None:
        for name in JITTER:
            value = getattr(self, name)
            centre = 0.0 if name == "hue" else 1.0
            if is_number(value) and value >= 0:
                value = (
                    centre - value if name == "hue" else max(0.0, centre - value),
                    centre + value,
                )
            elif isinstance(value, (list, tuple)):
                value = tuple(value)
            object.__setattr__(self, name, None if value == (centre, centre) else value)

    def problems(self, spec: Spec) -> list[str]:
        problems = []
        for name in JITTER:
            value = getattr(self, name)
            low, high = (-0.5, 0.5) if name == "hue" else (0.0, float("inf"))
            numbers = (
                isinstance(value, tuple) and len(value) == 2 and all(is_number(v) for v in value)
            )
            if value is not None and not (numbers and low <= value[0] <= value[1] <= high):
                reach = "-0.5 to 0.5" if name == "hue" else "0 or more"
                problems.append(
                    f"{name} is {value}, want None, a number, or two rising numbers ({reach})"
                )
        return problems

    def _ranges(self) -> list[tuple[str, tuple[float, float]]]:
        """Ops that change something, and the range of each one's argument."""
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        return [
            (name, ends) for name, ends in zip(JITTERED, ranges, strict=True) if ends is not None
        ]

    def rows(self) -> int:
        return len(self._ranges())

    def draws(self, spec: Spec) -> int:
        return 2 * self.rows()  # turn in the order, argument

    def params(self, u: Floats, sizes: Ints) -> Params:
        used = self._ranges()
        if not used:
            return Params(np.zeros((len(sizes), 0, 3)), sizes)
        turns, u = order(u[:, : len(used)]), u[:, len(used) :]
        low, high = np.array([ends for _, ends in used]).T
        codes = np.array([CODE[name] for name, _ in used])
        return Params(
            rows(look_up(codes, turns), np.take_along_axis(single(u, low, high), turns, axis=1)),
            sizes,
        )


@dataclass(frozen=True)
class Maybe(Program, ABC):
    """One row with probability p."""

    keeps_masks = True
    torchvision: ClassVar[tuple[str, ...] | None] = ("p",)

    def problems(self, spec: Spec) -> list[str]:
        return probability_problems("p", self._p)

    @property
    def _p(self) -> float:
        p: float = getattr(self, "p", 1.0)
        return p

    def draws(self, spec: Spec) -> int:
        return 1

    def params(self, u: Floats, sizes: Ints) -> Params:
        name, argument = self._row()
        return Params(
            where(u < self._p, rows(CODE[name], np.full((len(sizes), 1), argument))), sizes
        )

    @abstractmethod
    def _row(self) -> tuple[str, float]:
        """Op and argument."""


@dataclass(frozen=True)
class RandomGrayscale(Maybe):
    """Luma in every channel with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), "red")
        >>> T.RandomGrayscale(p=1.0)(image).getpixel((60, 45))
        (76, 76, 76)
    """

    p: float = 0.1

    def _row(self) -> tuple[str, float]:
        return "Color", 0.0  # PIL's Color enhancement blends with the luma


@dataclass(frozen=True)
class Grayscale(Maybe):
    """Luma, in one channel or in three.

    With one, running the program is not enough: out_spec has fewer channels.

    Args:
        num_output_channels: 1 or 3.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), "red")
        >>> T.Grayscale(3)(image).getpixel((60, 45))
        (76, 76, 76)
    """

    num_output_channels: int = 1

    torchvision = ("num_output_channels",)

    def problems(self, spec: Spec) -> list[str]:
        known = self.num_output_channels in (1, 3)
        return [] if known else [f"num_output_channels is {self.num_output_channels}, want 1 or 3"]

    def draws(self, spec: Spec) -> int:
        return 0

    def out_spec(self, spec: Spec) -> Spec:
        return replace(spec, channels=self.num_output_channels)

    def params(self, u: Floats, sizes: Ints) -> Params:
        return super().params(np.zeros((len(sizes), 1)), sizes)

    def _row(self) -> tuple[str, float]:
        return "Color", 0.0
