"""CROP: ops that resample through a matrix. Names, defaults and arithmetic are torchvision v2's and, below it, PIL's.

records: float64 [N, 10]. First PIL's coefficients a..h: the pixel at (x, y) comes from ((a x + b y + c) / w,
(d x + e y + f) / w) with w = g x + h y + 1, all at pixel centres; then the height and width of the result, px.
IDENTITY leaves the image as it is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastload.spec import Floats, Ints, Spec, Stage
from fastload.transforms.base import Op, Params, fill_problems, filter_name, filter_problems, is_number, probability_problems

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def symmetric(value: Any) -> Any:
    """torchvision's ranges of angles: a number v is (-v, v)."""
    if is_number(value):
        return (-value, value) if value >= 0 else value
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _range_problems(name: str, value: Any, lengths: tuple[int, ...]) -> list[str]:
    fits = isinstance(value, tuple) and len(value) in lengths and all(is_number(v) for v in value)
    wanted = " or ".join(str(length) for length in lengths)
    return [] if fits else [f"{name} is {value}, want a number from 0 up, or {wanted} numbers"]


def _centre_problems(centre: Any) -> list[str]:
    fits = centre is None or (isinstance(centre, tuple) and len(centre) == 2 and all(is_number(v) for v in centre))
    return [] if fits else [f"center is {centre}, want None or x and y, px"]


@dataclass(frozen=True)
class Warp(Op):
    """What they share."""

    stage = Stage.CROP

    def _common_problems(self, spec: Spec, interpolation: str, fill: Any) -> list[str]:
        return filter_problems(interpolation) + fill_problems(fill, spec.channels)


def _params(matrices: Floats, sizes: Ints) -> Params:
    return Params(np.concatenate([matrices, sizes], axis=1), sizes)


def _at_times(p: float, u: Floats, matrices: Floats) -> Floats:
    """The matrices with probability p, by the last of the uniforms where p is below 1."""
    return matrices if p == 1 else np.where(u[:, -1:] < p, matrices, np.array(IDENTITY))


@dataclass(frozen=True)
class RandomRotation(Warp):
    """Turn by an angle drawn from `degrees`, counter-clockwise."""

    degrees: Any  # a number v is (-v, v)
    interpolation: str = "nearest"
    expand: bool = False  # the image grows to hold all of itself
    center: Any = None  # x and y, px; None: the middle
    fill: Any = 0
    p: float = 1.0  # not in torchvision, whose RandomApply does the same

    def __post_init__(self) -> None:
        object.__setattr__(self, "degrees", symmetric(self.degrees))
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))
        object.__setattr__(self, "center", tuple(self.center) if isinstance(self.center, list) else self.center)

    def problems(self, spec: Spec) -> list[str]:
        found = _range_problems("degrees", self.degrees, (2,)) + _centre_problems(self.center) + probability_problems("p", self.p)
        if self.expand and self.p != 1:
            found.append(f"p is {self.p} with expand=True, which makes images of two sizes; leave one of them out")
        return found + self._common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 1 + (self.p != 1)

    def out_spec(self, spec: Spec) -> Spec:
        return spec.resized(None, None) if self.expand else spec

    def params(self, u: Floats, sizes: Ints) -> Params:
        low, high = self.degrees
        centre = sizes[:, ::-1] / 2 if self.center is None else np.broadcast_to(np.array(self.center, np.float64), sizes.shape)
        angle = (low + u[:, 0] * (high - low)) % 360.0
        matrices = rotation(angle, centre)
        right = (angle % 90 == 0) & (self.center is None)
        return _params(*(expand(matrices, sizes, right) if self.expand else (_at_times(self.p, u, matrices), sizes)))


def rotation(angle: Floats, centre: Floats) -> Floats:
    """PIL's matrix for turning by `angle` (degrees [N]) about `centre` (float64 [N, 2], x and y): float64 [N, 8]."""
    turned = -np.radians(angle)
    # PIL rounds in decimal, which NumPy does not; the last bit decides pixels whose value is a tie.
    cos, sin = (np.array([round(v, 15) for v in function(turned).tolist()]) for function in (np.cos, np.sin))
    x, y = centre.T
    zero = np.zeros_like(cos)
    columns = (cos, sin, cos * -x + sin * -y + x, -sin, cos, -sin * -x + cos * -y + y, zero, zero)
    return np.stack(columns, axis=1)


def expand(matrices: Floats, sizes: Ints, right: Any) -> tuple[Floats, Ints]:
    """Affine matrices [N, 8] moved so that the whole image is seen, and the sizes int32 [N, 2] that this takes.

    right (bool [N]): PIL turns by right angles without a pixel more; elsewhere the corners are rounded outwards.
    """
    a, b, c, d, e, f, g, h = matrices.T
    height, width = sizes.T.astype(np.float64)
    corners = ((0, 0), (width, 0), (width, height), (0, height))
    found_x, found_y = (np.stack([p * x + q * y + r for x, y in corners]) for p, q, r in ((a, b, c), (d, e, f)))
    new_width = np.ceil(found_x.max(axis=0)) - np.floor(found_x.min(axis=0))
    new_height = np.ceil(found_y.max(axis=0)) - np.floor(found_y.min(axis=0))
    new_width = np.where(right, np.abs(a) * width + np.abs(b) * height, new_width)
    new_height = np.where(right, np.abs(b) * width + np.abs(a) * height, new_height)
    x, y = -(new_width - width) / 2, -(new_height - height) / 2
    moved = np.stack([a, b, a * x + b * y + c, d, e, d * x + e * y + f, g, h], axis=1)
    return moved, np.stack([new_height, new_width], axis=1).astype(np.int32)


@dataclass(frozen=True)
class RandomAffine(Warp):
    """Turn, move, scale and shear at random, about the middle or `center`."""

    degrees: Any  # a number v is (-v, v)
    translate: Any = None  # largest share of width and of height, 0..1
    scale: Any = None  # smallest and largest factor
    shear: Any = None  # degrees: v is x from (-v, v); 2 numbers are x's range, 4 also y's
    interpolation: str = "nearest"
    fill: Any = 0
    center: Any = None  # x and y, px
    p: float = 1.0  # not in torchvision, whose RandomApply does the same

    def __post_init__(self) -> None:
        for name in ("degrees", "shear"):
            object.__setattr__(self, name, symmetric(getattr(self, name)))
        for name in ("translate", "scale", "center"):
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, list) else value)
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        found = _range_problems("degrees", self.degrees, (2,)) + _centre_problems(self.center) + probability_problems("p", self.p)
        if self.shear is not None:
            found += _range_problems("shear", self.shear, (2, 4))
        for name, low, high in (("translate", 0.0, 1.0), ("scale", 1e-6, float("inf"))):
            value = getattr(self, name)
            fits = isinstance(value, tuple) and len(value) == 2 and all(is_number(v) and low <= v <= high for v in value)
            if value is not None and not fits:
                found.append(f"{name} is {value}, want None or 2 numbers {'from 0 to 1' if name == 'translate' else 'above 0'}")
        return found + self._common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 6 + (self.p != 1)  # angle, translation x and y, scale, shear x and y; whether

    def params(self, u: Floats, sizes: Ints) -> Params:
        size = sizes[:, ::-1].astype(np.float64)
        most = size * np.array(self.translate or (0.0, 0.0))
        move = np.rint(most * (2 * u[:, 1:3] - 1))
        shear = (*(self.shear or (0.0, 0.0)), 0.0, 0.0)[:4]
        centre = size * 0.5 if self.center is None else np.broadcast_to(np.array(self.center, np.float64), size.shape)
        angle, scale, shear_x, shear_y = (
            low + u[:, place] * (high - low)
            for place, (low, high) in ((0, self.degrees), (3, self.scale or (1.0, 1.0)), (4, shear[:2]), (5, shear[2:]))
        )
        return _params(_at_times(self.p, u, affine(angle, move, scale, shear_x, shear_y, centre)), sizes)


def affine(angle: Floats, move: Floats, scale: Floats, shear_x: Floats, shear_y: Floats, centre: Floats) -> Floats:
    """Inverse of: shear, scale and turn about `centre`, then move. Angles in degrees [N]; move and centre [N, 2], x and y.

    Turning by r after shearing by (sx, sy) is [[p, q], [s, t]] with determinant 1, so that its inverse is [[t, -q], [-s, p]].
    """
    r, sx, sy = np.radians(angle), np.radians(shear_x), np.radians(shear_y)
    p, s = np.cos(r - sy) / np.cos(sy), np.sin(r - sy) / np.cos(sy)
    q, t = -(p * np.tan(sx) + np.sin(r)), np.cos(r) - s * np.tan(sx)
    a, b, d, e = t / scale, -q / scale, -s / scale, p / scale
    x, y = (centre + move).T
    c, f = centre[:, 0] - a * x - b * y, centre[:, 1] - d * x - e * y
    zero = np.zeros_like(a)
    return np.stack([a, b, c, d, e, f, zero, zero], axis=1)


@dataclass(frozen=True)
class RandomPerspective(Warp):
    """Move the corners inwards at random, with probability p; distortion_scale 1 moves them up to half-way."""

    distortion_scale: float = 0.5
    p: float = 0.5
    interpolation: str = "bilinear"
    fill: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "interpolation", filter_name(self.interpolation))

    def problems(self, spec: Spec) -> list[str]:
        found = probability_problems("p", self.p) + probability_problems("distortion_scale", self.distortion_scale)
        return found + self._common_problems(spec, self.interpolation, self.fill)

    def draws(self, spec: Spec) -> int:
        return 9  # whether, and x and y of four corners

    def params(self, u: Floats, sizes: Ints) -> Params:
        size = sizes[:, ::-1].astype(np.int64)  # width, height
        reach = np.trunc(self.distortion_scale * (size // 2)).astype(np.int64) + 1
        drawn = np.floor(u[:, 1:].reshape(-1, 4, 2) * reach[:, None]).astype(np.int64)
        far = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])  # top left, top right, bottom right, bottom left; x and y
        corners = drawn + far * (size - reach)[:, None]
        matrices = perspective(corners, far * (size - 1)[:, None])
        return _params(np.where(u[:, :1] < self.p, matrices, np.array(IDENTITY)), sizes)


def perspective(points: Any, sources: Any) -> Floats:
    """Coefficients that take four `points` to their `sources` (int [N, 4, 2], x and y): float32 values in float64 [N, 8].

    float32 as torchvision's. Corners that no such map joins (images one pixel wide) give the identity.
    """
    x, y = points[..., 0].astype(np.float64), points[..., 1].astype(np.float64)
    to_x, to_y = sources[..., 0].astype(np.float64), sources[..., 1].astype(np.float64)
    one, zero = np.ones_like(x), np.zeros_like(x)
    first = np.stack([x, y, one, zero, zero, zero, -to_x * x, -to_x * y], axis=-1)
    second = np.stack([zero, zero, zero, x, y, one, -to_y * x, -to_y * y], axis=-1)
    matrix, wanted = np.concatenate([first, second], axis=1), np.concatenate([to_x, to_y], axis=1)
    solvable = np.abs(np.linalg.det(matrix)) > 1e-6
    matrix = np.where(solvable[:, None, None], matrix, np.eye(8))
    found = np.linalg.solve(matrix, wanted[..., None])[..., 0].astype(np.float32).astype(np.float64)
    return np.where(solvable[:, None], found, np.array(IDENTITY))
