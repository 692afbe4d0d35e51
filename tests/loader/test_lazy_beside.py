"""Data sets that open images of an indexed folder by themselves: the folder's seek indexes are used
from the first epoch on, nothing is collected twice, and the batches stay the stock loader's.
"""

import os
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision.datasets.folder import default_loader
from torchvision.io import ImageReadMode, decode_image, read_image

import fastload
from fastload.conversion import indexing
from fastload.image.lazy import SUPPORTED
from fastload.sources import seek, seek_beside
from fastload.sources.seek_beside import Beside
from tests.loader.seek_helpers import MERGED
from tests.loader.test_lazy_seek import COUNT, INDEXED, Mine, decodes, jpeg, rows, same

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]
__all__ = ["decodes"]  # a fixture


@pytest.fixture
def root(tmp_path):
    """A folder of classes, with some images deeper than others."""
    root = tmp_path / "train"
    for number in range(COUNT):
        folder = root / f"class{number % 2}" / ("more" if number > 3 else "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
    return root


@pytest.fixture
def indexed(root):
    indexing.run(indexing.prepare(str(root)), 8, 1)
    return root


def files(root):
    return sorted(root.rglob("*.jpg"))


class Plain(Mine):
    """By a path."""

    def image(self, path):
        return Image.open(path).convert("RGB")

    def __getitem__(self, index):
        return self.transform(self.image(self.paths[index])), hash("not to be followed")


class ByFile(Plain):
    def image(self, path):
        return default_loader(path)


class ByOpenCV(Plain):
    def image(self, path):
        return Image.fromarray(cv2.imread(os.fspath(path)))


class ByDecodeImage(Plain):
    def image(self, path):
        pixels = decode_image(os.fspath(path), ImageReadMode.RGB)
        return Image.fromarray(pixels.permute(1, 2, 0).numpy())


class ByReadImage(Plain):
    def image(self, path):
        return Image.fromarray(read_image(os.fspath(path)).permute(1, 2, 0).numpy())


class FromBytes(Plain):
    def image(self, path):
        with open(path, "rb") as file:
            data = np.frombuffer(file.read(), np.uint8)
        return Image.fromarray(cv2.imdecode(data, cv2.IMREAD_COLOR))


def images(loader, epochs=1):
    torch.manual_seed(7)
    return [[batch[0] for batch in loader] for _ in range(epochs)]


def check(data, **options):
    """The batches of one epoch are the stock loader's."""
    ours = images(fastload.DataLoader(data, 2, **options))
    assert same(ours, images(DataLoader(data, 2, num_workers=options.get("num_workers", 0))))


@pytest.mark.parametrize("kind", [Plain, ByFile, ByOpenCV, ByDecodeImage, ByReadImage])
@pytest.mark.parametrize("mode", ["auto", "use"])
def test_the_first_epoch_decodes_by_them(indexed, decodes, kind, mode):
    check(kind(files(indexed)), seek_index=mode)
    assert decodes == [(True, False)] * COUNT
    if mode == "auto":
        assert rows() == {}


def test_bytes_have_no_path(indexed, decodes):
    check(FromBytes(files(indexed)))
    assert decodes == [(False, True)] * COUNT
    assert len(rows()) == COUNT


def test_off_is_off(indexed, decodes):
    check(Plain(files(indexed)), seek_index="off")
    assert decodes == [(False, False)] * COUNT


@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_worker_processes_find_them(indexed, start):
    check(Plain(files(indexed)), num_workers=2, multiprocessing_context=start)
    assert rows() == {}


def test_paths_of_every_kind(indexed, monkeypatch, decodes):
    monkeypatch.chdir(indexed.parent)
    whole = [os.path.relpath(path) for path in files(indexed)]
    around = [os.path.join("train", "class0", "..", path.partition("/")[2]) for path in whole]
    for paths in (whole, around, [os.fsencode(path) for path in whole]):
        check(Plain(paths))
    assert decodes == [(True, False)] * 3 * COUNT


def test_what_a_loader_of_the_folder_collected(root, decodes):
    """It lies in the user's cache."""
    ops = [fastload.transforms.CenterCrop((20, 30)), fastload.transforms.ToImage()]
    collecting = fastload.DataLoader(fastload.open(root, ops), COUNT, num_workers=1)
    for _ in range(2):
        list(collecting)
    del collecting
    assert sorted(os.listdir(seek.cache_folder(str(root))))[:1] == ["fastload.seek"]
    check(Plain(files(root)))
    assert decodes == [(True, False)] * COUNT


def test_a_changed_file_and_a_new_one_are_collected(indexed, decodes):
    changed, longer, *_ = files(indexed)
    other = jpeg(COUNT)
    size = changed.stat().st_size
    changed.write_bytes(other.ljust(size, b"\0") if len(other) < size else jpeg(9)[:size])
    longer.write_bytes(longer.read_bytes() + b"\0")
    (indexed / "class0" / "new.jpg").write_bytes(jpeg(COUNT + 1))
    data = Plain(files(indexed))
    check(data)
    made = [made for _, made in decodes]
    assert sum(made) in (2, 3)  # a JPEG that was cut off has none
    decodes.clear()
    check(data)
    assert not any(made for _, made in decodes)


def test_images_that_have_no_index_are_not_collected(root, decodes):
    path = files(root)[0]
    with Image.open(path) as image:
        image.save(path, quality=90, restart_marker_rows=1)
    indexing.run(indexing.prepare(str(root)), 8, 1)
    check(Plain(files(root)))
    assert sorted(decodes) == [(False, False)] + [(True, False)] * (COUNT - 1)


def test_an_index_made_later_counts_from_the_next_epoch_on(root, decodes):
    loader = fastload.DataLoader(Plain(files(root)), 2)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    images(loader)
    indexing.run(indexing.prepare(str(root)), 8, 1)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    decodes.clear()
    images(loader)
    assert decodes == [(True, False)] * COUNT


@pytest.mark.parametrize("which", MERGED)
def test_damaged_files_are_left_aside(indexed, which):
    data, rng = Plain(files(indexed)), np.random.default_rng(3)
    theirs = images(DataLoader(data, 2))
    path = indexed / which
    content = path.read_bytes()
    flipped = bytearray(content)
    for at in rng.integers(0, len(content), 40).tolist():
        flipped[at] ^= 1 << int(rng.integers(8))
    for wrong in (b"", content[: len(content) // 2], rng.bytes(len(content)), bytes(flipped)):
        path.write_bytes(wrong)
        assert same(images(fastload.DataLoader(data, 2)), theirs)
    path.unlink()
    for make in (os.mkfifo, os.mkdir, lambda at: os.symlink(at, at)):
        make(path)
        assert same(images(fastload.DataLoader(data, 2)), theirs)
        path.rmdir() if path.is_dir() else path.unlink()


def test_indexes_of_other_images_are_refused_and_replaced(indexed, decodes):
    """The files are whole, but all images were exchanged for others of as many bytes."""
    paths = files(indexed)
    size = max(path.stat().st_size for path in paths)
    contents = [path.read_bytes().ljust(size, b"\0") for path in paths]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    indexing.run(indexing.prepare(str(indexed)), 8, 1)
    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)
    data = Plain(paths)
    check(data)
    assert decodes == [(True, True)] * COUNT
    decodes.clear()
    check(data)
    assert decodes == [(True, False)] * COUNT


def test_what_a_stranger_put_above_the_images_is_not_used(indexed, monkeypatch):
    path = os.fspath(files(indexed)[0])
    found = Beside()
    index = found.find(path, os.path.getsize(path))
    assert index
    found.close()
    owner = os.stat(path).st_uid
    stat = os.stat

    class Facts:
        def __init__(self, facts, uid):
            self.st_uid, self.st_mode = uid, facts.st_mode

    def told(at, *args, **options):
        strange = os.fspath(at).endswith(seek.INDEX) if isinstance(at, (str, Path)) else False
        return Facts(stat(at), owner + 1) if strange else stat(at, *args, **options)

    monkeypatch.setattr(seek_beside.os, "stat", told)
    assert Beside().find(path, os.path.getsize(path)) is None


def test_the_nearest_folder_comes_first(indexed):
    """Of two indexed folders, one in the other; the outer one serves what the inner one lacks."""
    inner = indexed / "class1"
    (inner / "other").mkdir()
    (inner / "other" / "x.jpg").write_bytes(jpeg(8))
    indexing.run(indexing.prepare(os.fspath(inner)), 4, 1)
    found = Beside()
    step = {
        path.name: int.from_bytes(found.find(os.fspath(path), path.stat().st_size)[6:8], "little")
        for path in files(indexed)
    }
    found.close()
    assert step == {"0.jpg": 8, "1.jpg": 8, "2.jpg": 8, "3.jpg": 8, "4.jpg": 8, "5.jpg": 4} | {
        "x.jpg": 4
    }


def test_many_folders_and_missing_ones(indexed, monkeypatch):
    monkeypatch.setattr(seek_beside, "MANY", 2)
    found = Beside()
    for path in files(indexed) * 2:
        assert found.find(os.fspath(path), path.stat().st_size)
        assert found.find(os.fspath(path), 5) is None
        assert found.find(f"/nowhere/at/all/{path.name}", 5) is None
        assert len(found._above) <= 2
    found.close()
    assert found.find(os.fspath(files(indexed)[0]), files(indexed)[0].stat().st_size)
    found.close()


def test_it_is_said(root):
    line = fastload.DataLoader(Plain(files(root)), 2).explain().splitlines()[-1]
    assert line.startswith(f"{INDEXED}; of other images collected into ")
