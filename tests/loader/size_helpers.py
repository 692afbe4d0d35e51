"""Loaders of batches of changing size."""

import fastload
from fastload import ProgressiveResize
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Normalize,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToImage,
    ToTensor,
)

TRAIN = [
    RandomResizedCrop(40),
    RandomHorizontalFlip(),
    RandAugment(),
    ToTensor(),
    Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
]
COLOUT = [RandomResizedCrop(40), ToImage(channels_last=True), ColOut(0.15, 0.1)]
EVAL = [Resize(44), CenterCrop(40), ToTensor()]
STEPS = ProgressiveResize(total_steps=12, delay=0.1, finetune=0.2)  # of 6 a epoch
HOW = {
    "decode": (TRAIN, STEPS),
    "decode, ColOut": (COLOUT, STEPS),
    "decode, eval": (EVAL, [17, 40, 53]),
    "resize": (TRAIN, ProgressiveResize(3, mode="resize", delay=0.3)),
    "resize, ColOut": (COLOUT, ProgressiveResize(total_steps=12, delay=0, mode="resize")),
    "resize, not square": (
        [RandomResizedCrop((40, 53)), ToTensor()],
        ProgressiveResize(3, mode="resize"),
    ),
    "crop": (COLOUT, ProgressiveResize(total_steps=12, delay=0, mode="crop")),
}


def loader(folder, name, **options):
    ops, how = HOW[name]
    return fastload.DataLoader(
        fastload.open(folder, ops), 7, shuffle=True, seed=5, size_schedule=how, **options
    )


def shapes(epoch):
    return [tuple(images.shape[-2:]) for images, _ in epoch]
