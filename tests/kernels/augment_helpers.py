"""Instructions, programs and images for the tests of AUGMENT."""

import numpy as np
from numpy.typing import NDArray

from fastload import _native as native

from .helpers import noise

SIZES = ((1, 1), (1, 7), (7, 1), (3, 2), (3, 3), (13, 17), (37, 53), (70, 33))  # height, width; px
FILTERS = {"nearest": 0, "bilinear": 1, "bicubic": 2}


def instruction(
    name: str, *arguments: float, sampling: str = "nearest", fill: tuple[int, int, int] = (0, 0, 0)
) -> NDArray[np.float64]:
    row = np.zeros(13)
    row[:2] = native.INSTRUCTIONS.index(name), FILTERS[sampling]
    row[2:5] = fill
    row[5 : 5 + len(arguments)] = arguments
    return row


def augmented(
    image: NDArray[np.uint8], *rows: NDArray[np.float64], target: str
) -> NDArray[np.uint8]:
    return native.augment(image, np.array(rows).reshape(-1, 13), target)


def images(height: int, width: int) -> dict[str, NDArray[np.uint8]]:
    """Uneven in every direction and channel, and the cases that ops treat apart."""
    rng = np.random.default_rng([height, width])
    return {
        "random": rng.integers(0, 256, (height, width, 3), np.uint8),
        "black and white": noise(height, width),
        "saturated": (rng.integers(0, 2, (height, width, 3)) * 255).astype(np.uint8),
        "one colour": np.full((height, width, 3), (3, 200, 90), np.uint8),
        "grey": np.repeat(rng.integers(0, 256, (height, width, 1), np.uint8), 3, axis=2),
        "low contrast": rng.integers(100, 140, (height, width, 3), np.uint8),
    }


def every_image() -> list[NDArray[np.uint8]]:
    return [image for size in SIZES for image in images(*size).values()]


def border_parts(height: int, width: int) -> list[tuple[int, int, int, int]]:
    """What stands inside a border: top, left, height and width, px."""
    y, x = (height - 1) // 3, (width - 1) // 2
    return [
        (0, 0, height, width), (0, 0, 1, 1), (height - 1, width - 1, 1, 1),
        (y, x, height - y, width - x), (0, 0, height - y, width - x),
        (y, x, max(1, height - 2 * y), max(1, width - 2 * x)),
    ]  # fmt: skip


def affine_maps(height: int, width: int, seed: int) -> list[list[float]]:
    """Turns, shears, scales, shifts, mirrors, and maps that leave the image or come from far
    away.
    """
    rng = np.random.default_rng([seed, height, width])
    free = [
        [
            rng.normal(1, 0.3),
            rng.normal(0, 0.3),
            rng.normal(0, width / 4),
            rng.normal(0, 0.3),
            rng.normal(1, 0.3),
            rng.normal(0, height / 4),
        ]
        for _ in range(6)
    ]
    return [
        *free,
        [1, 0.3, 0, 0, 1, 0], [1, 0, 0, -0.3, 1, 0],
        [1, 0, 2, 0, 1, -1], [1, 0, 0.25, 0, 1, -0.75], [1, 0, -width, 0, 1, 0], [1, 0, 3 * width,
        0, 1, 0],
        [-1, 0, width, 0, -1, height], [0, 1, 0, -1, 0, height], [0.37, 0, 1.2, 0, 2.1, -0.4],
        [1, 1e-7, 0, 1e-7, 1, 0], [300.0, 0.5, 40000.0, 0.2, -9.0, 5.0], [-400.0, 0.5, 33000.0, 0.2,
        1, 0],
        [0, 0, width / 2, 0, 0, height / 2], [0, 1e-3, 0, 1e-3, 0, 0],
    ]  # fmt: skip
