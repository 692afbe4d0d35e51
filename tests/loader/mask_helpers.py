"""Pairs of images and masks."""

import numpy as np
from PIL import Image

import fastload

SIZES = ((37, 53), (64, 48), (70, 90), (41, 45))  # height, width; px
COUNT = 12


def classes(height, width, seed):
    """uint8 [H, W]: noise of 21 classes, with a frame of 255, as VOC has it: any pixel that is off
    shows.
    """
    mask = (
        np.random.default_rng([seed, height, width])
        .integers(0, 21, (height, width))
        .astype(np.uint8)
    )
    mask[:2] = mask[:, -2:] = 255
    return mask


def palette(mask):
    image = Image.fromarray(mask, "P")
    image.putpalette(np.random.default_rng(1).integers(0, 256, 768).astype(np.uint8).tobytes())
    return image


def write_pairs(tmp_path, make_image, encode):
    """images/… .jpg and masks/… .png, some a folder deeper; and a mask without an image."""
    for number in range(COUNT):
        stem = f"{'deep/' * (number % 3 == 0)}{number:02d}"
        height, width = SIZES[number % 4]
        for folder in ("images", "masks"):
            (tmp_path / folder / "deep").mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / f"{stem}.jpg").write_bytes(
            encode(make_image(height, width, number), quality=90)
        )
        palette(classes(height, width, number)).save(tmp_path / "masks" / f"{stem}.png")
    palette(classes(9, 8, 0)).save(tmp_path / "masks" / "extra.png")
    return tmp_path


def write_twins(tmp_path):
    """Images that are their masks: RGB PNGs whose red is the class number."""
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    for number in range(COUNT):
        mask = classes(*SIZES[number % 4], number)
        Image.fromarray(np.stack([mask, 255 - mask, mask // 2], -1)).save(
            tmp_path / "images" / f"{number}.png"
        )
        Image.fromarray(mask).save(tmp_path / "masks" / f"{number}.png")
    return tmp_path


def opened(root, ops, **options):
    return fastload.open(root / "images", ops, masks=root / "masks", **options)
