"""A picture of a class, painted in Y, Cb, Cr (0..255)."""

import functools
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from fastload.demo_images.files import (
    UNIFORM_QUALITY,
    Info,
    Random,
    random,
)
from fastload.spec import Pixels

Field = NDArray[np.float32]
FIELD_SIDE = 1024  # px, of a noise field; it repeats without a seam
FIELD_KEY = 1 << 63  # Philox keys of noise fields start here, above every image index
ANGLES = 6  # grain directions, 30 degrees apart
# Amplitude = frequency ^ -slope; photographs: about 1
SLOPES = {"even": 1.0, "tint": 1.5, "patches": 1.6, "grain": 0.8}
# Cycles per px; the scene has what is below
LOWEST = {"even": 1 / 64, "tint": 1 / 64, "patches": 1 / 512, "grain": 1 / 64}
# Of a polygon, and the radius of every other one; shape 0 is an ellipse
CORNERS = ((3, 1.0), (4, 1.0), (10, 0.5), (16, 0.7))


def paint(rng: Random, info: Info, seed: int) -> Pixels:
    """uint8 [H, W, 3]: the scene plus noise, which is as strong as the scene's 4th plane says."""
    height, width = info.height, info.width
    scene = _scene(rng, info)
    noise = _window(rng, _field(seed, "even"), height, width)
    noise += 0.7 * _window(rng, _field(seed, "grain", info.label % ANGLES), height, width)
    noise *= _window(rng, _field(seed, "patches"), height, width)
    noise *= scene[..., 3]
    noise *= (
        0.1
        * math.exp(0.64 * rng.standard_normal())
        * (1.0 if info.quality == UNIFORM_QUALITY else 0.65)
    )
    tint = 0.18 * np.abs(noise) * _window(rng, _field(seed, "tint"), height, width)
    scene[..., 0] += noise
    scene[..., 1] += rng.normal(0, 0.1) * noise + tint
    scene[..., 2] += rng.normal(0, 0.1) * noise - tint
    return scene[..., :3].clip(0, 255).astype(np.uint8)


def _scene(rng: Random, info: Info) -> Field:
    """float32 [H, W, 4]:

    Y, Cb, Cr and noise strength (0..255) of a soft background, clutter and the object of the class.
    """
    height, width = info.height, info.width
    small = bytes(value for _ in range(12) for value in _colour(rng))
    # Any four planes, without an alpha that rules the others
    image = Image.frombytes("CMYK", (4, 3), small)
    # Twice as large: smooth edges in the end
    image = image.resize((2 * width, 2 * height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    short = 2 * min(height, width)
    for _ in range(rng.integers(5, 14)):
        centre = rng.uniform(0, 2 * height), rng.uniform(0, 2 * width)
        _shape(
            draw, rng, int(rng.integers(5)), centre, rng.uniform(0.05, 0.4) * short, _colour(rng)
        )
    centre = rng.uniform(0.7, 1.3) * height, rng.uniform(0.7, 1.3) * width
    _shape(
        draw,
        rng,
        info.label % 5,
        centre,
        rng.uniform(0.25, 0.45) * short,
        _colour(rng, hue=info.label * 0.618 % 1),
    )
    return np.asarray(image.reduce(2)).astype(np.float32)


def _colour(rng: Random, hue: float | None = None) -> tuple[int, ...]:
    """Y, Cb, Cr and noise strength; with a hue (0..1) a strong colour close to it, else any, mostly
    pale.
    """
    if hue is None:
        luma, angle, chroma = rng.uniform(20, 235), rng.uniform(0, 2 * math.pi), rng.normal(0, 18)
    else:
        luma = rng.uniform(80, 180)
        angle = 2 * math.pi * hue + rng.normal(0, 0.08)
        chroma = rng.uniform(40, 60)
    strength = 0.0 if rng.random() < 0.05 else rng.lognormal(math.log(50), 1.2)
    return tuple(
        int(min(255, max(0, v)))
        for v in (luma, 128 + chroma * math.cos(angle), 128 + chroma * math.sin(angle), strength)
    )


def _shape(
    draw: ImageDraw.ImageDraw,
    rng: Random,
    kind: int,
    centre: tuple[float, float],
    radius: float,
    fill: tuple[int, ...],
) -> None:
    y, x = centre
    turn = rng.uniform(-0.3, 0.3)
    if kind == 0:
        flat = radius * (0.85 + turn / 2)
        draw.ellipse((x - radius, y - flat, x + radius, y + flat), fill=fill)
        return
    corners, inner = CORNERS[kind - 1]
    polar = [
        (radius * (inner if k % 2 else 1), turn + 2 * math.pi * k / corners) for k in range(corners)
    ]
    draw.polygon([(x + r * math.sin(a), y - r * math.cos(a)) for r, a in polar], fill=fill)


@functools.lru_cache(maxsize=len(SLOPES) + ANGLES - 1)
def _field(seed: int, kind: str, angle: int = 0) -> Field:
    """float32 [FIELD_SIDE, FIELD_SIDE]: 1/f noise of unit variance; "grain" runs in one direction;
    "patches" is a factor > 0.
    """
    rng = random(seed, FIELD_KEY + ANGLES * list(SLOPES).index(kind) + angle)
    fy, fx = np.meshgrid(np.fft.fftfreq(FIELD_SIDE), np.fft.rfftfreq(FIELD_SIDE), indexing="ij")
    f = np.hypot(fy, fx)
    f[0, 0] = 1e-9
    amplitude = np.where(f < LOWEST[kind], 0, f ** -SLOPES[kind])
    if kind == "grain":
        across = (
            fx * math.cos(math.pi * angle / ANGLES) + fy * math.sin(math.pi * angle / ANGLES)
        ) / f
        amplitude *= np.exp(-((across / 0.35) ** 2))
    field = np.fft.irfft2(
        amplitude * np.exp(2j * np.pi * rng.random(f.shape)), s=(FIELD_SIDE, FIELD_SIDE)
    )
    even: Field = np.asarray(field / field.std(), np.float32)
    return np.exp(even) if kind == "patches" else even


def _window(rng: Random, field: Field, height: int, width: int) -> Field:
    top, left = rng.integers(0, FIELD_SIDE, 2)
    rows = np.arange(top, top + height) % FIELD_SIDE
    columns = np.arange(left, left + width) % FIELD_SIDE
    window: Field = field[rows[:, None], columns]
    return window
