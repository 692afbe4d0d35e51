"""Pipelines of several views, and their batches."""

from fastload.transforms import (
    ColorJitter,
    ColOut,
    GaussianBlur,
    Normalize,
    RandomApply,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomSolarize,
    ToDtype,
    ToImage,
    Views,
)

LARGE = [
    RandomResizedCrop((40, 53), (0.4, 1)), RandomHorizontalFlip(), RandomApply([ColorJitter(0.4,
    0.4, 0.2, 0.1)], 0.8),
    RandomGrayscale(0.2), GaussianBlur(5), ToImage(), ToDtype("float32", scale=True),
    Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
]  # fmt: skip
SMALL = [
    RandomResizedCrop((16, 24), (0.05, 0.4)),
    RandomHorizontalFlip(),
    RandomSolarize(128, 0.2),
    ToImage(channels_last=True),
]
DROPPING = [RandomResizedCrop(24), ToImage(), ColOut(0.2, 0.1), ToDtype("bfloat16", scale=True)]
DINO = Views([(LARGE, 2), (SMALL, 3), DROPPING])
