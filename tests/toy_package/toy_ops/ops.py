"""One op of each way that a package can add one."""

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image

from fastload.spec import Floats, Ints, Records, Spec, Stage
from fastload.transforms.base import Op, Params, probability_problems
from fastload.transforms.kinds import Values
from fastload.transforms.programs import CODE, Program, rows, where
from fastload.transforms.reference.pixels import pixels


@dataclass(frozen=True)
class RandomPoster(Program):
    """Keep the highest `bits` of each value and invert it, with probability p."""

    bits: int = 2  # 1..8
    p: float = 0.5

    keeps_masks = True

    def problems(self, spec: Spec) -> list[str]:
        fits = isinstance(self.bits, int) and 1 <= self.bits <= 8
        wrong = [] if fits else [f"bits is {self.bits}, want a whole number from 1 to 8"]
        return wrong + probability_problems("p", self.p)

    def rows(self) -> int:
        return 2

    def draws(self, spec: Spec) -> int:
        return 1

    def params(self, u: Floats, sizes: Ints) -> Params:
        both = rows([CODE["Posterize"], CODE["Invert"]], [self.bits, 0])
        return Params(where(u < self.p, both), sizes)


@dataclass(frozen=True)
class Square(Values):
    """Each value times itself."""

    def problems(self, spec: Spec) -> list[str]:
        return [] if spec.dtype == "float32" else ["want float32; put ToTensor before it"]


@pixels.register
def _square(op: Square, image: torch.Tensor, record: Records) -> torch.Tensor:
    return image * image


@dataclass(frozen=True)
class Vignette(Op):
    """Make what is further than `reach` half-diagonals from the middle black."""

    reach: float = 0.7

    stage = Stage.AUGMENT
    keeps_masks = True


@pixels.register
def _vignette(op: Vignette, image: Image.Image, record: Records) -> Image.Image:
    down, across = np.ogrid[-1 : 1 : image.height * 1j, -1 : 1 : image.width * 1j]
    seen = (down**2 + across**2) / 2 <= op.reach**2
    return Image.fromarray(np.asarray(image) * seen[..., None])
