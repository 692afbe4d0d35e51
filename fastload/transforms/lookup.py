"""AUGMENT: ops that take each value from a table, and sharpness, each a program of one row.

Names, defaults and arithmetic are torchvision v2's.
"""

from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageOps

from fastload.spec import Spec
from fastload.transforms.base import is_number
from fastload.transforms.color import Maybe


@lru_cache(maxsize=1)
def fewest_bits() -> int:
    """How few bits of a value the installed Pillow keeps: Pillow 13 refuses 0."""
    try:
        ImageOps.posterize(Image.new("L", (1, 1)), 0)
    except ValueError:
        return 1
    return 0


@dataclass(frozen=True)
class RandomSolarize(Maybe):
    """Invert the values from `threshold` (0..256) up, with probability p.

    Args:
        threshold: The lowest value that is inverted.
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomSolarize(128, p=1.0)(image).getpixel((60, 45))
        (10, 100, 55)
    """

    threshold: float
    p: float = 0.5

    torchvision = ("threshold", "p")

    def problems(self, spec: Spec) -> list[str]:
        fits = is_number(self.threshold) and 0 <= self.threshold <= 256
        return super().problems(spec) + (
            [] if fits else [f"threshold is {self.threshold}, want 0 to 256"]
        )

    def _row(self) -> tuple[str, float]:
        return "Solarize", float(self.threshold)


@dataclass(frozen=True)
class RandomPosterize(Maybe):
    """Keep the highest `bits` (1..8) of each value, with probability p.

    Before Pillow 13 also 0, which is black.

    Args:
        bits: How many bits stay.
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomPosterize(1, p=1.0)(image).getpixel((60, 45))
        (0, 0, 128)
    """

    bits: int
    p: float = 0.5

    torchvision = ("bits", "p")

    def problems(self, spec: Spec) -> list[str]:
        low = fewest_bits()
        fits = isinstance(self.bits, int) and low <= self.bits <= 8
        wanted = f"bits is {self.bits}, want a whole number from {low} to 8"
        return super().problems(spec) + ([] if fits else [wanted])

    def _row(self) -> tuple[str, float]:
        return "Posterize", float(self.bits)


@dataclass(frozen=True)
class RandomAdjustSharpness(Maybe):
    """Blur (factor below 1) or sharpen (above 1) with probability p.

    Args:
        sharpness_factor: 0 or more; 1 changes nothing.
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomAdjustSharpness(2.0, p=1.0)(image).getpixel((60, 45))
        (10, 100, 200)
    """

    sharpness_factor: float
    p: float = 0.5

    torchvision = ("sharpness_factor", "p")

    def problems(self, spec: Spec) -> list[str]:
        fits = is_number(self.sharpness_factor) and self.sharpness_factor >= 0
        return super().problems(spec) + (
            [] if fits else [f"sharpness_factor is {self.sharpness_factor}, want 0 or more"]
        )

    def _row(self) -> tuple[str, float]:
        return "Sharpness", float(self.sharpness_factor)


@dataclass(frozen=True)
class RandomEqualize(Maybe):
    """Equalise each channel's histogram with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomEqualize(p=1.0)(image).getpixel((60, 45))
        (10, 100, 200)
    """

    p: float = 0.5

    def _row(self) -> tuple[str, float]:
        return "Equalize", 0.0


@dataclass(frozen=True)
class RandomAutocontrast(Maybe):
    """Stretch each channel to 0..255 with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomAutocontrast(p=1.0)(image).getpixel((60, 45))
        (10, 100, 200)
    """

    p: float = 0.5

    def _row(self) -> tuple[str, float]:
        return "AutoContrast", 0.0


@dataclass(frozen=True)
class RandomInvert(Maybe):
    """255 - value with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> image = Image.new("RGB", (120, 90), (10, 100, 200))
        >>> T.RandomInvert(p=1.0)(image).getpixel((60, 45))
        (245, 155, 55)
    """

    p: float = 0.5

    def _row(self) -> tuple[str, float]:
        return "Invert", 0.0
