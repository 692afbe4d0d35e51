"""AUGMENT: GaussianBlur. Name, defaults and arithmetic are torchvision v2's."""

from dataclasses import dataclass
from typing import Any

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, is_number, pair
from fastload.transforms.programs import CODE, Program, rows
from fastload.transforms.sampling import single

LARGEST_KERNEL = 255  # px
LARGEST_SIGMA = 100  # px, of Pillow's blur


@dataclass(frozen=True)
class GaussianBlur(Program):
    """Blur with a standard deviation drawn from `sigma` (px); edges are mirrored.

    Args:
        kernel_size: Odd, px: one number, or (width, height), as torchvision has it.
        sigma: (low, high), or one number, px.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.GaussianBlur(5, 1.0)(Image.new("RGB", (120, 90), "red")).getpixel((60, 45))
        (255, 0, 0)
    """

    kernel_size: Any
    sigma: Any = (0.1, 2.0)

    keeps_masks = True
    torchvision = ("kernel_size", "sigma")

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel_size", pair(self.kernel_size))
        sigma = (self.sigma,) if isinstance(self.sigma, (int, float)) else tuple(self.sigma)
        object.__setattr__(self, "sigma", sigma * 2 if len(sigma) == 1 else sigma)

    def problems(self, spec: Spec) -> list[str]:
        size, problems = self.kernel_size, []
        if len(size) != 2 or not all(
            isinstance(s, int) and 0 < s <= LARGEST_KERNEL and s % 2 for s in size
        ):
            problems.append(f"kernel_size is {size}, want odd numbers from 1 to {LARGEST_KERNEL}")
        elif (
            spec.width
            and spec.height
            and (size[0] // 2 >= spec.width or size[1] // 2 >= spec.height)
        ):
            problems.append(
                f"kernel_size is {size}, too large to mirror an image of "
                f"{spec.height}x{spec.width}; take a smaller one"
            )
        if (
            len(self.sigma) != 2
            or not all(is_number(s) for s in self.sigma)
            or not 0 < self.sigma[0] <= self.sigma[1]
        ):
            problems.append(f"sigma is {self.sigma}, want two rising numbers above 0")
        return problems

    def draws(self, spec: Spec) -> int:
        return 1

    def params(self, u: Floats, sizes: Ints) -> Params:
        return Params(rows(CODE["GaussianBlur"], single(u, *self.sigma)), sizes)


@dataclass(frozen=True)
class PillowBlur(Program):
    """Pillow's ImageFilter.GaussianBlur: three box blurs, for a standard deviation that is drawn
    from `sigma` (px). Users' classes are lowered to it.
    """

    sigma: tuple[float, float]

    keeps_masks = True

    def problems(self, spec: Spec) -> list[str]:
        low, high = self.sigma
        fits = is_number(low) and is_number(high) and 0 <= low <= high <= LARGEST_SIGMA
        text = f"sigma is {self.sigma}, want two rising numbers from 0 to {LARGEST_SIGMA}"
        return [] if fits else [text]

    def draws(self, spec: Spec) -> int:
        return 1

    def params(self, u: Floats, sizes: Ints) -> Params:
        low, high = self.sigma
        return Params(rows(CODE["GaussianBlurPIL"], low + (high - low) * u), sizes)
