"""WebPs in whole batches: the native engine's are the torch backend's, and only those that are no
single picture go to Pillow.
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fastload import transforms as T
from tests.backends import of_format
from tests.kernels.test_webp import KINDS, encoded
from tests.kernels.webp_writer import chunks, riff

FEW = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of every kind in two classes, and an animated one."""
    root = tmp_path_factory.mktemp("webps")
    kinds = [(how, alpha) for how in KINDS.values() for alpha in (False, True)]
    for n in range(FEW):
        how, alpha = kinds[n % len(kinds)]
        path = root / f"class {n % 2}" / f"{n:02}.webp"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(encoded((30 + 5 * n, 95 - 3 * n), alpha=alpha, seed=n, **how))
    frames = [Image.fromarray(np.full((37, 51, 3), 60 * n, np.uint8)) for n in range(3)]
    frames[1].save(root / "class 1" / "two.webp", save_all=True, append_images=frames[2:])
    return root


@pytest.mark.parametrize("scale", ["exact", "fast"])
@pytest.mark.parametrize("name", of_format.PIPELINES)
def test_batches_are_the_torch_backends(folder: Path, name: str, scale: str) -> None:
    of_format.compare(folder, name, scale, webp=FEW)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_webp_that_is_cut_off_is_bad_as_it_is_for_pillow(
    folder: Path, tmp_path: Path, share: float
) -> None:
    of_format.cut_off(folder / "class 0" / "00.webp", tmp_path, share)


def test_bits_that_end_too_early_are_bad_whatever_the_crop(tmp_path: Path) -> None:
    """The file's sizes are right; the coded rows end in the middle of the picture."""
    [(name, content)] = chunks(encoded((160, 120), quality=90))
    place = tmp_path / "a"
    place.mkdir()
    (place / "x.webp").write_bytes(riff([(name, content[: len(content) // 2 & ~1])]))
    of_format.reason(tmp_path, [T.Resize(160), T.CenterCrop((8, 120))], r"x\.webp")
