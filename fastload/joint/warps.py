"""Joint transforms that resample through a matrix: rotation, affine maps, perspective.

Each draws as the op of CROP of its name does, and has its matrices and pixels.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from fastload.backends.native import crop as kernels
from fastload.joint.picture import Picture, Size
from fastload.joint.steps import Draw, JointStep, Params, Target
from fastload.spec import Floats, Ints, Spec
from fastload.transforms import RandomAffine, RandomPerspective, RandomRotation
from fastload.transforms.kinds import Warp
from fastload.transforms.pil import RESAMPLING
from fastload.transforms.reference.crop import warped
from fastload.transforms.warp import Moves


@dataclass(frozen=True)
class Warping(JointStep):
    """One of them."""

    @property
    @abstractmethod
    def by(self) -> Warp:
        """The op."""

    @abstractmethod
    def matrix(self, params: Params, size: Size) -> tuple[Floats, Ints]:
        """Pillow's coefficients float64 [1, 8], and the size after it, int32 [1, 2]."""

    def move(self, picture: Picture, params: Params) -> None:
        matrix, size = self.matrix(params, picture.size)
        record = np.concatenate([matrix, size], axis=1)
        if kernels.warp_problems("", self.by):  # Pillow has no limits
            filter, fill = RESAMPLING[self.by.interpolation], self.by.colour()
            image = Image.fromarray(picture.made())
            picture.become(np.array(warped(self.by, image, record[0], filter, fill)))
        else:
            picture.augment(np.ascontiguousarray(kernels.warp(self.by, record)))


@dataclass(frozen=True)
class Rotation(Warping):
    """RandomRotation."""

    op: RandomRotation

    @property
    def by(self) -> Warp:
        return self.op

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        return {"angle": float(self.op.drawn(draw(1)[None])[0])}

    def matrix(self, params: Params, size: Size) -> tuple[Floats, Ints]:
        return self.op.turned(np.array([params["angle"]]), _sizes(size))


@dataclass(frozen=True)
class Affine(Warping):
    """RandomAffine."""

    op: RandomAffine

    @property
    def by(self) -> Warp:
        return self.op

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        drawn = self.op.drawn(draw(self.op.draws(Spec()))[None], _sizes(picture.size))
        angle, scale, *shear = (
            float(one[0]) for one in (drawn.angle, drawn.scale, drawn.shear_x, drawn.shear_y)
        )
        translate = (int(drawn.move[0, 0]), int(drawn.move[0, 1]))
        return {"angle": angle, "translate": translate, "scale": scale, "shear": tuple(shear)}

    def matrix(self, params: Params, size: Size) -> tuple[Floats, Ints]:
        angle, scale, *shear = (
            np.array([one]) for one in (params["angle"], params["scale"], *params["shear"])
        )
        move: Any = np.array([params["translate"]], np.float64)
        sizes = _sizes(size)
        return self.op.moved(Moves(angle, move, scale, *shear), sizes), sizes


@dataclass(frozen=True)
class Perspective(Warping):
    """RandomPerspective."""

    op: RandomPerspective

    @property
    def by(self) -> Warp:
        return self.op

    def draw(self, draw: Draw, picture: Picture, target: Target) -> Params | None:
        u, sizes = draw(self.op.draws(Spec())), _sizes(picture.size)
        if u[0] >= self.op.p:
            return None
        record: Any = self.op.params(u[None], sizes).records[0]
        return {"coefficients": record[:8].tolist()}

    def matrix(self, params: Params, size: Size) -> tuple[Floats, Ints]:
        return np.array([params["coefficients"]]), _sizes(size)


def _sizes(size: Size) -> Ints:
    return np.array([size], np.int32)
