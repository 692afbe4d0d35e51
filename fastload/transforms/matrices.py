"""Matrices of warps: PIL's coefficients a..h, float64 [N, 8], made as torchvision and PIL do."""

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from fastload.spec import Bools, Floats, Ints, Longs
from fastload.transforms.sampling import by_math, round15

if TYPE_CHECKING:
    pass

# torchvision's two APIs; their affine matrices differ in the last bit.
Definition = Literal["v1", "v2"]
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def rotation(angle: Floats, centre: Floats) -> Floats:
    """PIL's matrix for turning by `angle` (degrees [N]) about `centre` (float64 [N, 2], x and y):
    float64 [N, 8].
    """
    turned = -np.radians(angle)
    # PIL rounds in decimal, which NumPy does not; the last bit decides pixels whose value is a tie.
    cos, sin = (by_math(round15, by_math(each, turned)) for each in (math.cos, math.sin))
    x, y = centre.T
    zero = np.zeros_like(cos)
    columns = (cos, sin, cos * -x + sin * -y + x, -sin, cos, -sin * -x + cos * -y + y, zero, zero)
    return np.stack(columns, axis=1)


def expand(matrices: Floats, sizes: Ints, right: Bools) -> tuple[Floats, Ints]:
    """Affine matrices [N, 8] moved so that the whole image is seen, and the sizes int32 [N, 2] that
    this takes.

    right (bool [N]): PIL turns by right angles without a pixel more; elsewhere the corners are
    rounded outwards.
    """
    a, b, c, d, e, f, g, h = matrices.T
    height, width = sizes.T.astype(np.float64)
    corners = ((0, 0), (width, 0), (width, height), (0, height))
    found_x, found_y = (
        np.stack([p * x + q * y + r for x, y in corners]) for p, q, r in ((a, b, c), (d, e, f))
    )
    new_width = np.ceil(found_x.max(axis=0)) - np.floor(found_x.min(axis=0))
    new_height = np.ceil(found_y.max(axis=0)) - np.floor(found_y.min(axis=0))
    new_width = np.where(right, np.abs(a) * width + np.abs(b) * height, new_width)
    new_height = np.where(right, np.abs(b) * width + np.abs(a) * height, new_height)
    x, y = -(new_width - width) / 2, -(new_height - height) / 2
    moved = np.stack([a, b, a * x + b * y + c, d, e, d * x + e * y + f, g, h], axis=1)
    return moved, np.stack([new_height, new_width], axis=1).astype(np.int32)


def affine(
    angle: Floats,
    move: Floats,
    scale: Floats,
    shear_x: Floats,
    shear_y: Floats,
    centre: Floats,
    definition: Definition = "v2",
) -> Floats:
    """Inverse of: shear, scale and turn about `centre`, then move. Angles in degrees [N]; move and
    centre [N, 2], x and y.

    Turning by r after shearing by (sx, sy) is [[p, q], [s, t]] with determinant 1, so that its
    inverse is [[t, -q], [-s, p]].
    Every operation is torchvision's, in its order: a last bit decides pixels whose value is a tie.
    """
    r, sx, sy = np.radians(angle), np.radians(shear_x), np.radians(shear_y)
    cos_sy, tan_sx = by_math(math.cos, sy), by_math(math.tan, sx)
    cos, sin = by_math(math.cos, r - sy), by_math(math.sin, r - sy)
    p, s = cos / cos_sy, sin / cos_sy
    if definition == "v1":
        q = -cos * tan_sx / cos_sy - by_math(math.sin, r)
        t = -sin * tan_sx / cos_sy + by_math(math.cos, r)
    else:
        q, t = -(p * tan_sx + by_math(math.sin, r)), by_math(math.cos, r) - s * tan_sx
    a, b, d, e = t / scale, -q / scale, -s / scale, p / scale
    x, y = (centre + move).T
    if definition == "v1":
        c, f = -(a * x + b * y) + centre[:, 0], -(d * x + e * y) + centre[:, 1]
    else:
        c, f = centre[:, 0] - a * x - b * y, centre[:, 1] - d * x - e * y
    zero = np.zeros_like(a)
    return np.stack([a, b, c, d, e, f, zero, zero], axis=1)


def perspective(points: Longs, sources: Longs) -> Floats:
    """Coefficients that take four `points` to their `sources` (int [N, 4, 2], x and y): float32
    values in float64 [N, 8].

    The equations, their order, the solver and the rounding to float32 are torchvision's: bilinear
    values are cut off, so the last bit of a coefficient decides many of them. Corners that no such
    map joins (images one pixel wide) give the identity.
    """
    import torch

    matrices = np.tile(np.array(IDENTITY), (len(points), 1))
    solvable = _general(points) & _general(sources)
    if not solvable.any():
        return matrices
    points, sources = points[solvable], sources[solvable]
    equations = np.zeros((len(points), 4, 2, 8))
    equations[:, :, 0, :2] = equations[:, :, 1, 3:5] = points
    equations[:, :, 0, 2] = equations[:, :, 1, 5] = 1.0
    equations[..., 6:] = -sources[..., None] * points[:, :, None]
    wanted = sources.reshape(-1, 8, 1).astype(np.float64)
    solved = torch.linalg.lstsq(
        *map(torch.from_numpy, (equations.reshape(-1, 8, 8), wanted)), driver="gels"
    ).solution
    matrices[solvable] = solved[..., 0].to(torch.float32).double().numpy()
    return matrices


def _general(points: Longs) -> Bools:
    """Whether no three of four points [N, 4, 2] lie on one line: bool [N]."""
    out = np.ones(len(points), bool)
    for a, b, c in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)):
        (x, y), (to_x, to_y) = ((points[:, end] - points[:, a]).T for end in (b, c))
        out &= x * to_y != y * to_x
    return out
