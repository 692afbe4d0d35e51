"""AUGMENT on PIL images: runs programs (see transforms/programs.py) row by row."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from fastload.spec import Floats, Records, Singles
from fastload.transforms.augmix import AugMix
from fastload.transforms.base import Op
from fastload.transforms.choose import RandomApply, RandomChoice, RandomOrder
from fastload.transforms.color import (
    ColorJitter,
    GaussianBlur,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from fastload.transforms.functions import Custom
from fastload.transforms.policies import AutoAugment, RandAugment, TrivialAugmentWide
from fastload.transforms.programs import CODE, CODES, ENHANCE, Program

HALF = 128  # SolarizeAdd leaves values from here up as they are
GEOMETRIC = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
MIXING = CODE["Add"]  # codes from here on


def _program(op: Program, image: Image.Image, record: Floats) -> Image.Image:
    for part, rows in op.parts(record):
        image = _run(part, image, rows)
    return image


def _run(op: Program, start: Image.Image, program: Floats) -> Image.Image:
    image, total = (
        start,
        np.zeros(np.asarray(start).shape if (program[:, 0] >= MIXING).any() else (), np.float32),
    )
    for code, argument, number in program.tolist():
        if code < MIXING:
            image = _one(op, image, CODES[int(code)], argument, Image.Resampling(int(number)))
        elif code == CODE["Add"]:
            image, total = start, total + np.float32(argument) * np.asarray(image, np.float32)
        elif code == CODE["Sum"]:
            image = _cut(total)
        elif code == CODE["Mix"]:
            weight = np.float32(argument)
            image = _cut((np.float32(1) - weight) * np.asarray(start, np.float32) + weight * total)
        else:
            image = Image.blend(start, image, argument)
    return image


def _cut(values: Singles) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8))


def _one(
    op: Program, image: Image.Image, name: str, argument: float, resampling: Image.Resampling
) -> Image.Image:
    """One of CODES; `argument` is in the unit stated there."""
    if name in GEOMETRIC:
        fill = op.colour(len(image.getbands()))
        return _geometric(image, name, argument, resampling, fill if len(fill) > 1 else fill[0])
    if name in ENHANCE:
        enhanced: Image.Image = getattr(ImageEnhance, name)(image).enhance(argument)
        return enhanced
    if name == "GaussianBlur":
        return gaussian_blur(image, getattr(op, "kernel_size", (1, 1)), argument)
    if isinstance(op, Custom):
        return (
            _custom(op, image, int(argument)) if name == "Custom" else image
        )  # Identity where it is left out
    return OTHERS[name](image, argument)


def _custom(op: Custom, image: Image.Image, key: int) -> Image.Image:
    pixels = np.asarray(image)
    return Image.fromarray(
        op.run(pixels.reshape(image.height, image.width, -1), key).reshape(pixels.shape)
    )


def _geometric(
    image: Image.Image,
    name: str,
    argument: float,
    resampling: Image.Resampling,
    fill: int | tuple[int, ...],
) -> Image.Image:
    if name == "Rotate":
        return image.rotate(argument, resampling, fillcolor=fill)
    matrix = {
        "ShearX": (1, argument, 0, 0, 1, 0), "ShearY": (1, 0, 0, argument, 1, 0),
        "TranslateX": (1, 0, -argument, 0, 1, 0), "TranslateY": (1, 0, 0, 0, 1, -argument),
    }[name]  # fmt: skip
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resampling, fillcolor=fill)


def _posterize(image: Image.Image, bits: float) -> Image.Image:
    # Pillow 13 refuses 0 bits, which means black.
    return ImageOps.posterize(image, int(bits)) if bits >= 1 else Image.new(image.mode, image.size)


def _solarize_add(image: Image.Image, add: float) -> Image.Image:
    table = [min(255, value + int(add)) if value < HALF else value for value in range(256)]
    return image.point(table * len(image.getbands()))


def _hue(image: Image.Image, turns: float) -> Image.Image:
    if image.mode == "L":
        return image
    hue, saturation, value = image.convert("HSV").split()
    shift = int(turns * 255) % 256
    turned = Image.fromarray(((np.asarray(hue, np.int32) + shift) % 256).astype(np.uint8))
    return Image.merge("HSV", (turned, saturation, value)).convert(image.mode)


def gaussian_blur(image: Image.Image, kernel: tuple[int, int], sigma: float) -> Image.Image:
    """Along rows, then along columns, then rounded half to even.

    float32 from taps in order, each product rounded before it is added; edges are mirrored without
    repeating them.
    """
    pixels = np.asarray(image, np.float32)
    width, height = kernel
    for axis, size in ((1, width), (0, height)):
        pixels = _convolve(pixels, gaussian_weights(size, sigma), axis)
    return Image.fromarray(np.rint(pixels).astype(np.uint8))


def gaussian_weights(size: int, sigma: float) -> Singles:
    """float32 [size], made in float64: exp(-x^2 / (2 sigma^2)) at whole pixels over their sum."""
    x: Floats = np.arange(size, dtype=np.float64) - size // 2
    weights = np.exp(-0.5 * (x / sigma) ** 2)
    out: Singles = (weights / weights.sum()).astype(np.float32)
    return out


def _convolve(pixels: Singles, weights: Singles, axis: int) -> Singles:
    reach, side = len(weights) // 2, pixels.shape[axis]
    sources = np.pad(np.arange(side), reach, mode="reflect")
    total = np.zeros_like(pixels)
    for tap, weight in enumerate(weights):
        total = total + weight * np.take(pixels, sources[tap : tap + side], axis=axis)
    return total


OTHERS: dict[str, Callable[[Image.Image, float], Image.Image]] = {
    "Identity": lambda image, _: image,
    "Posterize": _posterize,
    # Its stub wants an int; floats are compared alike.
    "Solarize": ImageOps.solarize,  # type: ignore[dict-item]
    "AutoContrast": lambda image, _: ImageOps.autocontrast(image),
    "Equalize": lambda image, _: ImageOps.equalize(image),
    "Invert": lambda image, _: ImageOps.invert(image),
    "SolarizeAdd": _solarize_add,
    "Hue": _hue,
    "GaussianBlurPIL": lambda image, sigma: image.filter(ImageFilter.GaussianBlur(sigma)),
}


def _grayscale(op: Grayscale, image: Image.Image, record: Records) -> Image.Image:
    grey = image.convert("L")
    return grey if op.num_output_channels == 1 else Image.merge("RGB", (grey, grey, grey))


PROGRAMS: tuple[type[Program], ...] = (
    AugMix, AutoAugment, ColorJitter, Custom, GaussianBlur, RandAugment, RandomAdjustSharpness,
    RandomApply, RandomAutocontrast,
    RandomChoice, RandomEqualize, RandomGrayscale, RandomInvert, RandomOrder, RandomPosterize,
    RandomSolarize, TrivialAugmentWide,
)  # fmt: skip
APPLY: dict[type[Op], Callable[[Any, Any, Any], Any]] = {
    **dict.fromkeys(PROGRAMS, _program),
    Grayscale: _grayscale,
}
