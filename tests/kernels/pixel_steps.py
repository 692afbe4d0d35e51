"""The own decoder's pixel steps one by one, and what they must give. What needs them imports them
from here: where they are not built, it is skipped.
"""

import numpy as np
import pytest

steps = pytest.importorskip(
    "fastload._test_pixels", reason="built with FASTLOAD_TEST_MODULES=ON only"
)

TARGETS = ["scalar", *steps.targets()]
ZIGZAG = sorted(
    range(64), key=lambda at: (at // 8 + at % 8, at // 8 if (at // 8 + at % 8) % 2 else at % 8)
)


def idct_to(size, blocks, quant, target, step, across):
    """The same to tiles of size x size samples; and whether all blocks are plausible."""
    memory = np.full((len(blocks) // across, step, 64), 7, np.int16)
    memory[:, :across] = np.reshape(blocks, (-1, across, 64))
    out = np.full((size, len(blocks) * size + 24), 99, np.uint8)
    good = steps.idct(memory, np.asarray(quant, np.uint16), out, across, target)
    assert not memory[:, :across].any()
    assert (memory[:, across:] == 7).all()
    assert (out[:, len(blocks) * size :] == 99).all()
    return out[:, : len(blocks) * size], good


def butterflies(x):
    """One pass of libjpeg's islow as its authors draw it: int64 [8, ...] to sums times 2^13."""
    z1 = (x[2] + x[6]) * 4433
    outer, inner = z1 + x[2] * 6270, z1 - x[6] * 15137
    total, difference = (x[0] + x[4]) << 13, (x[0] - x[4]) << 13
    even = [total + outer, difference + inner, difference - inner, total - outer]
    z5 = (x[7] + x[3] + x[5] + x[1]) * 9633
    z1, z2 = (x[7] + x[1]) * -7373, (x[5] + x[3]) * -20995
    z3, z4 = (x[7] + x[3]) * -16069 + z5, (x[5] + x[1]) * -3196 + z5
    odd = [
        x[1] * 12299 + z1 + z4,
        x[3] * 25172 + z2 + z3,
        x[5] * 16819 + z2 + z4,
        x[7] * 2446 + z1 + z3,
    ]
    sums = [e + o for e, o in zip(even, odd, strict=True)] + [
        e - o for e, o in zip(even[::-1], odd[::-1], strict=True)
    ]
    return np.stack(sums)


def reference_idct(blocks, quant):
    values = np.zeros((len(blocks), 64), np.int64)
    values[:, ZIGZAG] = (blocks.astype(np.int64) * quant).astype(np.int16)  # wraps
    columns = (
        butterflies(np.moveaxis(values.reshape(-1, 8, 8), 1, 0)) + (1 << 10)
    ) >> 11  # [row, N, column]
    rows = butterflies(np.moveaxis(np.clip(columns, -32768, 32767), 2, 0))  # [column, row, N]
    samples = np.clip(((rows + (1 << 17)) >> 18) + 128, 0, 255)
    return samples.transpose(1, 2, 0).reshape(8, -1).astype(np.uint8)


def hostile_blocks(rng, count):
    blocks = rng.integers(-32768, 32768, (count, 64))
    blocks[::4] = rng.choice([-32768, 32767], (len(blocks[::4]), 64))
    blocks[1::4] *= rng.random((len(blocks[1::4]), 64)) < 0.1
    blocks[2::4] >>= 7
    blocks[rng.random(count) < 0.3, 1:] = 0  # only DC
    return blocks.astype(np.int16)
