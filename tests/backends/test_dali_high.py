"""Images that are too high for the 32 bits of DALI's own random crop."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")
ORANGE = (200, 100, 48)
USUAL = (3 / 4, 4 / 3)


def batch(root: Path, backend: str, ratio: tuple[float, float]) -> torch.Tensor:
    """uint8 [N, 3, 6, 8]: one epoch over the folder."""
    ops = [RandomResizedCrop((6, 8), ratio=ratio), RandomHorizontalFlip()]
    (images, _), *others = fastload.DataLoader(
        fastload.open(root, ops), 16, seed=3, backend=backend, on_error="raise"
    )
    assert not others
    return images


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("height", "width", "ratio"),
    [
        (54984, 133, USUAL),  # as a damaged header said
        (40133, 8, USUAL),  # one row more than the limit
        (40132, 8, USUAL),
        (15000, 16, (0.1, 10.0)),
        (133, 54984, USUAL),  # wide ones have no limit
    ],
)
@pytest.mark.parametrize("kind", ["jpg", "png"])  # a PNG reaches DALI as pixels
def test_a_crop_lies_in_the_image(
    root: Path, kind: str, height: int, width: int, ratio: tuple[float, float]
) -> None:
    Image.new("RGB", (width, height), ORANGE).save(root / f"a/0.{kind}", quality=95)
    Image.new("RGB", (31, 17), ORANGE).save(root / f"a/1.{kind}", quality=95)
    images = batch(root, "dali-own", ratio).permute(0, 2, 3, 1).reshape(-1, 3)
    assert (images.int() - torch.tensor(ORANGE)).abs().max() <= 2


def test_what_is_reduced_shows_all_of_the_image(root: Path) -> None:
    rows = np.linspace(0, 255, 60000).astype(np.uint8)
    image = Image.fromarray(np.broadcast_to(rows[:, None, None], (60000, 5, 3)).copy())
    for number in range(16):
        image.save(root / f"a/{number:02}.png")
    means = batch(root, "dali-own", USUAL).float().mean((1, 2, 3))
    # No legal box has a share of 8 % of this image: DALI takes a square anywhere in it.
    assert means.min() < 85
    assert means.max() > 170


def test_fastloads_crops_have_no_such_limit(root: Path) -> None:
    rows = np.arange(40200) // 160
    image = Image.fromarray(np.broadcast_to(rows[:, None, None], (40200, 16, 3)).astype(np.uint8))
    image.save(root / "a/0.png")
    ours, theirs = (batch(root, name, USUAL).int() for name in ("native", "dali"))
    assert (ours - theirs).abs().max() <= 1
    assert ours.max() - ours.min() <= 1
