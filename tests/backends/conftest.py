"""Images of every kind that a .beton file holds, and such files."""

import io

import pytest
from PIL import Image

from tests.beton.layout import Writer

FIELDS = [("note", "bytes"), ("image", "image"), ("weight", "float"), ("label", "int")]


@pytest.fixture
def cells(make_image, encode):
    """13 images, every third raw, and a CMYK JPEG, which only Pillow decodes."""
    found = []
    for number in range(13):
        pixels = make_image(40 + 3 * number, 61 - number, number)
        raw, jpeg = (
            ("raw", pixels),
            ("jpg", encode(pixels, quality=90, subsampling=number % 3), *pixels.shape[:2]),
        )
        found.append(jpeg if number % 3 else raw)
    found[4] = ("jpg", as_jpeg(Image.fromarray(make_image(30, 41, 4)).convert("CMYK")), 30, 41)
    return found


@pytest.fixture
def beton(tmp_path):
    """Writes a file of these images, labels and other fields."""

    def write(cells):
        rows = [
            [bytes(number % 3), cell, number / 2, number % 5] for number, cell in enumerate(cells)
        ]
        (tmp_path / "x.beton").write_bytes(Writer(FIELDS, rows).bytes())
        return str(tmp_path / "x.beton")

    return write


def as_jpeg(image):
    out = io.BytesIO()
    image.save(out, "JPEG")
    return out.getvalue()
