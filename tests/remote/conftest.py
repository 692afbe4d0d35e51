"""A data set of a few shards, the servers that have it, and what loaders give of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import fastload
from fastload.conversion import job
from fastload.remote import layout
from fastload.transforms import RandomResizedCrop, ToImage
from tests.conftest import encoded, textured
from tests.remote.web import Web, serving

IMAGES, GROUP = 60, 24 << 10  # images of the data set; bytes of a group, so that there are many
OPS = [RandomResizedCrop((24, 31)), ToImage()]


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 images in 5 shards or more, with sidecars."""
    root = tmp_path_factory.mktemp("shards")
    for number in range(IMAGES):
        folder = root / "images" / f"class-{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = textured(96 + number % 7 * 8, 120 + number % 5 * 16, number)
        (folder / f"{number:03}.jpg").write_bytes(encoded(pixels, quality=92))
    options = job.Options(shard_bytes=128 << 10, shuffle=5)
    job.run(job.prepare(str(root / "images"), str(root / "shards"), options))
    return root / "shards"


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "GROUP", GROUP)


@pytest.fixture
def web(shards: Path) -> Iterator[Web]:
    with serving(shards.parent) as server:
        yield server


def batches(
    data: "fastload.Dataset", workers: int = 2, **options: object
) -> list[tuple[list[int], bytes]]:
    """Labels and pixels of an epoch, by batches."""
    options = {"batch_size": 7, "seed": 3, "shuffle": True} | options
    loader = fastload.DataLoader(data, num_workers=workers, **options)
    return [(labels.tolist(), images.numpy().tobytes()) for images, labels in loader]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))
