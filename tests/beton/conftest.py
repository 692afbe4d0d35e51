"""Files with every kind of field."""

import numpy as np
import pytest

from tests.beton.layout import Writer

FIELDS = [
    ("image", "image"), ("label", "int"), ("weight", "float"), ("note", "bytes"), ("box", "array",
    "float32", (2, 3)),
    ("meta", "json"), ("mask", "tensor", "uint8", (4,)),
]  # fmt: skip


@pytest.fixture
def rows(make_image, encode):
    """Every second image raw; non-square, several sizes."""
    found = []
    for number in range(12):
        pixels = make_image(40 + 3 * number, 61 - number, number)
        image = (
            ("raw", pixels)
            if number % 2
            else ("jpg", encode(pixels, quality=90, subsampling=number % 3), *pixels.shape[:2])
        )
        note, box = bytes(range(number % 4)), np.full((2, 3), number, np.float32)
        found.append(
            [
                image,
                number % 5,
                number / 3,
                note,
                box,
                {"id": number},
                np.arange(4, dtype=np.uint8) + number,
            ]
        )
    return found


@pytest.fixture
def beton(rows, tmp_path):
    path = tmp_path / "all.beton"
    path.write_bytes(Writer(FIELDS, rows).bytes())
    return str(path)
