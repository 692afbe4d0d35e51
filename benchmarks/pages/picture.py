"""The image on which the documentation shows things: painted by code, and like a photograph enough
to see what an op does to colours, edges, text-like detail and faces of flat light.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

OVER = 3  # painted this many times as large, for smooth edges


def landscape(height: int = 480, width: int = 640) -> Image.Image:
    """A boat on a lake before mountains at sunrise: RGB, the same on every machine."""
    rng = np.random.default_rng(7)
    tall, wide = height * OVER, width * OVER
    out = Image.fromarray(_sky(tall, wide)).convert("RGB")
    pen = ImageDraw.Draw(out)
    sun = (0.70 * wide, 0.27 * tall, 0.075 * tall)
    pen.ellipse(_circle(*sun), fill=(255, 244, 205))
    for base, rough, colour in (
        (0.46, 0.17, (126, 132, 172)), (0.52, 0.13, (84, 98, 130)), (0.58, 0.07, (44, 74, 72)),
    ):  # fmt: skip
        ridge = _ridge(rng, wide, base, rough) * tall
        pen.polygon([(0, tall), *zip(range(wide), ridge, strict=True), (wide, tall)], fill=colour)
    shore = round(0.62 * tall)
    mirror = out.crop((0, 2 * shore - tall, wide, shore)).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    water = Image.blend(mirror, Image.new("RGB", mirror.size, (34, 84, 120)), 0.45)
    out.paste(water.filter(ImageFilter.BoxBlur(2 * OVER)), (0, shore))
    _ripples(out, rng, shore)
    _boat(ImageDraw.Draw(out), 0.36 * wide, 0.80 * tall, 0.20 * tall)
    small = np.asarray(out.reduce(OVER), np.float64)
    return Image.fromarray((small + rng.normal(0, 2.5, small.shape)).clip(0, 255).astype(np.uint8))


def _sky(tall: int, wide: int) -> NDArray[np.uint8]:
    """Blue above, orange at the horizon, lighter around the sun."""
    y, x = np.mgrid[:tall, :wide] / (tall, wide)[0]
    down = np.clip(y / 0.62, 0, 1)[..., None]
    colours = (1 - down) * (78, 128, 196) + down * (250, 190, 132)
    glow = np.exp(-(((x - 0.70 * wide / tall) ** 2 + (y - 0.27) ** 2) / 0.05))[..., None]
    return (colours + glow * (70, 50, 10)).clip(0, 255).astype(np.uint8)


def _ridge(rng: np.random.Generator, wide: int, base: float, rough: float) -> NDArray[np.float64]:
    """A mountain's outline as shares of the height: sums of triangular waves."""
    x = np.arange(wide) / wide
    out = np.full(wide, base)
    for octave in range(7):
        wave = np.abs((x * 2.3 * 2**octave + rng.random()) % 1 - 0.5) * 2
        out -= rough * 0.5**octave * (wave - 0.5)
    return out


def _ripples(out: Image.Image, rng: np.random.Generator, shore: int) -> None:
    """Bright and dark lines, longer and farther apart near the viewer."""
    pen = ImageDraw.Draw(out)
    for _ in range(420):
        near = rng.random() ** 1.5
        y, x = shore + near * (out.height - shore), rng.random() * out.width
        long = (0.01 + 0.06 * near) * out.width
        light = (255, 214, 160) if rng.random() < 0.5 else (22, 60, 92)
        pen.line((x, y, x + long, y), fill=light, width=1 + round(near * 2))


def _boat(pen: ImageDraw.ImageDraw, x: float, y: float, size: float) -> None:
    """A red hull with a white and a yellow sail, striped."""
    pen.polygon(
        [(x - size, y), (x + size, y), (x + 0.7 * size, y + 0.3 * size),
         (x - 0.75 * size, y + 0.3 * size)], fill=(186, 40, 44),
    )  # fmt: skip
    pen.line((x - size, y + 3, x + size, y + 3), fill=(250, 240, 230), width=max(2, int(size / 18)))
    pen.rectangle((x - 0.03 * size, y - 1.75 * size, x + 0.03 * size, y), fill=(70, 46, 30))
    sails = ((1, 1.6, (246, 246, 240)), (-1, 1.35, (244, 200, 60)))
    for side, high, colour in sails:
        foot = x + side * 0.06 * size
        pen.polygon(
            [(foot, y - high * size), (foot, y - 0.12 * size),
             (foot + side * 0.8 * size, y - 0.12 * size)], fill=colour,
        )  # fmt: skip
        for share in (0.3, 0.55, 0.8):
            level = y - (0.12 + (high - 0.12) * (1 - share)) * size
            stripe = (foot, level, foot + side * 0.8 * size * share, level)
            pen.line(stripe, fill=(60, 90, 160), width=max(2, int(size / 22)))


def _circle(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius
