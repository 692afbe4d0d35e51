"""WebPs in whole batches: the native engine's are the torch backend's, and only those that are no
single picture go to Pillow.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import transforms as T
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


PIPELINES = {
    "crop": [T.RandomResizedCrop((24, 31)), T.RandomHorizontalFlip()],
    "randaugment": [T.RandomResizedCrop(28), T.RandAugment(), T.ToTensor()],
    "validation": [T.Resize(40), T.CenterCrop((32, 37))],
}


def load(
    folder: Path, ops: list[T.Op], **options: Any
) -> tuple[torch.Tensor, fastload.DataLoader[Any]]:
    loader = fastload.DataLoader(
        fastload.open(str(folder), ops), 9, shuffle=True, seed=3, **options
    )
    return torch.cat([images for images, _ in loader]), loader


@pytest.mark.parametrize("scale", ["exact", "fast"])
@pytest.mark.parametrize("name", PIPELINES)
def test_batches_are_the_torch_backends(folder: Path, name: str, scale: str) -> None:
    want, _ = load(folder, PIPELINES[name], backend="torch", decode_scale=scale)
    for workers in (0, 2):
        got, loader = load(
            folder, PIPELINES[name], backend="native", decode_scale=scale, num_workers=workers
        )
        torch.testing.assert_close(got, want, rtol=0, atol=0)
        assert loader.decodes() == {**dict.fromkeys(loader.decodes(), 0), "webp": FEW}


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_webp_that_is_cut_off_is_bad_as_it_is_for_pillow(
    folder: Path, tmp_path: Path, share: float
) -> None:
    good = (folder / "class 0" / "00.webp").read_bytes()
    place = tmp_path / "a"
    place.mkdir()
    for n in range(3):
        (place / f"{n}.webp").write_bytes(good)
    bad = place / "1.webp"
    bad.write_bytes(good[: int(len(good) * share)])
    reasons = []
    for backend in ("native", "torch"):
        with pytest.raises(fastload.SampleError, match=r"1\.webp") as caught:
            load(tmp_path, PIPELINES["crop"], backend=backend)
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]


def test_bits_that_end_too_early_are_bad_whatever_the_crop(tmp_path: Path) -> None:
    """The file's sizes are right; the coded rows end in the middle of the picture."""
    [(name, content)] = chunks(encoded((160, 120), quality=90))
    place = tmp_path / "a"
    place.mkdir()
    (place / "x.webp").write_bytes(riff([(name, content[: len(content) // 2 & ~1])]))
    ops = [T.Resize(160), T.CenterCrop((8, 120))]
    reasons = []
    for backend in ("native", "torch"):
        with pytest.raises(fastload.SampleError, match=r"x\.webp") as caught:
            load(tmp_path, ops, backend=backend)
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]
