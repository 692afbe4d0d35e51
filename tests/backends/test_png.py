"""PNGs in whole batches: the native engine's are the torch backend's, and no PNG goes to Pillow."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.backends import of_format
from tests.kernels.png_writer import written
from tests.kernels.test_png import palette_of, values_of

KINDS = [(2, 8), (6, 8), (0, 8), (3, 8), (4, 16), (2, 16), (3, 2), (0, 1)]
LEFT = [(37, 51), (64, 20), (19, 90)]  # height, width, px, of images of 16-bit grey: Pillow's


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of every kind in two classes, and three that are left to Pillow."""
    root = tmp_path_factory.mktemp("pngs")
    for n in range(24):
        colour, depth = KINDS[n % len(KINDS)]
        size = 30 + 5 * n, 95 - 3 * n
        data = written(
            values_of(*size, depth, colour, n),
            depth,
            colour,
            filters=[4, 1, 2, 3, 0],
            interlaced=n % 5 == 4,
            palette=palette_of(1 << depth) if colour == 3 else b"",
            parts=1 + n % 3,
        )
        path = root / f"class {n % 2}" / f"{n:02}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    for n, size in enumerate(LEFT):
        pixels = np.random.default_rng(n).integers(0, 65536, size, np.uint16)
        Image.fromarray(pixels).save(root / "class 1" / f"left {n}.png")
    return root


@pytest.mark.parametrize("scale", ["exact", "fast"])
@pytest.mark.parametrize("name", of_format.PIPELINES)
def test_batches_are_the_torch_backends(folder: Path, name: str, scale: str) -> None:
    of_format.compare(folder, name, scale, png=24)


def test_a_png_with_damaged_rows_is_bad_as_it_is_for_pillow(folder: Path, tmp_path: Path) -> None:
    of_format.cut_off(folder / "class 0" / "00.png", tmp_path, 0.5)
