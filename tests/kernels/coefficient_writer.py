"""JPEGs made of given coefficients: all codes of a kind have the same length, so that writing them
is simple.
"""

from itertools import product

import numpy as np

AC_SYMBOLS = [0x00, 0xF0, *(run << 4 | size for run in range(16) for size in range(1, 11))]


def magnitude(value):
    size = abs(value).bit_length()
    return size, format(
        value if value > 0 else value + (1 << size) - 1, f"0{size}b"
    ) if size else ""


def block_bits(block, previous):
    size, bits = magnitude(int(block[0]) - previous)
    out, run = format(size, "04b") + bits, 0
    for value in block[1 : np.max(np.nonzero(block), initial=0) + 1]:
        if value == 0:
            run += 1
            continue
        size, bits = magnitude(int(value))
        out += format(AC_SYMBOLS.index(0xF0), "08b") * (run // 16)
        out += format(AC_SYMBOLS.index(run % 16 << 4 | size), "08b") + bits
        run = 0
    return out + ("" if block[63] else format(0, "08b"))


def segment(marker, payload):
    return bytes([0xFF, marker]) + (len(payload) + 2).to_bytes(2, "big") + bytes(payload)


def write_jpeg(height, width, factors, coefficients, quants, ids=(1, 2, 3)):
    """factors: (horizontal, vertical) of each component; coefficients: int16 [rows, columns, 64] of
    each, whole MCUs.
    """
    if len(factors) == 1:
        assert factors == [(1, 1)]
    head, scan = b"", b""
    for n, quant in enumerate(quants):
        head += segment(0xDB, bytes([n, *quant]))
        scan += bytes([ids[n], 0])
    frame = b"".join(bytes([ids[n], h << 4 | v, n]) for n, (h, v) in enumerate(factors))
    head += segment(
        0xC0,
        b"\x08"
        + height.to_bytes(2, "big")
        + width.to_bytes(2, "big")
        + bytes([len(factors)])
        + frame,
    )
    head += segment(0xC4, bytes([0x00, 0, 0, 0, 12, *[0] * 12, *range(12)]))
    head += segment(0xC4, bytes([0x10, *[0] * 7, len(AC_SYMBOLS), *[0] * 8, *AC_SYMBOLS]))
    head += segment(0xDA, bytes([len(factors)]) + scan + b"\x00\x3f\x00")
    bits, previous = [], [0] * len(factors)
    mcus = [
        size // factor
        for size, factor in zip(coefficients[0].shape[:2], reversed(factors[0]), strict=True)
    ]
    for y, x in product(range(mcus[0]), range(mcus[1])):
        for n, (h, v) in enumerate(factors):
            for row, column in product(range(v), range(h)):
                block = coefficients[n][y * v + row, x * h + column]
                bits.append(block_bits(block, previous[n]))
                previous[n] = int(block[0])
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    data = int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\x00")
    return b"\xff\xd8" + head + data + b"\xff\xd9"


def random_coefficients(rng, shape, quant, count):
    """A few coefficients per block, small enough that no sample leaves what libjpeg's C code
    clips.
    """
    out = np.zeros((*shape, 64), np.int16)
    room = np.full(shape, 3000)
    for _ in range(count):
        at = rng.integers(0, 64, shape)
        most = np.minimum(room // np.asarray(quant)[at], 1000)
        value = rng.integers(-most, most + 1)
        room -= abs(value) * np.asarray(quant)[at]
        np.put_along_axis(out, at[..., None], value[..., None], -1)
    out[..., 0] = np.clip(out[..., 0], -900, 900)  # differences stay below 2^11
    return out
