"""Images for data sets of every kind."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three classes of three images, and a mask beside each."""
    root = tmp_path_factory.mktemp("mutations")
    draw = np.random.default_rng(1)
    for number in range(9):
        height, width = 30 + number, 44 - 2 * number
        path = root / f"class {number // 3}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        small = draw.integers(0, 256, (6, 5, 3), np.uint8)
        Image.fromarray(small).resize((width, height), Image.Resampling.BILINEAR).save(
            path, quality=92
        )
        for kind in ("mask", "other"):
            Image.fromarray(draw.integers(0, 9, (height, width), np.uint8)).save(
                f"{path}.{kind}", "PNG"
            )
    return str(root)
