"""docs/gallery.md shows every op as the code makes it now."""

import numpy as np
import pytest
from PIL import Image

from fastload import transforms as T
from tests.conftest import needs_numba

gallery = pytest.importorskip("benchmarks.pages.gallery")  # not in an installed package
SHOWN = [shown for group in gallery.GROUPS.values() for shown in group]
# Levels of 255, on average of a square: what the picture's lossy coding may change (measured: 12,
# in small saturated detail). Another draw of an op changes some square by more than 20.
CODING = 16.0


def test_every_public_op_is_there_once():
    names = [shown.name for shown in SHOWN]
    assert sorted([*names, *gallery.NO_PICTURE]) == sorted(T.__all__)


def test_the_page_is_what_its_generator_writes(tree):
    page = (tree / "docs" / "gallery.md").read_text()
    assert page == gallery.page(), "run `python -m benchmarks gallery`"


@pytest.mark.long
def test_the_picture_is_what_the_code_makes(tree):
    path = tree / "docs" / gallery.PICTURE
    assert path.stat().st_size < 400_000
    with Image.open(path) as opened:
        drawn = np.asarray(opened.convert("RGB"), np.int16)
    made = np.asarray(gallery.draw(), np.int16)
    assert drawn.shape == made.shape, "run `python -m benchmarks gallery`"
    side = 50  # px: a picture of another op is 12 such squares
    high, wide = (length // side * side for length in drawn.shape[:2])
    apart = np.abs(drawn - made)[:high, :wide].reshape(high // side, side, wide // side, side, 3)
    assert apart.mean(axis=(1, 3, 4)).max() < CODING, "run `python -m benchmarks gallery`"


@needs_numba
def test_what_changes_pixels_is_seen_to(tmp_path):
    gallery._images(tmp_path)
    by_name = {shown.name: shown for shown in SHOWN}
    plain = gallery.picture(by_name["Resize"], str(tmp_path))
    same = {
        name for name, shown in by_name.items() if gallery.picture(shown, str(tmp_path)) == plain
    }
    assert same == {
        "Resize",
        "ToImage",
        "PILToTensor",
        "ToTensor",
        "ToDtype",
        "ConvertImageDtype",
        "LabelSmoothing",
    }
