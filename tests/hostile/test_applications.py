"""Segments that libjpeg passes over and Pillow's own parser reads: what is taken for certain,
Pillow takes, to the bit.
"""

import random
import warnings
from io import BytesIO

import numpy as np
from PIL import Image, UnidentifiedImageError

from fastload import _native as native
from tests.hostile.applications import application
from tests.kernels.helpers import jpeg, scene

GOOD = jpeg(scene(19, 37))
BARE = GOOD[:2] + GOOD[20:]  # without JFIF, which may give the resolution before EXIF does
FILES = 2000


def with_applications(seed: int) -> bytes:
    rng = random.Random(f"applications {seed}")
    base = rng.choice((GOOD, BARE, BARE))
    return base[:2] + b"".join(application(rng) for _ in range(rng.choice((1, 1, 2, 3)))) + base[2:]


def test_no_file_is_certain_that_pillow_refuses() -> None:
    certain, refused, same = 0, 0, 0
    for seed in range(FILES):
        data = with_applications(seed)
        sure = native.probe(data)[0] == native.OK
        certain += sure
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's own, of EXIF
                pixels = np.asarray(Image.open(BytesIO(data)).convert("RGB"))
        except UnidentifiedImageError:
            assert not sure, seed
            refused += 1
        else:
            got, _ = native.jpeg_region(
                data, (0, 0, 19, 37), None, "best"
            )  # None: libjpeg warns, and Pillow is asked
            if sure and got is not None:
                same += 1
                np.testing.assert_array_equal(got, pixels, err_msg=str(seed))
    assert certain > FILES / 2, "nearly all would be Pillow's to decode"
    assert same > certain * 0.8, "nearly all would be Pillow's to decode"
    assert refused > 20, "nothing was tested"
