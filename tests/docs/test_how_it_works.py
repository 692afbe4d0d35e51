"""The pages that explain decoding and randomness: the picture is what the code draws, the numbers
are the decoder's, and the example prints what the page says.
"""

import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from fastload import _native
from tests.conftest import TREE

decoding = pytest.importorskip("benchmarks.pages.decoding")  # not in an installed package


@pytest.mark.long
def test_the_example_prints_what_the_page_says():
    page = (TREE / "docs" / "how-randomness-works.md").read_text()
    (code,) = re.findall(r"<!-- example -->\n```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"<!-- printed -->\n```text\n(.*?)```", page, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=TREE
    )
    assert ran.stdout == printed, ran.stderr


def test_the_picture_is_what_the_code_draws():
    with Image.open(TREE / "docs" / decoding.PICTURE) as opened:
        shown = np.asarray(opened.convert("RGB"), np.float64)
    drawn = np.asarray(decoding.draw(), np.float64)
    assert shown.shape == drawn.shape, "run `python -m benchmarks decoding`"
    assert np.abs(shown - drawn).mean() < 6, "run `python -m benchmarks decoding`"


def test_the_region_by_the_index_has_the_pixels_of_the_whole():
    data = decoding.jpeg()
    top, left, height, width = decoding.CROP
    index = _native.jpeg_index(data, decoding.STEP)
    region, why = _native.jpeg_region(data, decoding.CROP, index, "best")
    whole = _native.decode(data)[top : top + height, left : left + width]
    assert why == ""
    np.testing.assert_array_equal(region, whole)


def test_an_index_leaves_out_what_the_crop_does_not_need():
    data = decoding.jpeg()
    without, having = (decoding.tiles(data, indexed).kind for indexed in (False, True))
    np.testing.assert_array_equal(without == 0, having == 0)
    counts = np.bincount(having.ravel(), minlength=3)
    # Up to STEP - 1 tiles of each row between the checkpoint and the crop
    assert 0 < counts[1] < decoding.STEP * having.shape[0]
    assert (without == 1).sum() > 10 * counts[1]
    top, left, height, width = (length // decoding.MCU for length in decoding.CROP)
    assert (having[top : top + height, left : left + width] == 0).all()
