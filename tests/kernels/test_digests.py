"""The same bits from every build: other compilers, processors and instruction sets, the system's
libraries or those of a wheel. Each digest was made once, and is no other build's business.

What is hashed is made of whole numbers alone, so that it is the same everywhere too.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import pytest

from fastload import _native as native

from .augment_helpers import augmented, instruction
from .coefficient_writer import random_coefficients, write_jpeg
from .helpers import FILTERS, SAMPLINGS, noise, stored
from .png_writer import DEPTHS, VALUES, written

TARGETS = ("scalar", "best")
# Numbers whose products are rounded, so that a product that is fused with a sum shows
TURN = (0.8773, 0.4101, -3.517, -0.3391, 1.0627, 5.2511)
STEPS = {
    "Brightness": (1.45,),
    "Contrast": (1.1,),
    "Color": (0.97,),
    "Sharpness": (1.825,),
    "Posterize": (3,),
    "Solarize": (128,),
    "AutoContrast": (),
    "Equalize": (),
    "Grayscale": (),
    "Affine": TURN,
    "Perspective": (*TURN, 0.00193, -0.00097),
    "Hue": (56,),
}


def digest(arrays: Iterable[np.ndarray]) -> str:
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:16]


def decoded(sampling: str) -> Iterable[np.ndarray]:
    """Images of sizes that do not fit their blocks, whole and at 1/2, 1/4 and 1/8."""
    horizontal, vertical = SAMPLINGS[sampling]
    factors = [(horizontal, vertical), (1, 1), (1, 1)]
    for number, (height, width) in enumerate([(37, 53), (16, 16), (70, 33)]):
        rng = np.random.default_rng([number, horizontal, vertical])
        rows, columns = -(-height // (8 * vertical)), -(-width // (8 * horizontal))
        quant = rng.integers(1, 40, 64).astype(np.uint8)
        blocks = [random_coefficients(rng, (rows * v, columns * h), quant, 9) for h, v in factors]
        data = write_jpeg(height, width, factors, blocks, [quant] * 3)
        for scale in (1, 2, 4, 8):
            yield native.decode(data, scale)


DECODED = {
    "4:4:4": "be5d6e0b5b02cae6",
    "4:2:2": "5393c23e5c2fd131",
    "4:2:0": "4d0ec6a8af44245c",
    "4:4:0": "6c91ae111da1f147",
    "4:1:1": "c9c3a230ab7d5377",
}


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_decoding(sampling):
    assert digest(decoded(sampling)) == DECODED[sampling]


def unpacked(colour: int) -> Iterable[np.ndarray]:
    """PNGs of every depth, whole and interlaced, whose rows take all filters in turn."""
    for depth in DEPTHS[colour]:
        for interlaced in (False, True):
            rng = np.random.default_rng([colour, depth, interlaced])
            values = rng.integers(0, 1 << depth, (37, 53, VALUES[colour])).astype(np.uint16)
            palette = rng.integers(0, 256, 3 << depth, np.uint8).tobytes() if colour == 3 else b""
            data = written(
                values, depth, colour, filters=range(5), interlaced=interlaced, palette=palette
            )
            yield native.png_decode(data, 0, 0, 37, 53)


UNPACKED = {
    0: "7c5abed7998fc613",
    2: "ce7ddf0e13e57404",
    3: "60013fee22d2d390",
    4: "f30fdd3dc99446c4",
    6: "b6e308b35733f3f8",
}


@pytest.mark.parametrize("target", native.targets())
@pytest.mark.parametrize("colour", DEPTHS)
def test_pngs(colour, target):
    native.limit_targets(target)
    try:
        assert digest(unpacked(colour)) == UNPACKED[colour]
    finally:
        native.limit_targets("")


def resized(name: str, target: str) -> Iterable[np.ndarray]:
    image = noise(61, 94)
    for height, width in [(24, 31), (61, 94), (130, 47), (1, 200)]:
        out = np.zeros((height, width, 3), np.uint8)
        crop = np.array([2, 5, 55, 80, height, width, 0, 0, 1], np.int32)  # mirrored
        native.crop_resize(image, crop, out, name, target)
        yield out


RESIZED = {
    "nearest": "e15a52458518a9fa",
    "box": "79f4bc0adc2bcbeb",
    "bilinear": "61f452cac2750d83",
    "hamming": "0009d5d7ccd5ce3b",
    "bicubic": "65b7d9babd3d4044",
    "lanczos": "31d58278f83c1018",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FILTERS)
def test_resizing(name, target):
    assert digest(resized(name, target)) == RESIZED[name]


AUGMENTED = {
    "Brightness": "14d112f93d1f26d2",
    "Contrast": "78d10b51433db83c",
    "Color": "38939b925c46ca65",
    "Sharpness": "bb1b30303e034744",
    "Posterize": "40e187fbfc022aad",
    "Solarize": "a4f2701ba83287ee",
    "AutoContrast": "bd1225ebd6272b39",
    "Equalize": "53a3bba59183dfbe",
    "Grayscale": "6f05a11f0628cab0",
    "Affine": "bd298e789ccd03cc",
    "Perspective": "907bcba021d9af10",
    "Hue": "e232547391592821",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", STEPS)
def test_augmenting(name, target):
    samplings = (
        ("nearest", "bilinear", "bicubic") if name in ("Affine", "Perspective") else ("nearest",)
    )
    images = [
        augmented(image, instruction(name, *STEPS[name], sampling=sampling), target=target)
        for sampling in samplings
        for image in (noise(37, 53), noise(70, 33, 1))
    ]
    assert digest(images) == AUGMENTED[name]


STORED = {
    "float16": "649c074540a7e593",
    "float32": "491a606b96af727e",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_storing(dtype, target):
    values = (np.arange(3 * 256).reshape(3, 256) / 64 - 3).astype(dtype)
    out = np.zeros((3, 37, 53), dtype)
    native.store(noise(37, 53), stored(values), out, target)
    assert digest([out]) == STORED[dtype]
