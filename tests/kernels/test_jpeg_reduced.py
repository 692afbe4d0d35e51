"""Blocks to fewer samples: the reduced transforms on every instruction set, against plain
arithmetic. Always to the bit.
"""

import numpy as np
import pytest

from fastload import _native as native

from .coefficient_writer import random_coefficients, write_jpeg
from .pixel_steps import TARGETS, ZIGZAG, hostile_blocks, idct_to, reference_idct

SIZES = (4, 2, 1)


def idct(blocks, quant, size, target="scalar", step=1, across=1):
    """int16 [N, 64] in zigzag order to N tiles side by side, uint8 [size, width]; and whether all
    are plausible.
    """
    return idct_to(size, blocks, quant, target, step, across)


def factors(size):
    """[size, 8]: what the outputs of each group of the 8-point transform add up to, in 13-bit fixed
    point.
    """
    x, k = np.mgrid[:8, :8]
    waves = np.where(k == 0, 1.0, np.sqrt(2) * np.cos((2 * x + 1) * k * np.pi / 16))
    return np.rint(waves.reshape(size, 8 // size, 8).sum(axis=1) * 8192).astype(np.int64)


def wrapped(sums, bits):
    return (sums + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def reference(blocks, quant, size):
    values = np.zeros((len(blocks), 64), np.int64)
    values[:, ZIGZAG] = wrapped(blocks.astype(np.int64) * quant, 16)
    by, gain = factors(size), {4: 1, 2: 2}[size]
    columns = wrapped(
        np.einsum("jk,nkx->njx", by, values.reshape(-1, 8, 8)) + (1 << (10 + gain)), 32
    ) >> (11 + gain)
    rows = np.einsum("xk,njk->jnx", by, np.clip(columns, -32768, 32767))
    samples = wrapped(rows + (1 << (17 + gain)) + (128 << (18 + gain)), 32) >> (18 + gain)
    return np.clip(samples, 0, 255).reshape(size, -1).astype(np.uint8)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [4, 2])
@pytest.mark.parametrize("most", [1, 16, 255, 65535])
def test_reduced_transforms_are_defined_for_every_input(target, size, most):
    rng = np.random.default_rng([most, size])
    for count in [1, 2, 3, 4, 5, 64, 300]:
        blocks, quant = hostile_blocks(rng, count), rng.integers(1, most + 1, 64)
        np.testing.assert_array_equal(
            idct(blocks, quant, size, target)[0], reference(blocks, quant, size)
        )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [4, 2])
@pytest.mark.parametrize("scale", [1, 1024])
def test_reduced_transforms_of_each_single_coefficient(target, size, scale):
    blocks = np.vstack([np.eye(64), -np.eye(64), np.zeros((1, 64))]).astype(np.int16)
    np.testing.assert_array_equal(
        idct(blocks, [scale] * 64, size, target)[0], reference(blocks, np.full(64, scale), size)
    )


@pytest.mark.parametrize("target", TARGETS)
def test_one_sample_is_the_blocks_mean(target):
    dc = np.arange(-1100, 1101, dtype=np.int16)
    blocks = np.random.default_rng(0).integers(-9, 9, (len(dc), 64)).astype(np.int16)
    blocks[:, 0] = dc
    want = np.clip(np.floor(dc / 8 + 0.5) + 128, 0, 255)
    np.testing.assert_array_equal(idct(blocks, [1] * 64, 1, target)[0][0], want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
def test_a_sample_is_about_the_mean_of_those_it_stands_for(target, size):
    rng = np.random.default_rng(size)
    blocks = (rng.normal(0, 1, (200, 64)) * 200 / (1 + np.arange(64))).astype(np.int16)
    whole = reference_idct(blocks, np.ones(64, np.int64)).astype(float)
    inside = (
        ((whole > 2) & (whole < 253)).reshape(8, -1, 8).all(axis=(0, 2))
    )  # where nothing was clipped
    means = whole.reshape(size, 8 // size, -1, 8 // size).mean(axis=(1, 3)).reshape(size, -1, size)
    got = idct(blocks, [1] * 64, size, target)[0].reshape(size, -1, size)
    assert inside.sum() > 50
    assert np.abs(got - means)[:, inside].max() < 1.2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("across", [1, 2, 3, 4])
@pytest.mark.parametrize("mcus", [1, 2, 5])
def test_blocks_are_found_among_others(target, size, mcus, across):
    rng = np.random.default_rng([mcus, across])
    blocks, quant = (
        rng.integers(-40, 40, (mcus * across, 64)).astype(np.int16),
        rng.integers(1, 9, 64),
    )
    want = np.hstack([idct(block[None], quant, size)[0] for block in blocks])
    np.testing.assert_array_equal(idct(blocks, quant, size, target, step=6, across=across)[0], want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES)
def test_the_verdict_is_the_scalar_ones(target, size):
    rng = np.random.default_rng(size)
    verdicts = []
    for sum_ in [*range(5880, 5920, 3), *range(4080, 4100)]:
        block = np.zeros((1, 64), np.int16)
        block[0, 0 if sum_ < 5000 else rng.integers(0, 64)] = rng.choice([-1, 1]) * sum_
        verdicts.append(idct(block, [1] * 64, size)[1])
        assert idct(block, [1] * 64, size, target)[1] == verdicts[-1]
    assert len(set(verdicts)) == 2


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [*SIZES, 8])
@pytest.mark.parametrize("other", [0, 1, 63])
@pytest.mark.parametrize("dc", [-32768, 32767])
def test_no_dc_is_too_large_to_be_judged(target, size, other, dc):
    """-32768 has no absolute value in 16 bits."""
    block = np.zeros((2, 64), np.int16)
    block[1, other], block[1, 0] = 3, dc
    assert not idct_to(size, block, [1] * 64, target, 1, 1)[1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("largest", [1, 3, 20, 100, 255])
def test_reduced_transforms_are_libjpegs(size, largest):
    rng = np.random.default_rng([largest, size])
    quant = rng.integers(1, largest + 1, 64)
    coefficients = random_coefficients(rng, (8, 40), quant, 5)
    data = write_jpeg(64, 320, [(1, 1)], [coefficients], [quant])
    want = np.vstack([idct(row, quant, size)[0] for row in coefficients])
    np.testing.assert_array_equal(want, native.decode(data, 8 // size)[..., 0])
