"""Damaged progressive JPEGs: what the own decoder makes of them against libjpeg-turbo and Pillow.

    python -m tests.kernels.mutants [COUNT] [SEED]

A release's check: 100,000 files, about 10 ms each. Prints how many the decoders took; exits 1 at
the first promise that is broken.
"""

import io
import random
import sys
from collections import Counter
from functools import cache

import numpy as np
from PIL import Image

from fastload import _native as native

from .helpers import jpeg, scene
from .transcode_helpers import random_script, tools

SAMPLINGS = ("4:4:4", "4:2:2", "4:2:0")


@cache
def good(number: int) -> bytes:
    rng = np.random.default_rng(number)
    plain = jpeg(
        scene(int(rng.integers(9, 80)), int(rng.integers(9, 80)), number), SAMPLINGS[number % 3]
    )
    if number % 2:
        return tools.recode(plain, random_script(3, rng), restart=int(rng.integers(0, 9)))
    return jpeg(scene(49, 66, number), SAMPLINGS[number % 3], progressive=True)


def damaged(number: int, seed: int) -> bytes:
    """Bits or bytes of coded data and headers, pieces lost, repeated or exchanged."""
    rng = random.Random(f"{seed} {number}")
    data = bytearray(good(number % 24))
    begin = data.index(b"\xff\xc2") if rng.random() < 0.3 else data.index(b"\xff\xda")
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(begin, len(data) - 2)
        kind = rng.randrange(5)
        if kind < 2:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.choice((0, 0xFF, rng.randrange(256)))
        elif kind == 3:
            del data[at : at + rng.choice((1, 2, 9, 60))]
        else:
            data[at:at] = data[at : at + rng.choice((1, 2, 9, 60))]
    return bytes(data)


def pillows(data: bytes) -> np.ndarray | None:
    """Pixels, whatever libjpeg warns of; None where it gives up."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(image.convert("RGB"))
    except Exception:  # whatever it is, the file is bad
        return None


def mutant(number: int, seed: int = 0) -> str:
    """What became of a file: taken, damaged or foreign.

    What is taken whole, libjpeg-turbo decodes without a warning and to the same pixels; of what is
    taken in part, Pillow has the same pixels there. Both targets agree.
    """
    data = damaged(number, seed)
    status, height, width, _, _ = native.probe(data)
    if status != native.OK or height * width > 1 << 20:
        return "foreign"
    rng = random.Random(number)
    top, left = rng.randrange(height), rng.randrange(width)
    part = (top, left, rng.randint(1, height - top), rng.randint(1, width - left))
    whole, _ = _both(data, (0, 0, height, width))
    if whole is not None:
        np.testing.assert_array_equal(whole, native.decode(data), err_msg=str(number))
    seen, _ = _both(data, part)
    if seen is not None:
        want = pillows(data)
        assert want is not None, number
        want = want[top : top + part[2], left : left + part[3]]
        np.testing.assert_array_equal(seen, want, err_msg=str(number))
    assert seen is not None or whole is None, number
    return "taken" if whole is not None else "damaged"


def _both(data: bytes, box: tuple[int, int, int, int]) -> tuple[np.ndarray | None, str]:
    """By both targets, the same."""
    (scalar, why), (tuned, other) = (
        native.jpeg_region(data, box, None, target) for target in ("scalar", "best")
    )
    assert why == other
    if scalar is None or tuned is None:
        assert scalar is tuned
        return None, why
    np.testing.assert_array_equal(scalar, tuned)
    return tuned, ""


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    count, seed = (*given, *(100_000, 0)[len(given) :])
    print(dict(Counter(mutant(number, seed) for number in range(count))))
