"""Data sets that open images by themselves: from the second epoch on, what is seen of a JPEG is
decoded by its seek index, and the batches stay the stock loader's, bit for bit.
"""

import io
import os
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.io import ImageReadMode, decode_image

import fastload
from fastload import _native
from fastload.image import seeking
from fastload.image.lazy import SUPPORTED
from fastload.loader import lazy_images
from fastload.sources import seek_contents
from fastload.sources.seek_contents import Contents

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="lazy images need Pillow 11.1"),
    pytest.mark.filterwarnings("ignore::fastload.FallbackWarning"),
]
COUNT = 6
INDEXED = "  seek index: of folders that are indexed (fastload index)"
CROP = transforms.RandomResizedCrop((48, 64))
TRAIN = transforms.Compose([CROP, transforms.RandomHorizontalFlip(), transforms.PILToTensor()])


def known(data):
    """Whether this process finds the index of encoded bytes."""
    return bool(seeking._now) and seeking._now[-1].find(_native.xxh3(data)) is not None


class Mine(Dataset):
    """A data set as programs write it; it gives what is known of an image besides."""

    def __init__(self, paths, transform=TRAIN):
        self.paths, self.transform = paths, transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        data = Path(self.paths[index]).read_bytes()
        found = known(data)
        return self.transform(Image.open(self.paths[index]).convert("RGB")), found


class Tensors(Mine):
    """By torchvision.io."""

    def __getitem__(self, index):
        found = known(Path(self.paths[index]).read_bytes())
        return decode_image(str(self.paths[index]), ImageReadMode.RGB)[:, :90, :120], found


def jpeg(seed, height=210, width=330):
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    Image.fromarray(pixels).save(file, "JPEG", quality=80, subsampling=seed % 3)
    return file.getvalue()


@pytest.fixture
def paths(tmp_path):
    made = [tmp_path / f"{number}.jpg" for number in range(COUNT)]
    for number, path in enumerate(made):
        path.write_bytes(jpeg(number))
    return made


@pytest.fixture
def decodes(monkeypatch):
    """Of each native decode here: whether an index was given, and whether one was made."""
    with lazy_images.opened_lazily():  # the first time, it is proved by images that libraries agree
        seen, decode = [], _native.image_pixels

    def counted(*args, **how):
        out, made = decode(*args, **how)
        seen.append((bool(how.get("seek") and how["seek"][1]), made is not None))
        return out, made

    monkeypatch.setattr(_native, "image_pixels", counted)
    return seen


def epochs(loader, count=2):
    """Images of some epochs, and how many samples' indexes were known."""
    torch.manual_seed(11)
    out = [list(loader) for _ in range(count)]
    images = [[batch[0] for batch in batches] for batches in out]
    return images, [sum(int(batch[1].sum()) for batch in batches) for batches in out]


def same(ours, theirs):
    return all(
        torch.equal(a, b)
        for x, y in zip(ours, theirs, strict=True)
        for a, b in zip(x, y, strict=True)
    )


def rows():
    """What lies in the file: indexes by XXH3."""
    file = os.path.join(seek_contents.folder(), seek_contents.NAME)
    database = sqlite3.connect(file)
    try:
        return dict(database.execute("SELECT hash, data FROM seek").fetchall())
    finally:
        database.close()


@pytest.mark.parametrize("kind", [Mine, Tensors])
def test_the_second_epoch_decodes_by_indexes(paths, decodes, kind):
    loader = fastload.DataLoader(kind(paths), 2, shuffle=True)
    ours, found = epochs(loader)
    assert found == [0, COUNT]
    assert decodes == [(False, True)] * COUNT + [(True, False)] * COUNT
    assert same(ours, epochs(DataLoader(kind(paths), 2, shuffle=True))[0])
    assert len(rows()) == COUNT
    assert loader.explain().splitlines()[-1] == (
        f"{INDEXED}; of other images collected into {seek_contents.folder()}"
    )


@pytest.mark.long
@pytest.mark.parametrize("start", ["fork", "forkserver"])
def test_worker_processes_share_them(paths, start):
    options = {"shuffle": True, "num_workers": 2, "multiprocessing_context": start}
    ours, found = epochs(fastload.DataLoader(Mine(paths), 2, **options), 1)
    assert found == [0]
    assert len(rows()) == COUNT
    again, found = epochs(fastload.DataLoader(Mine(paths), 2, **options), 1)
    assert found == [COUNT]
    stock = {**options, "multiprocessing_context": "fork"}  # the fastest to begin
    theirs = epochs(DataLoader(Mine(paths), 2, **stock), 1)[0]
    assert same(ours + again, theirs * 2)


def test_workers_that_stay_write_before_they_end(paths, monkeypatch):
    monkeypatch.setattr(seek_contents, "GROUP", 2)
    options = {"shuffle": True, "num_workers": 2, "persistent_workers": True}
    loader = fastload.DataLoader(Mine(paths), 1, **options)
    ours, found = epochs(loader, 3)
    assert found[2] >= COUNT - 2  # each keeps up to one
    assert same(ours, epochs(DataLoader(Mine(paths), 1, **options), 3)[0])


def test_a_changed_file_has_no_index(paths, decodes):
    loader = fastload.DataLoader(Mine(paths), 2, shuffle=True)
    epochs(loader, 1)
    before = os.stat(paths[2])
    old, new = (path.read_bytes() for path in paths[2:4])
    size = max(len(old), len(new))
    paths[2].write_bytes(new.ljust(size, b"\0"))
    os.utime(paths[2], ns=(before.st_atime_ns, before.st_mtime_ns))
    ours, found = epochs(loader, 1)
    assert found == [COUNT - (len(new) < size)]
    assert same(ours, epochs(DataLoader(Mine(paths), 2, shuffle=True), 1)[0])


def test_wrong_indexes_are_refused_and_replaced(paths, decodes):
    epochs(fastload.DataLoader(Mine(paths), 2), 1)
    right = rows()
    file = os.path.join(seek_contents.folder(), seek_contents.NAME)
    wrong = dict(zip(right, [*list(right.values())[1:], b"no index"], strict=True))
    with sqlite3.connect(file) as database:
        database.executemany("REPLACE INTO seek VALUES (?, ?)", wrong.items())
    database.close()
    decodes.clear()
    ours, _ = epochs(fastload.DataLoader(Mine(paths), 2), 1)
    assert decodes == [(True, True)] * COUNT
    assert rows() == right
    assert same(ours, epochs(DataLoader(Mine(paths), 2), 1)[0])


def test_modes(paths, decodes, cache):
    theirs = epochs(DataLoader(Mine(paths), 2))[0]
    used = f"{INDEXED}, and of images that {seek_contents.folder()} knows"
    for mode, line in (("off", "  seek index: off"), ("use", used)):
        loader = fastload.DataLoader(Mine(paths), 2, seek_index=mode)
        ours, found = epochs(loader)
        assert found == [0, 0]
        assert same(ours, theirs)
        assert not cache.exists()
        assert loader.explain().splitlines()[-1] == line
    assert decodes == [(False, False)] * 4 * COUNT
    epochs(fastload.DataLoader(Mine(paths), 2), 1)
    loader = fastload.DataLoader(Mine(paths), 2, seek_index="use")
    assert epochs(loader)[1] == [COUNT, COUNT]


def test_images_that_have_no_index(paths, decodes):
    """Small ones are not looked for; that others have none is kept."""
    paths[0].write_bytes(jpeg(7, 40, 50))
    with Image.open(paths[1]) as image:
        image.save(paths[1], quality=90, restart_marker_rows=1)
    ours, found = epochs(fastload.DataLoader(Mine(paths), 2))
    assert found == [0, COUNT - 1]
    assert decodes[COUNT : COUNT + 2] == [(False, False)] * 2
    assert sorted(rows().values())[0] == b""
    assert same(ours, epochs(DataLoader(Mine(paths), 2))[0])


@pytest.mark.parametrize("content", [b"", b"no database" * 100, b"SQLite format 3\0" + bytes(84)])
def test_a_file_that_is_no_database(paths, content):
    where = Path(seek_contents.folder())
    where.mkdir(parents=True)
    (where / seek_contents.NAME).write_bytes(content)
    loader = fastload.DataLoader(Mine(paths), 2)
    ours, found = epochs(loader)
    assert same(ours, epochs(DataLoader(Mine(paths), 2))[0])
    if not content:  # as SQLite makes it
        assert found == [0, COUNT]
        return
    assert found == [0, 0]
    file = where / seek_contents.NAME
    assert loader.explain().splitlines()[-1] == (f"{INDEXED} only ({file}: file is not a database)")


def test_a_file_of_another_version(paths):
    epochs(fastload.DataLoader(Mine(paths), 2), 1)
    file = os.path.join(seek_contents.folder(), seek_contents.NAME)
    database = sqlite3.connect(file)
    database.execute("PRAGMA user_version = 9")
    database.close()
    loader = fastload.DataLoader(Mine(paths), 2)
    assert epochs(loader)[1] == [0, 0]
    assert loader.explain().splitlines()[-1] == (
        f"{INDEXED} only ({file}: is of version 9 (want 1); delete it)"
    )


def test_a_cache_that_cannot_be_made(paths, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    loader = fastload.DataLoader(Mine(paths), 2)
    ours, found = epochs(loader)
    assert found == [0, 0]
    assert same(ours, epochs(DataLoader(Mine(paths), 2))[0])
    assert loader.explain().splitlines()[-1].startswith(f"{INDEXED} only (")


def test_nobody_waits_for_another_process(monkeypatch):
    monkeypatch.setattr(seek_contents, "PATIENCE", 0.01)
    contents = Contents(seek_contents.folder(), collects=True)
    contents.keep(1 << 63 | 5, b"five")
    contents.flush()
    file = os.path.join(seek_contents.folder(), seek_contents.NAME)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert contents.find(1 << 63 | 5) is None
    contents.keep(6, b"six")
    contents.flush()
    assert contents.find(6) == b"six"
    other.execute("COMMIT")
    other.close()
    assert contents.find(1 << 63 | 5) == b"five"
    contents.close()
    assert not contents.problem
    assert sorted(rows().values()) == [b"five", b"six"]


def test_a_full_file_is_read_and_not_written(paths, monkeypatch):
    monkeypatch.setattr(seek_contents, "PAGE", 1024)
    monkeypatch.setattr(seek_contents, "MOST", 6 * 1024)
    ours, found = epochs(fastload.DataLoader(Mine(paths), 1), 3)
    assert 0 < len(rows()) < COUNT
    assert found[2] == len(rows())
    assert same(ours, epochs(DataLoader(Mine(paths), 1), 3)[0])


def test_a_child_of_fork_has_a_file_of_its_own():
    contents = Contents(seek_contents.folder(), collects=True)
    contents.keep(1, b"one")
    contents.flush()
    contents.keep(2, b"parent's")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if not child:
        good = contents.find(2) is None and contents.find(1) == b"one"
        contents.keep(3, b"child's")
        contents.close()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    contents.close()
    assert rows() == {1: b"one", 2: b"parent's", 3: b"child's"}
