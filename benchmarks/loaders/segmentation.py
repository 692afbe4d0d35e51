"""Segmentation presets: images of Pascal VOC's sizes, and masks of classes as palette PNGs."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import fastload
from benchmarks.loaders.presets import Kind, Settings
from fastload.errors import UsageError

BATCH = 8  # as torchvision's references
# Width and height, px, of VOC's images: the most frequent ones, each as often as it stands here
SIZES = ((500, 375), (500, 375), (500, 375), (500, 375), (500, 333), (500, 333), (375, 500),
         (375, 500), (333, 500), (500, 334))  # fmt: skip
QUALITY = 96  # about 110 kB for 500x375 px of a photograph, as VOC2012 has
OBJECTS, CATEGORIES, EDGE = 4, 20, 255  # of an image; in all; the class of outlines, 5 px wide
BASE = Path("VOCdevkit", "VOC2012")


def check(settings: Settings) -> None:
    """Raises UsageError."""
    if settings.images < BATCH:
        raise UsageError(
            f"benchmarks: segmentation: --images is {settings.images} (want {BATCH} or more); an "
            "epoch has whole batches"
        )


def write(root: Path, data: str, count: int) -> None:
    """A tree of VOC2012 that VOCSegmentation reads, with its list of the images to train on."""
    paths = [path for path, _ in fastload.open(data).samples]
    images, masks = root / BASE / "JPEGImages", root / BASE / "SegmentationClass"
    lists = root / BASE / "ImageSets" / "Segmentation"
    for folder in (images / "all", masks / "all", lists):
        folder.mkdir(parents=True)
    for number in range(count):
        size = SIZES[number % len(SIZES)]
        with Image.open(paths[number % len(paths)]) as image:
            whole = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        whole.save(images / "all" / f"{number:06}.jpg", quality=QUALITY)
        mask(number, *size).save(masks / "all" / f"{number:06}.png")
    names = "".join(f"all/{number:06}\n" for number in range(count))
    (lists / "train.txt").write_text(names)


def mask(number: int, width: int, height: int) -> Image.Image:
    """Outlined shapes of classes on 0, as VOC has them: a palette image."""
    rng = np.random.default_rng(number)
    made = Image.new("P", (width, height))
    made.putpalette(rng.integers(0, 256, 768, dtype=np.uint8).tobytes())
    draw = ImageDraw.Draw(made)
    for _ in range(OBJECTS):
        middle = rng.uniform(0, 1, 2) * (width, height)
        angles = np.sort(rng.uniform(0, 2 * np.pi, 24))
        away = rng.uniform(0.15, 0.4) * height * rng.uniform(0.7, 1.0, len(angles))
        corners = middle + away[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        one = int(rng.integers(1, CATEGORIES + 1))
        draw.polygon([tuple(corner) for corner in corners.tolist()], one, EDGE, width=5)
    return made


KIND = Kind(
    "segmentation", "Pascal VOC's", ("train", "eval", "colour"), BASE / "JPEGImages", write, check,
    {"batch_size": BATCH}, shown=("batch_size",),
)  # fmt: skip
