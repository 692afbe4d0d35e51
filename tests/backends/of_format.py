"""Images of one format in whole batches: the native engine's are the torch backend's."""

from pathlib import Path
from typing import Any

import pytest
import torch

import fastload
from fastload import transforms as T
from tests.ways import ways_taken

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


def compare(folder: Path, name: str, scale: str, **ways: int) -> None:
    """One of PIPELINES, by both. ways: how many images take which way natively."""
    ops = PIPELINES[name]
    want, _ = load(folder, ops, backend="torch", decode_scale=scale)
    for workers in (0, 2):
        got, loader = load(folder, ops, backend="native", decode_scale=scale, num_workers=workers)
        torch.testing.assert_close(got, want, rtol=0, atol=0)
        assert loader.decodes() == ways_taken(**ways)


def reason(folder: Path, ops: list[T.Op], name: str) -> str:
    """Why the image of that name is bad, which both say alike."""
    reasons = []
    for backend in ("native", "torch"):
        with pytest.raises(fastload.SampleError, match=name) as caught:
            load(folder, ops, backend=backend)
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]
    return reasons[0]


def cut_off(good: Path, folder: Path, share: float) -> None:
    """The second of three copies is bad as it is for Pillow: only a share of its bytes is there."""
    place = folder / "a"
    place.mkdir()
    names = [f"{n}{good.suffix}" for n in range(3)]
    for name in names:
        (place / name).write_bytes(good.read_bytes())
    data = good.read_bytes()
    (place / names[1]).write_bytes(data[: int(len(data) * share)])
    reason(folder, PIPELINES["crop"], names[1].replace(".", r"\."))
