"""AUGMENT on PIL images: runs programs (see transforms/programs.py) row by row."""

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from fastload.spec import Floats, Records, Singles
from fastload.transforms.color import Grayscale
from fastload.transforms.functions import Custom
from fastload.transforms.programs import CODE, CODES, ENHANCE, MIXING, Program
from fastload.transforms.reference.crop import colour
from fastload.transforms.reference.pixels import pixels

HALF = 128  # SolarizeAdd leaves values from here up as they are
GEOMETRIC = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
MIXES = np.isin(CODES, MIXING)  # by code


@pixels.register
def _program(op: Program, image: Image.Image, record: Floats) -> Image.Image:
    for part, rows in op.parts(record):
        image = _run(part, image, rows)
    return image


def _run(op: Program, start: Image.Image, program: Floats) -> Image.Image:
    mixes = MIXES[program[:, 0].astype(np.int64)].any()
    image, total = start, np.zeros(np.asarray(start).shape if mixes else (), np.float32)
    for code, argument, number in program.tolist():
        if not MIXES[int(code)]:
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
    """One of CODES, but for MIXING."""
    if name in GEOMETRIC:
        return _geometric(image, name, argument, resampling, colour(op, image))
    if name in ENHANCE:
        enhanced: Image.Image = getattr(ImageEnhance, name)(image).enhance(argument)
        return enhanced
    if name == "GaussianBlur":
        return gaussian_blur(image, getattr(op, "kernel_size", (1, 1)), argument)
    if name == "Custom" and isinstance(op, Custom):
        return _custom(op, image, int(argument))
    return OTHERS[name](image, argument)


def _custom(op: Custom, image: Image.Image, key: int) -> Image.Image:
    values = np.asarray(image)
    return Image.fromarray(
        op.run(values.reshape(image.height, image.width, -1), key).reshape(values.shape)
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
    values = np.asarray(image, np.float32)
    width, height = kernel
    for axis, size in ((1, width), (0, height)):
        values = _convolve(values, gaussian_weights(size, sigma), axis)
    return Image.fromarray(np.rint(values).astype(np.uint8))


def gaussian_weights(size: int, sigma: float) -> Singles:
    """float32 [size], made in float64: exp(-x^2 / (2 sigma^2)) at whole pixels over their sum."""
    x: Floats = np.arange(size, dtype=np.float64) - size // 2
    weights = np.exp(-0.5 * (x / sigma) ** 2)
    out: Singles = (weights / weights.sum()).astype(np.float32)
    return out


def _convolve(values: Singles, weights: Singles, axis: int) -> Singles:
    reach, side = len(weights) // 2, values.shape[axis]
    sources = np.pad(np.arange(side), reach, mode="reflect")
    total = np.zeros_like(values)
    for tap, weight in enumerate(weights):
        total = total + weight * np.take(values, sources[tap : tap + side], axis=axis)
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

# All codes that a program may have. The other instructions are what the native engine writes for
# CROP, for these and for itself.
DRAWN = frozenset((*GEOMETRIC, *ENHANCE, "GaussianBlur", "Custom", *OTHERS, *MIXING))


@pixels.register
def _grayscale(op: Grayscale, image: Image.Image, record: Records) -> Image.Image:
    grey = image.convert("L")
    return grey if op.num_output_channels == 1 else Image.merge("RGB", (grey, grey, grey))
