"""What the training check learns from: small JPEGs, each with one textured shape on a busy ground;
the class is the shape and its hue.

The training images show less of the world than the test images do: small shapes that lean to the
right, in bright colours.
Random crops, flips and colours make up for that, so what breaks them costs accuracy. Classes
survive a horizontal flip, but not a vertical one (triangles), nor a swap of channels (hues) or of
height and width (triangles again).
"""

import colorsys
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from torchvision.datasets import ImageFolder

SHAPES = ("triangle_up", "triangle_down", "disc", "square", "cross")
HUES = {"warm": 0.04, "cold": 0.62}  # of the colour circle, 0..1
HUE_SPREAD = 0.07  # half the width of a hue's range
CLASSES = tuple(f"{shape}_{hue}" for shape in SHAPES for hue in HUES)
SIDES = (56, 112)  # px, of either side
UNEQUAL = 8  # px by which the sides differ at least
NOISE = 8.0  # standard deviation, of 0..255
DISTRACTORS = 3
Random = np.random.Generator


@dataclass(frozen=True)
class World:
    """What a set of images shows; each value is drawn evenly from its range."""

    seed: int
    radius: tuple[float, float]  # of the shape, as a share of the image's short side
    tilt: tuple[float, float]  # degrees to the right
    brightness: tuple[float, float]  # of the shape's colour, 0..1


TRAIN = World(0, (0.26, 0.34), (0.0, 20.0), (0.7, 1.0))
TEST = World(1, (0.20, 0.49), (-30.0, 30.0), (0.3, 1.0))


def make_folder(root: Path, count: int, world: World) -> ImageFolder:
    """ROOT/CLASS/00000.jpg and so on: `count` images, as many of each class."""
    for number in range(count):
        label = number % len(CLASSES)
        path = root / CLASSES[label] / f"{number:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            jpeg(label, world, np.random.Generator(np.random.Philox(key=(world.seed, number))))
        )
    return ImageFolder(str(root))


def jpeg(label: int, world: World, rng: Random) -> bytes:
    """One image of class `label`, 0 to 9."""
    shape, hue = CLASSES[label].rsplit("_", 1)
    height, width = sides(rng)
    pixels = ground(height, width, rng)
    inside = mask(shape, height, width, world, rng)[..., None] / np.float32(255)
    pixels += inside * (texture(height, width, HUES[hue], world, rng) - pixels)
    pixels += NOISE * rng.standard_normal(pixels.shape, np.float32)
    out = io.BytesIO()
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image.save(out, "JPEG", quality=int(rng.integers(70, 96)), subsampling=int(rng.integers(3)))
    return out.getvalue()


def sides(rng: Random) -> tuple[int, int]:
    """Height and width, px; never equal."""
    while True:
        height, width = (int(side) for side in rng.integers(SIDES[0], SIDES[1] + 1, 2))
        if abs(height - width) >= UNEQUAL:
            return height, width


def ground(height: int, width: int, rng: Random) -> np.ndarray:
    """float32 [H, W, 3], 0..255: patches of all colours, with lines and discs over them."""
    patches = Image.fromarray(rng.integers(75, 181, (5, 7, 3), np.uint8))
    image = patches.resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image)
    for _ in range(DISTRACTORS):
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        reach = rng.uniform(2, 9)  # px
        if rng.random() < 0.5:
            draw.ellipse((x - reach, y - reach / 2, x + reach, y + reach / 2), fill=colour)
        else:
            draw.line(
                (x, y, x + rng.uniform(-30, 30), y + rng.uniform(-30, 30)),
                fill=colour,
                width=int(rng.integers(1, 4)),
            )
    return np.asarray(image, np.float32).copy()


def texture(height: int, width: int, hue: float, world: World, rng: Random) -> np.ndarray:
    """float32 [H, W, 3], 0..255: stripes of one hue, of any direction and width."""
    hue = (hue + rng.uniform(-HUE_SPREAD, HUE_SPREAD)) % 1
    colour = np.array(
        colorsys.hsv_to_rgb(hue, rng.uniform(0.5, 0.95), rng.uniform(*world.brightness)), np.float32
    )
    angle, period = rng.uniform(0, math.pi), rng.uniform(4, 14)  # px
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = np.sin(
        (x * math.cos(angle) + y * math.sin(angle)) * (2 * math.pi / period)
        + rng.uniform(0, 2 * math.pi)
    )
    return 255 * colour * (1 + rng.uniform(0.1, 0.35) * (waves[..., None] - 1))


def mask(shape: str, height: int, width: int, world: World, rng: Random) -> np.ndarray:
    """uint8 [H, W]: 255 inside the shape, which lies whole within the image."""
    radius = min(height, width) * rng.uniform(*world.radius)
    x, y = rng.uniform(radius, width - radius), rng.uniform(radius, height - radius)
    stretch, tilt = rng.uniform(0.75, 1.0), math.radians(rng.uniform(*world.tilt))
    along = (stretch, 1.0) if rng.random() < 0.5 else (1.0, stretch)
    cos, sin = math.cos(tilt), math.sin(tilt)
    corners = [(u * along[0] * radius, v * along[1] * radius) for u, v in OUTLINES[shape]]
    image = Image.new("L", (width, height))
    ImageDraw.Draw(image).polygon(
        [(x + u * cos - v * sin, y + u * sin + v * cos) for u, v in corners], fill=255
    )
    return np.asarray(image)


def circle(corners: int, turn: float = 0.0) -> list[tuple[float, float]]:
    """Corners evenly on the unit circle; x to the right, y down."""
    angles = [turn + 2 * math.pi * n / corners for n in range(corners)]
    return [(math.cos(angle), math.sin(angle)) for angle in angles]


ARM = 0.3  # half the width of the cross's arms
OUTLINES = {
    "triangle_up": circle(3, -math.pi / 2),
    "triangle_down": circle(3, math.pi / 2),
    "disc": circle(24),
    "square": circle(4, math.pi / 4),
    "cross": [
        (-ARM, -1), (ARM, -1), (ARM, -ARM), (1, -ARM), (1, ARM), (ARM, ARM),
        (ARM, 1), (-ARM, 1), (-ARM, ARM), (-1, ARM), (-1, -ARM), (-ARM, -ARM),
    ],
}  # fmt: skip
