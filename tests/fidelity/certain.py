"""torchvision's transforms whose outcome is certain: ranges have one value, probabilities are 1.

Each maker takes random numbers and one of torchvision's two APIs, and gives a transform. Where a
crop lies is certain too: it is of the whole image, or the one in the middle.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from torchvision.transforms.functional import InterpolationMode

Random = np.random.Generator
Make = Callable[[Random, Any], Any]

# What people write, and what is hard: decimals that float32 rounds, right angles, ties.
DECIMALS = (0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.3, 1.5, 1.7, 1.9, 2.0, 3.3)
ANGLES = (
    -180,
    -90,
    -45,
    -30.5,
    -9,
    -0.1,
    0,
    0.7,
    5,
    10,
    15,
    20,
    30,
    33.3,
    45,
    60,
    90,
    135,
    180,
    270,
    359.9,
)
SHEARS = (-45, -30, -17.3, -9, -0.3, 0, 0.1, 5, 9, 10, 16, 20, 30, 44.9, 60)
HUES = (-0.5, -0.1, 0.1, 0.2, 0.3, 0.4, 0.5)
WARPING = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
PLAIN = (
    "RandomEqualize", "RandomAutocontrast", "RandomInvert", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomVerticalFlip",
)  # fmt: skip
RESIZING = (*WARPING, InterpolationMode.BOX, InterpolationMode.HAMMING, InterpolationMode.LANCZOS)


def either(rng: Random, usual: tuple[float, ...], low: float, high: float) -> float:
    """One of the usual numbers, or any other from low to high."""
    return usual[rng.integers(len(usual))] if rng.random() < 0.6 else float(rng.uniform(low, high))


def one(rng: Random, values: tuple[Any, ...]) -> Any:
    return values[rng.integers(len(values))]


def fill(rng: Random) -> Any:
    return one(rng, (0, 7, 255, 128.9, (1, 2, 3), [124, 116, 104], (9.7, 200.2, 33.5)))


def centre(rng: Random) -> Any:
    whole = [int(v) for v in rng.integers(-5, 60, 2)]
    return one(
        rng,
        (
            None,
            whole,
            tuple(whole),
            [v + 0.5 for v in whole],
            [float(v) for v in rng.uniform(-5, 60, 2)],
        ),
    )


def rotation(rng: Random, api: Any) -> Any:
    angle = either(rng, ANGLES, -360, 360)
    expand = one(rng, (False, False, True))
    return api.RandomRotation((angle, angle), one(rng, WARPING), expand, centre(rng), fill(rng))


def affine(rng: Random, api: Any) -> Any:
    angle, scale = (either(rng, *given) for given in ((ANGLES, -180, 180), (DECIMALS, 0.2, 3)))
    x, y = (either(rng, SHEARS, -60, 60) for _ in range(2))
    return api.RandomAffine(
        (angle, angle) if rng.random() < 0.7 else 0,
        scale=(scale, scale) if rng.random() < 0.6 else None,
        shear=one(rng, (None, (x, x), (x, x, y, y), (0, 0, y, y), [x, x, y, y])),
        interpolation=one(rng, WARPING), fill=fill(rng), center=centre(rng),
    )  # fmt: skip


def perspective(rng: Random, api: Any) -> Any:
    return api.RandomPerspective(0, 1.0, one(rng, WARPING), fill(rng))


def jitter(rng: Random, api: Any) -> Any:
    name = one(rng, ("brightness", "contrast", "saturation", "hue"))
    value = either(rng, DECIMALS, 0, 4) if name != "hue" else either(rng, HUES, -0.5, 0.5)
    if name == "hue" and rng.random() < 0.5:
        value = int(rng.integers(-127, 128)) / 255  # a whole step of a byte
    return api.ColorJitter(**{name: (value, value)})


def sharpness(rng: Random, api: Any) -> Any:
    return api.RandomAdjustSharpness(either(rng, (0, *DECIMALS), 0, 9), 1.0)


def solarize(rng: Random, api: Any) -> Any:
    return api.RandomSolarize(either(rng, (0, 1, 127.5, 128, 192.0, 255, 256), 0, 256), 1.0)


def posterize(rng: Random, api: Any) -> Any:
    return api.RandomPosterize(int(rng.integers(1, 9)), 1.0)


def plain(rng: Random, api: Any) -> Any:
    name = one(rng, PLAIN)
    return getattr(api, name)(p=1.0)


def grayscale(rng: Random, api: Any) -> Any:
    return api.Grayscale(3)


def resize(rng: Random, api: Any) -> Any:
    size = [int(v) for v in rng.integers(1, 90, 2)]
    antialias = one(rng, (True, False, None))
    return api.Resize(one(rng, (size, tuple(size))), one(rng, RESIZING), antialias=antialias)


def center_crop(rng: Random, api: Any) -> Any:
    return api.CenterCrop([int(v) for v in rng.integers(1, 90, 2)])


def pad(rng: Random, api: Any) -> Any:
    border = [int(v) for v in rng.integers(0, 15, 4)]
    mode = one(rng, ("constant", "constant", "edge", "reflect", "symmetric"))
    return api.Pad(one(rng, (border, tuple(border[:2]), border[0])), fill(rng), mode)


def whole_crop(rng: Random, api: Any) -> Any:
    """RandomResizedCrop of all: the one box of its area, or else the one in the middle."""
    size = [int(v) for v in rng.integers(1, 90, 2)]
    ratio = one(rng, (53 / 37, 1.0, 0.5, 2.0, 3 / 4, 4 / 3))
    return api.RandomResizedCrop(size, (1.0, 1.0), (ratio, ratio), one(rng, RESIZING))


MAKERS: dict[str, Make] = {
    "RandomRotation": rotation, "RandomAffine": affine, "RandomPerspective": perspective,
    "ColorJitter": jitter, "RandomAdjustSharpness": sharpness, "RandomSolarize": solarize,
    "RandomPosterize": posterize, "without arguments": plain, "Grayscale": grayscale,
    "Resize": resize, "CenterCrop": center_crop, "Pad": pad, "RandomResizedCrop": whole_crop,
}  # fmt: skip


def blur(rng: Random, api: Any) -> Any:
    """Equal but for sums next to a tie."""
    size = [int(v) * 2 + 1 for v in rng.integers(0, 12, 2)]
    sigma = either(rng, DECIMALS, 0.1, 5)
    return api.GaussianBlur(size, (sigma, sigma))
