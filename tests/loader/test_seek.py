"""Seek indexes through the loader: found where they lie, the same batches, counted."""

import shutil

import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.conversion import indexing, job
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.ways import ways_taken

OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]


def batches(data):
    loader = fastload.DataLoader(data, 8, shuffle=True, num_workers=2, seed=4, backend="native")
    return list(loader), loader.decodes()


def make_index(root):
    indexing.run(indexing.prepare(str(root)), count=1)


def same(a, b):
    return all(torch.equal(x, y) and torch.equal(i, j) for (x, i), (y, j) in zip(a, b, strict=True))


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def test_an_indexed_folder_gives_the_same_batches(copy):
    before, ways = batches(fastload.open(copy, OPS))
    assert ways == ways_taken(whole=40)
    make_index(copy)
    after, ways = batches(fastload.open(copy, OPS))
    assert ways == ways_taken(indexed=40)
    assert same(before, after)


def test_torchvisions_image_folder_finds_the_index_too(copy):
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    before, _ = batches(ImageFolder(copy, transform))
    make_index(copy)
    after, ways = batches(ImageFolder(copy, transform))
    assert ways["indexed"] == 40
    assert same(before, after)


def test_shards_carry_their_index(folder, tmp_path):
    shards = str(tmp_path / "shards")
    job.run(job.prepare(folder, shards, job.Options()))
    found, ways = batches(fastload.open(shards, OPS))
    assert ways == ways_taken(indexed=40)
    assert same(found, batches(fastload.open(folder, OPS))[0])


def test_changed_files_are_decoded_whole(copy):
    make_index(copy)
    files = sorted(copy.glob("*/*.jpg"))
    shutil.copy(files[5], files[8])  # another picture under an indexed name
    found, ways = batches(fastload.open(copy, OPS))
    assert ways["indexed"] < 40
    assert ways["indexed"] + ways["whole"] == 40
    for path in copy.glob("fastload.seek*"):
        path.unlink()
    assert same(found, batches(fastload.open(copy, OPS))[0])
