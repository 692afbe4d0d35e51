"""How large images are, by an index or by their headers."""

import shutil

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import ConcatDataset, Subset
from torchvision.datasets import ImageFolder

import fastload
from fastload import BucketSampler
from fastload.conversion import job
from fastload.errors import UsageError
from fastload.order import bucket_data
from fastload.sources import image_sizes, open_source


def by_pillow(folder):
    sizes = []
    for path, _ in ImageFolder(folder).samples:
        with Image.open(path) as image:
            sizes.append(image.size[::-1])
    return sizes


@pytest.fixture(autouse=True)
def kept(cache):
    """Where sizes are kept, of this test alone."""
    return cache / "fastload" / "sizes"


def test_of_a_folder_and_of_its_shards(folder, tmp_path):
    want = by_pillow(folder)
    assert image_sizes.of(open_source(folder)).tolist() == [list(size) for size in want]
    job.run(job.prepare(folder, str(tmp_path / "shards"), job.Options(workers=1)))
    shards = open_source(str(tmp_path / "shards"))
    at = [shards.name(n).rsplit("/", 1)[1] for n in range(len(shards))]
    names = [path.rsplit("/", 1)[1] for path, _ in ImageFolder(folder).samples]
    by_name = dict(zip(names, want, strict=True))
    found = image_sizes.of(shards).tolist()
    assert len(at) == len(found) == len(want)
    assert sorted(map(tuple, found)) == sorted(by_name.values())


def test_of_torchvisions_data_sets_and_parts_of_them(folder):
    whole = ImageFolder(folder)
    want = np.array(by_pillow(folder))
    np.testing.assert_array_equal(bucket_data.sizes(whole), want)
    some = Subset(whole, [5, 1, 1])
    np.testing.assert_array_equal(bucket_data.sizes(some), want[[5, 1, 1]])
    both = ConcatDataset([some, whole])
    np.testing.assert_array_equal(bucket_data.sizes(both), np.concatenate([want[[5, 1, 1]], want]))


def test_headers_are_read_once(folder, kept, monkeypatch):
    first = image_sizes.of(open_source(folder))
    assert len(list(kept.iterdir())) == 1
    monkeypatch.setattr(image_sizes, "_by_headers", None)  # nothing is read again
    np.testing.assert_array_equal(image_sizes.of(open_source(folder)), first)


def test_other_files_are_read_again(folder, tmp_path, kept):
    root = shutil.copytree(folder, tmp_path / "own")
    first = image_sizes.of(open_source(str(root)))
    path = ImageFolder(str(root)).samples[3][0]
    Image.new("RGB", (123, 45)).save(path)
    again = image_sizes.of(open_source(str(root)))
    assert again[3].tolist() == [45, 123]
    np.testing.assert_array_equal(np.delete(again, 3, axis=0), np.delete(first, 3, axis=0))
    (one,) = kept.iterdir()
    one.write_bytes(one.read_bytes()[:-1] + b"x")  # damaged: not believed
    np.testing.assert_array_equal(image_sizes.of(open_source(str(root))), again)


def test_a_header_far_behind_a_png_and_what_is_no_image(bad_folder, tmp_path):
    far, png = tmp_path / "far.jpg", tmp_path / "small.png"
    Image.new("RGB", (50, 70)).save(far, exif=b"Exif\0\0" + b"x" * 60_000)
    Image.new("RGBA", (33, 44)).save(png)
    root = bad_folder(
        {"b.jpg": far.read_bytes(), "c.png": png.read_bytes(), "d.jpg": b"none", "e.jpg": b""}
    )
    found = image_sizes.of(open_source(root)).tolist()
    assert found == [[40, 60], [70, 50], [44, 33], [0, 0], [0, 0]]
    batches = BucketSampler(fastload.open(root), 1, pixels=4096, step=16)
    assert batches.bucket_of(3) == (64, 64)


def test_a_data_set_of_another_class_is_not_looked_into():
    class Mine:
        def __len__(self):
            raise AssertionError

        __getitem__ = __len__

    with pytest.raises(UsageError, match="data is of Mine, and nothing tells"):
        BucketSampler(Mine(), 1)
