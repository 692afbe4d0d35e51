"""CROP: ops that resample through a matrix. Names, defaults and arithmetic are torchvision v2's
and, below it, PIL's.

records: float64 [N, 10]. First come PIL's coefficients a..h. The pixel at (x, y) comes from
((a x + b y + c) / w, (d x + e y + f) / w) with w = g x + h y + 1, all at pixel centres. Then come
the height and width of the result, px. IDENTITY leaves the image as it is.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastload.spec import Floats, Ints, Spec
from fastload.transforms.base import (
    Fill,
    Params,
    definition_problems,
    fill_problems,
    filter_name,
    filter_problems,
    is_number,
    probability_problems,
)
from fastload.transforms.kinds import Warp
from fastload.transforms.matrices import IDENTITY, Definition, affine, expand, perspective, rotation
from fastload.transforms.sampling import single


def symmetric(value: object) -> Any:
    """torchvision's ranges of angles: a number v is (-v, v)."""
    if is_number(value):
        return (-value, value) if value >= 0 else value
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _range_problems(name: str, value: object, lengths: tuple[int, ...]) -> list[str]:
    fits = (
        isinstance(value, tuple)
        and len(value) in lengths
        and all(is_number(v) for v in value)
        and all(low <= high for low, high in zip(value[::2], value[1::2], strict=True))
    )
    wanted = "2 rising numbers" if lengths == (2,) else "2 or 4 numbers, each pair rising"
    return [] if fits else [f"{name} is {value}, want a number from 0 up, or {wanted}"]


def _two(value: object, low: float, high: float) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(is_number(v) and low <= v <= high for v in value)
    )


def _centre_problems(centre: object) -> list[str]:
    fits = centre is None or (
        isinstance(centre, tuple) and len(centre) == 2 and all(is_number(v) for v in centre)
    )
    return [] if fits else [f"center is {centre}, want None or x and y, px"]


def _common_problems(spec: Spec, interpolation: str, fill: object) -> list[str]:
    return filter_problems(interpolation) + fill_problems(fill, spec.channels)


def _params(matrices: Floats, sizes: Ints) -> Params:
    return Params(np.concatenate([matrices, sizes], axis=1), sizes)


def _at_times(p: float, u: Floats, matrices: Floats) -> Floats:
    """The matrices with probability p, by the last of the uniforms where p is below 1."""
    return matrices if p == 1 else np.where(u[:, -1:] < p, matrices, np.array(IDENTITY))


@dataclass(frozen=True)
class RandomRotation(Warp):
    """Turn by an angle drawn from `degrees`, counter-clockwise.

    Args:
        degrees: (low, high); a number v is (-v, v).
        interpolation: torchvision's or its name.
        expand: Whether the image grows to hold all of itself.
        center: x and y, px; None: the middle.
        fill: What is seen outside the image: a number, or one per channel; None: black.
        p: Probability, 0 to 1; not in torchvision, whose RandomApply does the same.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandomRotation((90, 90), expand=True)(Image.new("RGB", (120, 90))).size
        (90, 120)
    """

    degrees: Any
    interpolation: str = "nearest"
    expand: bool = False
    center: Any = None
    fill: Fill = 0
    p: float = 1.0

    torchvision = ("degrees", "interpolation", "expand", "center", "fill")

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", symmetric(self.degrees))
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))
        object.__setattr__(
            self, "center", tuple(self.center) if isinstance(self.center, list) else self.center
        )

    def problems(self, spec: Spec) -> list[str]:
        problems = (
            _range_problems("degrees", self.degrees, (2,))
            + _centre_problems(self.center)
            + probability_problems("p", self.p)
        )
        if self.expand and self.p != 1:
            problems.append(
                f"p is {self.p} with expand=True, which makes images of two sizes; leave one of "
                "them out"
            )
        return problems + _common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 1 + (self.p != 1)

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(None, None) if self.expand else spec

    def params(self, u: Floats, sizes: Ints) -> Params:
        matrices, after = self.turned(self.drawn(u), sizes)
        return _params(_at_times(self.p, u, matrices), after)

    def drawn(self, u: Floats) -> Floats:
        """Angles [N], degrees, as torchvision draws them."""
        return single(u[:, 0], *self.degrees)

    def turned(self, angle: Floats, sizes: Ints) -> tuple[Floats, Ints]:
        """Matrices [N, 8] of angles [N], degrees, and the sizes after them."""
        centre = (
            sizes[:, ::-1] / 2
            if self.center is None
            else np.broadcast_to(np.array(self.center, np.float64), sizes.shape)
        )
        angle = angle % 360.0
        matrices = rotation(angle, centre)
        right = (angle % 90 == 0) & (self.center is None)
        return expand(matrices, sizes, right) if self.expand else (matrices, sizes)


class Moves(NamedTuple):
    """What RandomAffine draws: float64 [N]; angles in degrees; move: [N, 2], x and y, px."""

    angle: Floats
    move: Floats
    scale: Floats
    shear_x: Floats
    shear_y: Floats


@dataclass(frozen=True)
class RandomAffine(Warp):
    """Turn, move, scale and shear at random, about the middle or `center`.

    Args:
        degrees: (low, high); a number v is (-v, v).
        translate: Largest share of width and of height, 0..1; None: 0.
        scale: Smallest and largest factor; None: 1.
        shear: Degrees: v is x from (-v, v); 2 numbers are x's range, 4 also y's; None: 0.
        interpolation: torchvision's or its name.
        fill: What is seen outside the image: a number, or one per channel; None: black.
        center: x and y, px; None: the middle.
        p: Probability, 0 to 1; not in torchvision, whose RandomApply does the same.
        definition: Which of torchvision's APIs has this order of operations.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandomAffine(10, translate=(0.1, 0.1))(Image.new("RGB", (120, 90))).size
        (120, 90)
    """

    degrees: Any
    translate: Any = None
    scale: Any = None
    shear: Any = None
    interpolation: str = "nearest"
    fill: Fill = 0
    center: Any = None
    p: float = 1.0
    definition: Definition = field(default="v2", repr=False)

    torchvision = (
        "degrees", "translate", "scale", "shear", "interpolation", "fill", "center"
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in ("degrees", "shear"):
            object.__setattr__(self, name, symmetric(getattr(self, name)))
        for name in ("translate", "scale", "center"):
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        problems = (
            _range_problems("degrees", self.degrees, (2,))
            + _centre_problems(self.center)
            + probability_problems("p", self.p)
            + definition_problems(self.definition, "v1", "v2")
        )
        if self.shear is not None:
            problems += _range_problems("shear", self.shear, (2, 4))
        if self.translate is not None and not _two(self.translate, 0.0, 1.0):
            problems.append(f"translate is {self.translate}, want None or 2 numbers from 0 to 1")
        rising = _two(self.scale, 1e-6, math.inf) and self.scale[0] <= self.scale[1]
        if self.scale is not None and not rising:
            problems.append(f"scale is {self.scale}, want None or 2 rising numbers above 0")
        return problems + _common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 6 + (self.p != 1)  # angle, translation x and y, scale, shear x and y; whether

    def params(self, u: Floats, sizes: Ints) -> Params:
        matrices = self.moved(self.drawn(u, sizes), sizes)
        return _params(_at_times(self.p, u, matrices), sizes)

    def drawn(self, u: Floats, sizes: Ints) -> Moves:
        """As torchvision draws them."""
        most = sizes[:, ::-1] * np.array(self.translate or (0.0, 0.0))
        move = np.rint(single(u[:, 1:3], -most, most))
        shear = (*(self.shear or (0.0, 0.0)), 0.0, 0.0)[:4]
        ranges = ((0, self.degrees), (3, self.scale or (1.0, 1.0)), (4, shear[:2]), (5, shear[2:]))
        angle, scale, shear_x, shear_y = (single(u[:, column], *ends) for column, ends in ranges)
        return Moves(angle, move, scale, shear_x, shear_y)

    def moved(self, moves: Moves, sizes: Ints) -> Floats:
        """Matrices [N, 8]."""
        size = sizes[:, ::-1].astype(np.float64)
        centre = (
            size * 0.5
            if self.center is None
            else np.broadcast_to(np.array(self.center, np.float64), size.shape)
        )
        return affine(*moves, centre, self.definition)


@dataclass(frozen=True)
class RandomPerspective(Warp):
    """Move the corners inwards at random, with probability p.

    distortion_scale 1 moves them up to half-way.

    Args:
        distortion_scale: How far, 0 to 1.
        p: Probability, 0 to 1.
        interpolation: torchvision's or its name.
        fill: What is seen outside the image: a number, or one per channel; None: black.

    Example:
        >>> from PIL import Image
        >>> from fastload import transforms as T
        >>> T.RandomPerspective(0.3, p=1.0)(Image.new("RGB", (120, 90))).size
        (120, 90)
    """

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: str = "bilinear"
    fill: Fill = 0

    projective = True
    torchvision = ("distortion_scale", "p", "interpolation", "fill")

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        problems = probability_problems("p", self.p) + probability_problems(
            "distortion_scale", self.distortion_scale
        )
        return problems + _common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 9  # whether, and x and y of four corners

    def params(self, u: Floats, sizes: Ints) -> Params:
        size = sizes[:, ::-1].astype(np.int64)  # width, height
        reach = np.trunc(self.distortion_scale * (size // 2)).astype(np.int64) + 1
        drawn = np.floor(u[:, 1:].reshape(-1, 4, 2) * reach[:, None]).astype(np.int64)
        # x and y of top left, top right, bottom right, bottom left
        far = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        corners = drawn + far * (size - reach)[:, None]
        matrices = np.tile(np.array(IDENTITY), (len(sizes), 1))
        moved = u[:, 0] < self.p
        matrices[moved] = perspective(corners[moved], (far * (size - 1)[:, None])[moved])
        return _params(matrices, sizes)
