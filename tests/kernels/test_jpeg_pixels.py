"""The pixel steps of the own JPEG decoder: the scalar ones against libjpeg-turbo and plain
arithmetic, the vector ones against the scalar ones on every instruction set of this machine. Always
to the bit.
"""

from itertools import product

import numpy as np
import pytest

from fastload import _native as native

from .coefficient_writer import random_coefficients, write_jpeg
from .helpers import pillow
from .pixel_steps import (
    TARGETS,
    hostile_blocks,
    idct_to,
    reference_idct,
    steps,
)


def idct(blocks, quant, target="scalar", step=1, across=1):
    """int16 [N, 64] in zigzag order, `across` for each MCU of `step` blocks, to N tiles side by
    side, uint8 [8, 8 N].
    """
    out, _ = idct_to(8, blocks, quant, target, step, across)
    return out


def plane(coefficients, quant):
    return np.vstack([idct(row, quant) for row in coefficients])


# ---- IDCT


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("most", [1, 16, 255, 65535])
def test_idct_is_defined_for_every_input(target, most):
    rng = np.random.default_rng(most)
    for count in [1, 2, 3, 4, 5, 64, 500]:
        blocks, quant = hostile_blocks(rng, count), rng.integers(1, most + 1, 64)
        np.testing.assert_array_equal(idct(blocks, quant, target), reference_idct(blocks, quant))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", [1, 1024])
def test_idct_of_each_single_coefficient(target, scale):
    blocks = np.vstack([np.eye(64), -np.eye(64), np.zeros((1, 64))]).astype(np.int16)
    np.testing.assert_array_equal(
        idct(blocks, [scale] * 64, target), reference_idct(blocks, np.full(64, scale))
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("across", [1, 2, 3, 4])
@pytest.mark.parametrize("mcus", [1, 2, 5])
def test_idct_finds_its_blocks_among_others(target, mcus, across):
    rng = np.random.default_rng([mcus, across])
    blocks, quant = (
        rng.integers(-40, 40, (mcus * across, 64)).astype(np.int16),
        rng.integers(1, 9, 64),
    )
    blocks[::3, 1:] = 0  # nothing but DC
    np.testing.assert_array_equal(
        idct(blocks, quant, target, step=6, across=across), reference_idct(blocks, quant)
    )


@pytest.mark.parametrize("largest", [1, 3, 20, 100, 255])
@pytest.mark.parametrize("count", [1, 5, 40])
def test_idct_is_libjpegs(largest, count):
    rng = np.random.default_rng([largest, count])
    quant = rng.integers(1, largest + 1, 64)
    coefficients = random_coefficients(rng, (8, 40), quant, count)
    data = write_jpeg(64, 320, [(1, 1)], [coefficients], [quant])
    np.testing.assert_array_equal(plane(coefficients, quant), pillow(data)[..., 0])
    np.testing.assert_array_equal(plane(coefficients, quant), native.decode(data)[..., 0])


# ---- upsampling


def upsample_row(kind, near, far, begin, end, target):
    out = np.full(end - begin, 99, np.uint8)
    if kind == "h2v1":
        steps.upsample_h2v1(near, begin, out, target)
    elif kind == "h2v2":
        steps.upsample_h2v2(near, far, begin, out, target)
    else:
        steps.upsample_h1v2(near[begin:end].copy(), far[begin:end].copy(), True, out, target)
    return out


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["h2v1", "h2v2", "h1v2"])
def test_part_of_a_row_is_the_same_as_in_the_whole_row(kind, target):
    rng = np.random.default_rng(5)
    for samples in [*range(1, 71), 127, 128, 129, 200]:
        near, far = rng.integers(0, 256, (2, samples)).astype(np.uint8)
        pixels = samples if kind == "h1v2" else 2 * samples
        whole = upsample_row(kind, near, far, 0, pixels, "scalar")
        for begin, end in [(0, pixels), *np.sort(rng.integers(0, pixels + 1, (20, 2)))]:
            if begin < end:
                np.testing.assert_array_equal(
                    upsample_row(kind, near, far, begin, end, target), whole[begin:end]
                )


@pytest.mark.parametrize("times", [1, 2, 3, 4])
def test_repeated_samples(times):
    samples = np.arange(7, dtype=np.uint8)
    whole = np.repeat(samples, times)
    for begin, end in product(range(len(whole)), range(1, len(whole) + 1)):
        if begin < end:
            out = np.empty(end - begin, np.uint8)
            steps.repeat(samples, times, begin, out)
            np.testing.assert_array_equal(out, whole[begin:end])


def upsample(component, horizontal, vertical, height, width, target):
    """A component's samples (its true size) to the image's size, row by row."""
    kind = steps.upsampling(horizontal, vertical, component.shape[1])
    out = np.empty((height, width), np.uint8)
    for y in range(height):
        near = component[y // vertical]
        far = component[np.clip(y // 2 + (1 if y % 2 else -1), 0, len(component) - 1)]
        if kind == "h1v2":
            steps.upsample_h1v2(near, far, y % 2 == 1, out[y], target)
        elif kind == "h2v1":
            steps.upsample_h2v1(near, 0, out[y], target)
        elif kind == "h2v2":
            steps.upsample_h2v2(near, far, 0, out[y], target)
        else:
            steps.repeat(near, horizontal, 0, out[y])
    return out


def colour(how, planes, target):
    height, width = planes[0].shape
    out = np.full((height, width, 3), 99, np.uint8)
    for y in range(height):
        steps.colour_row(how, *(plane[y].copy() for plane in planes), out[y], target)
    return out


SAMPLINGS = [
    [(1, 1), (1, 1), (1, 1)], [(2, 1), (1, 1), (1, 1)], [(1, 2), (1, 1), (1, 1)], [(2, 2), (1, 1),
    (1, 1)],
    [(4, 1), (1, 1), (1, 1)], [(1, 4), (1, 1), (1, 1)], [(4, 2), (1, 1), (1, 1)], [(2, 4), (1, 1),
    (1, 1)],
    [(3, 1), (1, 1), (1, 1)], [(1, 3), (1, 1), (1, 1)], [(2, 2), (2, 1), (1, 2)], [(2, 2), (1, 2),
    (2, 1)],
    [(1, 1), (2, 2), (1, 2)], [(4, 1), (2, 1), (1, 1)], [(2, 1), (1, 1), (2, 1)], [(1, 4), (1, 2),
    (1, 1)],
]  # fmt: skip
IDS = {
    "rgb": (1, 2, 3),
    "interleave": b"RGB",
}  # libjpeg takes these component numbers for YCbCr and for RGB


def write_and_decode(factors, height, width, how, target):
    """A JPEG of random coefficients, and what our steps make of them."""
    rng = np.random.default_rng([height, width])
    h_max, v_max = np.max(factors, axis=0)
    mcus = -(-height // (8 * v_max)), -(-width // (8 * h_max))
    quants = rng.integers(1, 30, (3, 64))
    coefficients = [
        random_coefficients(rng, (mcus[0] * v, mcus[1] * h), quant, 6)
        for (h, v), quant in zip(factors, quants, strict=True)
    ]
    planes = []
    for (h, v), quant, values in zip(factors, quants, coefficients, strict=True):
        samples = plane(values, quant)[: -(-height * v // v_max), : -(-width * h // h_max)].copy()
        planes.append(upsample(samples, int(h_max // h), int(v_max // v), height, width, target))
    data = write_jpeg(
        height, width, factors, coefficients, [list(map(int, quant)) for quant in quants], IDS[how]
    )
    return data, colour(how, planes, target)


@pytest.mark.parametrize("factors", SAMPLINGS, ids=str)
def test_pixels_are_libjpegs(factors):
    sizes = [(height, 7 + height) for height in range(1, 20)] + [
        (9, width) for width in range(1, 71)
    ]
    for height, width in [*sizes, (35, 150), (70, 53)]:
        data, got = write_and_decode(factors, height, width, "rgb", "best")
        np.testing.assert_array_equal(got, pillow(data), f"Pillow, {height} x {width}")
        np.testing.assert_array_equal(
            got, native.decode(data), f"libjpeg-turbo, {height} x {width}"
        )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factors", SAMPLINGS[:4], ids=str)
@pytest.mark.parametrize("how", IDS)
def test_pixels_are_libjpegs_on_every_target(how, factors, target):
    data, got = write_and_decode(factors, 37, 111, how, target)
    np.testing.assert_array_equal(got, pillow(data))


# ---- colour


def reference_rgb(y, cb, cr):
    red, blue = cr - 128, cb - 128
    r = y + ((91881 * red + 32768) >> 16)
    g = y + ((-22554 * blue - 46802 * red + 32768) >> 16)
    b = y + ((116130 * blue + 32768) >> 16)
    return np.clip(np.stack([r, g, b], -1), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("target", TARGETS)
def test_every_colour(target):
    cb, cr = (values.ravel().astype(np.uint8) for values in np.mgrid[:256, :256])
    pixels = np.empty((65536, 3), np.uint8)
    for y in range(0, 256, 1 if target in {"scalar", steps.targets()[0]} else 17):
        steps.colour_row("rgb", np.full(65536, y, np.uint8), cb, cr, pixels, target)
        np.testing.assert_array_equal(pixels, reference_rgb(y, cb.astype(int), cr.astype(int)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("how", ["rgb", "interleave", "grey"])
def test_rows_of_every_width(how, target):
    rng = np.random.default_rng(11)
    for width in [*range(1, 71), 96, 97, 127, 128, 129, 250]:
        rows = rng.integers(0, 256, (3, 1, width)).astype(np.uint8)
        stacked = {
            "rgb": reference_rgb(*rows.astype(int)),
            "interleave": np.stack(rows, -1),
            "grey": np.stack([rows[0]] * 3, -1),
        }
        np.testing.assert_array_equal(colour(how, rows, target), stacked[how])
