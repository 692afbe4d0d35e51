"""Images of one channel: three equal ones are made, of which one is copied once its pixels are
there.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import transforms as T

COUNT, SIZE = 56, 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("images")
    place = root / "class"
    place.mkdir()
    for n in range(COUNT):
        pixels = np.random.default_rng(n).integers(0, 256, (40 + n, 90, 3), np.uint8)
        Image.fromarray(pixels).save(place / f"{n:02}.jpg")
    return root


def batches(folder: Path, ops: list[T.Op], **options: Any) -> list[torch.Tensor]:
    data = fastload.open(str(folder), ops)
    loader = fastload.DataLoader(data, SIZE, shuffle=True, seed=1, **options)
    return [images for _ in range(2) for images, _ in loader]


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    "after", [[], [T.ToImage(), T.ToDtype("float32", scale=True)]], ids=["uint8", "float32"]
)
def test_every_batch_has_its_own_pixels(folder: Path, after: list[T.Op], workers: int) -> None:
    """More batches than slots, so that a slot's earlier pixels would be seen."""
    ops = [T.RandomResizedCrop((24, 31)), T.RandomHorizontalFlip(), T.Grayscale(1), *after]
    want = batches(folder, ops, backend="torch")
    got = batches(folder, ops, backend="native", num_workers=workers)
    assert len(got) == len(want) == 2 * COUNT // SIZE
    for one, other in zip(got, want, strict=True):
        assert one.shape == (SIZE, 1, 24, 31)
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_of_one_image_lies_as_pytorchs(folder: Path, workers: int) -> None:
    data = fastload.open(str(folder), [T.CenterCrop((9, 7)), T.Grayscale(1), T.ToImage()])
    for loader in (fastload.DataLoader, torch.utils.data.DataLoader):
        images = next(iter(loader(data, 1, num_workers=workers)))[0]
        assert images.stride() == (63, 63, 7, 1)
        assert images.untyped_storage().nbytes() == 63
