"""CROP, or a step of AUGMENT: the ops that choose a side."""

from dataclasses import dataclass

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import Params, probability_problems
from fastload.transforms.kinds import Flip


@dataclass(frozen=True)
class _AtTimes(Flip):
    p: float = 0.5

    torchvision = ("p",)

    def problems(self, spec: Spec) -> list[str]:
        return probability_problems("p", self.p)

    def draws(self, spec: Spec) -> int:
        return 1

    def params(self, u: Floats, sizes: Ints) -> Params:
        """records: int32 [N, 1], 1 where the image is mirrored."""
        return Params((u < self.p).astype(np.int32), sizes)


@dataclass(frozen=True)
class RandomHorizontalFlip(_AtTimes):
    """Mirror left and right with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image, ImageOps
        >>> from fastload import transforms as T
        >>> image = Image.radial_gradient("L").convert("RGB").crop((0, 0, 120, 90))
        >>> T.RandomHorizontalFlip(p=1.0)(image) == ImageOps.mirror(image)
        True
    """

    axis = 1
    fast_decode = True


@dataclass(frozen=True)
class RandomVerticalFlip(_AtTimes):
    """Mirror top and bottom with probability p.

    Args:
        p: Probability, 0 to 1.

    Example:
        >>> from PIL import Image, ImageOps
        >>> from fastload import transforms as T
        >>> image = Image.radial_gradient("L").convert("RGB").crop((0, 0, 120, 90))
        >>> T.RandomVerticalFlip(p=1.0)(image) == ImageOps.flip(image)
        True
    """

    axis = 0
