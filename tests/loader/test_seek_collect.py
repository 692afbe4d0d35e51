"""seek_index: the first epoch collects, the next one uses it, later runs find it; the pixels are always the same."""

import os
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload.conversion import indexing, inspect, job, verify
from fastload.errors import UsageError
from fastload.sources import collect, open_source, seek, seek_merge
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

OPS = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def make(data, mode="auto", workers=2, **options):
    data = fastload.open(data, OPS) if isinstance(data, (str, Path)) else data
    return fastload.DataLoader(data, 8, num_workers=workers, backend="native", seek_index=mode, **{"seed": 4, "shuffle": True, **options})


def ways(loader):
    """Indexed, whole, refused: since the loader was made."""
    found = loader.decodes()
    return found["indexed"], found["whole"], found["refused"]


def same(a, b):
    return len(a) == len(b) and all(torch.equal(x, y) and torch.equal(i, j) for (x, i), (y, j) in zip(a, b, strict=True))


def cached(root):
    """What lies in the cache of this folder."""
    return sorted(os.listdir(seek.cache_folder(str(root)))) if os.path.isdir(seek.cache_folder(str(root))) else []


MERGED = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


def logs(root):
    return [name for name in cached(root) if name not in MERGED]


def indexed(root):
    """Images with an index that is in the cache and right."""
    found = open_source(root)
    where = seek.cache_folder(str(root))
    if found.seek is None or os.path.dirname(found.seek.path) != where:
        return 0
    assert verify.verify(verify.prepare(str(root)), 1).damages == ()
    return int(np.count_nonzero(found.seek.size))


@pytest.mark.parametrize("workers", [0, 1, 4])
def test_the_second_epoch_is_indexed(folder, workers):
    off, auto = make(folder, "off", workers), make(folder, "auto", workers)
    for epoch in range(3):
        assert same(list(off), list(auto))
        assert ways(auto) == (40 * epoch, 40, 0)
    assert ways(off) == (0, 120, 0)
    assert cached(folder) == MERGED
    later = make(folder, "use", workers)
    assert same(list(make(folder, "off", workers)), list(later))
    assert ways(later) == (40, 0, 0)
    assert indexed(folder) == 40


def test_what_is_merged_is_what_fastload_index_writes(copy):
    auto = make(copy)
    list(auto), iter(auto)
    indexing.run(indexing.prepare(str(copy)), count=1)
    where = np.arange(40)
    ours, theirs = seek.read(seek.cache_folder(str(copy))).fit(seek.names(open_source(copy).paths, str(copy))), open_source(copy).seek
    assert os.path.dirname(theirs.path) == str(copy)

    def blobs(found):
        place = found.locate(where)
        return [place.files.read(0, at, size) for at, size in zip(place.offset.tolist(), place.size.tolist(), strict=True)]

    assert blobs(ours) == blobs(theirs)
    np.testing.assert_array_equal(ours.file_size, theirs.file_size)


@pytest.mark.parametrize("mode", ["use", "off"])
def test_other_modes_write_nothing(folder, mode):
    loader = make(folder, mode)
    first = list(loader)
    assert same(first, list(make(folder, "off")))
    list(loader)
    assert ways(loader) == (0, 80, 0)
    assert cached(folder) == []
    list(make(folder)), iter(make(folder))
    loader = make(folder, mode)
    assert same(list(loader), first)
    assert ways(loader) == ((40, 0, 0) if mode == "use" else (0, 40, 0))


def test_the_argument_is_checked(folder):
    with pytest.raises(UsageError) as refused:
        make(folder, "always")
    assert str(refused.value) == "DataLoader: seek_index is 'always', want 'auto', 'use' or 'off'"


def test_explain(folder, tmp_path):
    where = seek.cache_folder(folder)

    def line(loader):
        return loader.explain().splitlines()[-1]

    auto = make(folder)
    assert line(auto) == f"  seek index: 0 of 40 images; others are collected into {where}"
    list(auto), iter(auto)
    assert line(auto) == line(make(folder)) == "  seek index: 40 of 40 images"
    assert line(make(folder, "use")) == "  seek index: 40 of 40 images"
    assert line(make(folder, "off")) == "  seek index: off"
    shards = str(tmp_path / "shards")
    job.run(job.prepare(folder, shards, job.Options(seek_step=None)))
    assert line(make(shards)) == "  seek index: 0 of 40 images"


def test_torchvisions_image_folder_too(folder):
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    auto = make(ImageFolder(folder, transform))
    assert same(list(auto), list(make(ImageFolder(folder, transform), "off")))
    list(auto)
    assert ways(auto) == (40, 40, 0)


def test_shards_are_left_as_they_are(folder, tmp_path):
    shards = str(tmp_path / "shards")
    job.run(job.prepare(folder, shards, job.Options(seek_step=None)))
    auto = make(shards)
    list(auto), list(auto)
    assert (ways(auto), cached(shards)) == ((0, 80, 0), [])


def test_a_broken_off_epoch_is_not_lost(folder):
    auto = make(folder)
    for _ in auto:
        break
    (log,) = logs(folder)
    assert log.endswith(".log")
    want = list(make(folder, "off", seed=9))
    other = make(folder, seed=9)  # reads the log of the first, which is still there
    assert same(list(other), want)
    found = ways(other)[0]
    assert 8 <= found <= 40
    assert sum(ways(other)) == 40
    list(auto)
    assert indexed(folder) >= found
    del auto, other
    list(make(folder))
    list(make(folder))
    assert (indexed(folder), logs(folder)) == (40, [])


def test_two_iterators_at_once(folder):
    auto, want = make(folder, shuffle=False), list(make(folder, "off", shuffle=False))
    first, second = iter(auto), iter(auto)
    pairs = [(next(first), next(second)) for _ in range(5)]
    want_second = make(folder, "off", shuffle=False)
    want_second.set_epoch(1)
    assert same([a for a, _ in pairs], want)
    assert same([b for _, b in pairs], list(want_second))
    list(auto)
    assert ways(auto)[0] >= 40


def test_samples_that_come_often(folder):
    class Twice(torch.utils.data.Sampler):
        def __iter__(self):
            return iter([*range(40), *range(40)])

        def __len__(self):
            return 80

    options = {"sampler": Twice(), "shuffle": None}
    auto = make(folder, **options)
    assert same(list(auto), list(make(folder, "off", **options)))
    list(auto)
    assert (ways(auto)[0], indexed(folder)) == (80, 40)


def test_a_file_that_becomes_another_of_the_same_size(copy):
    auto, off = make(copy), make(copy, "off")
    for _ in range(2):
        assert same(list(auto), list(off))
    files = sorted(copy.glob("*/*.jpg"), key=lambda path: path.stat().st_size)
    small, large = files[0].read_bytes(), files[-1].stat().st_size
    files[-1].write_bytes(small + bytes(large - len(small)))
    assert same(list(auto), list(off))
    assert ways(auto) == (79, 41, 1)
    for _ in range(2):
        assert same(list(auto), list(off))
    assert ways(auto) == (159, 41, 1)
    later = make(copy, "use")
    list(later)
    assert ways(later) == (40, 0, 0)


def test_an_index_beside_the_data_wins_and_is_filled_up(copy, encode, make_image):
    indexing.run(indexing.prepare(str(copy)), count=1)
    before = {name: (copy / name).read_bytes() for name in MERGED}
    (copy / "class1" / "new.jpg").write_bytes(encode(make_image(60, 41, 7)))
    auto = make(copy)
    for _ in range(3):
        list(auto)
    assert ways(auto) == (40 + 41 * 2, 1, 0)
    again = make(copy)
    list(again)
    assert ways(again) == (41, 0, 0)
    assert {name: (copy / name).read_bytes() for name in MERGED} == before
    assert os.path.dirname(open_source(copy).seek.path) == str(copy)


def test_a_stale_index_beside_the_data_is_refused_once(copy):
    indexing.run(indexing.prepare(str(copy)), count=1)
    files = sorted(copy.glob("*/*.jpg"))
    shutil.copy(files[5], files[8])
    auto, off = make(copy), make(copy, "off")
    for _ in range(4):
        assert same(list(auto), list(off))
    assert ways(auto) == (39 + 40 * 3, 1, 1)
    later = make(copy)
    list(later)
    assert ways(later) == (40, 0, 0)
    shutil.copy(files[6], files[8])
    indexing.run(indexing.prepare(str(copy)), count=1)  # now this one is newer than the cache
    later = make(copy)
    list(later)
    assert ways(later) == (40, 0, 0)


def test_the_index_beside_the_data_is_made_anew_meanwhile(copy):
    indexing.run(indexing.prepare(str(copy)), count=1)
    auto, off = make(copy), make(copy, "off")
    assert same(list(auto), list(off))
    indexing.run(indexing.prepare(str(copy)), 1, count=1)
    assert same(list(auto), list(off))
    for path in copy.glob("fastload.seek*"):
        path.unlink()
    for _ in range(2):
        assert same(list(auto), list(off))
    assert ways(auto) == (120, 40, 0)


def test_fastload_index_meanwhile(copy):
    auto, off = make(copy), make(copy, "off")
    assert same(list(auto), list(off))
    batches = iter(auto)
    first = [next(batches)]
    indexing.run(indexing.prepare(str(copy)), count=1)
    assert same([*first, *batches], list(off))
    assert same(list(auto), list(off))
    assert ways(auto) == (80, 40, 0)
    later = make(copy)
    list(later)
    assert (ways(later), os.path.dirname(open_source(copy).seek.path)) == ((40, 0, 0), str(copy))


def test_what_has_no_index_is_remembered(copy, encode, make_image):
    picture = make_image(50, 31, 3)
    (copy / "class0" / "p.jpg").write_bytes(encode(picture, progressive=True))
    (copy / "class0" / "q.jpg").write_bytes(encode(picture, "PNG"))
    (copy / "class0" / "r.jpg").write_bytes(encode(picture.mean(-1).astype(np.uint8)))
    auto = make(copy)
    assert same(list(auto), list(make(copy, "off")))
    list(auto)
    assert auto.decodes() == {"indexed": 41, "whole": 41, "library": 2, "refused": 0, "scaled": 0}
    collector = auto._engine.seek.collector
    assert collector.count == 42  # the PNG is none of ours
    later = make(copy)
    list(later)
    assert later._engine.seek.collector.count == 0
    facts = inspect.inspect(str(copy))
    assert (facts.indexed, facts.warnings) == (
        41,
        [f"{seek.cache_folder(str(copy))}/fastload.seek: does not know 1 of 43 files; {seek.REMEDY}"],
    )


def test_ranks_share_what_they_collect(folder):
    """Two loaders, each with a half of the samples: in the next epoch each knows the other's half."""

    class Half(torch.utils.data.Sampler):
        def __init__(self, rank):
            self.rank, self.epoch = rank, 0

        def set_epoch(self, epoch):
            self.epoch = epoch

        def __iter__(self):
            return iter(range((self.rank + self.epoch) % 2, 40, 2))

        def __len__(self):
            return 20

    ranks = [make(folder, sampler=Half(rank), shuffle=None) for rank in range(2)]
    for epoch in range(2):
        for loader in ranks:
            loader.set_epoch(epoch)
            list(loader)
    assert [ways(loader) for loader in ranks] == [(20, 20, 0)] * 2
    assert (indexed(folder), logs(folder)) == (40, [])


def test_other_lists_of_the_same_folder(copy, encode, make_image):
    """Loaders whose lists of files differ add to the same cache and lose nothing of each other's."""
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    part = ImageFolder(copy, transform)
    part.samples = part.samples[5:25]
    auto = make(part)
    for _ in range(2):
        list(auto)
    assert ways(auto) == (20, 20, 0)
    (copy / "class0" / "aaa.jpg").write_bytes(encode(make_image(33, 41, 1)))
    whole = make(copy)
    for _ in range(2):
        list(whole)
    assert ways(whole) == (20 + 41, 21, 0)
    assert indexed(copy) == 41
    for path in sorted(copy.glob("class2/*.jpg"))[:3]:
        path.unlink()
    later = make(copy)
    list(later)
    assert ways(later) == (38, 0, 0)


def test_a_log_of_another_list_is_adopted(copy):
    transform = v1.Compose([v1.RandomResizedCrop(16), v1.PILToTensor()])
    part = ImageFolder(copy, transform)
    part.samples = part.samples[5:25]
    list(make(part))  # its log is what it leaves
    assert len(logs(copy)) == 1
    whole = make(copy)
    list(whole)
    assert ways(whole) == (20, 20, 0)
    assert len(logs(copy)) == 1  # its own


@pytest.mark.parametrize("which", MERGED)
def test_garbage_in_the_cache(folder, which):
    auto = make(folder)
    want = list(auto)
    list(auto)
    del auto
    where = Path(seek.cache_folder(folder))
    content = (where / which).read_bytes()
    rng = np.random.default_rng(1)
    for garbage in (b"", content[: len(content) // 2], rng.bytes(len(content)), rng.bytes(17)):
        (where / which).write_bytes(garbage)
        loader = make(folder)
        assert same(list(loader), want)
        list(loader)
        assert ways(loader)[0] >= 40
        del loader
        later = make(folder)
        assert same(list(later), want)
        del later
        content = (where / which).read_bytes()
    (where / "fastload.seek.1-2-3.log").write_bytes(rng.bytes(500))
    (where / "fastload.seek.1-2-4.log").mkdir()
    os.mkfifo(where / "fastload.seek.1-2-5.log")
    os.symlink(where / "fastload.seek", where / "fastload.seek.1-2-6.log")
    loader = make(folder)
    assert same(list(loader), want)


def test_a_cache_that_cannot_be_made(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    where = seek.cache_folder(folder)
    auto = make(folder)
    text = f"{where}: cannot be written (Not a directory); new seek indexes serve this run only; "
    text += 'set XDG_CACHE_HOME to a folder that can be written, or pass seek_index="use"'
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as said:
        first = list(auto)
    assert len(said) == 1
    off = make(folder, "off")
    assert same(first, list(off))
    assert same(list(auto), list(off))
    assert ways(auto) == (40, 40, 0)
    assert auto.explain().splitlines()[-1] == "  seek index: 40 of 40 images"


def test_no_home(folder, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    auto = make(folder)
    with pytest.warns(
        UserWarning, match=r"^no cache folder \(HOME and XDG_CACHE_HOME are not set\); new seek indexes serve this run only; set"
    ):
        list(auto)
    list(auto)
    assert ways(auto) == (40, 40, 0)
    assert not os.path.exists("~")
    assert "others are collected in memory (no cache folder (HOME and XDG_CACHE_HOME are not set))" in make(folder).explain()


def test_a_cache_with_an_odd_name(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    auto = make(folder)
    with pytest.warns(
        UserWarning, match=r"/\\xff/fastload/seek/[0-9a-f]{16}': is no text that can be shown; new seek indexes serve this run only; "
    ):
        list(auto)
    list(auto)
    assert ways(auto) == (40, 40, 0)


def test_without_pyarrow(folder, monkeypatch):
    monkeypatch.setattr(collect, "has_arrow", lambda: False)
    auto = make(folder)
    list(auto), list(auto)
    assert (ways(auto), cached(folder)) == ((40, 40, 0), [])
    assert make(folder).explain().endswith("others are collected in memory (pyarrow is not installed)")


def test_a_merge_that_fails_loses_nothing(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    auto = make(folder)
    want = list(make(folder, "off"))
    with monkeypatch.context() as patch:
        patch.setattr(seek_merge, "_write", full)
        assert same(list(auto), want)
        with pytest.warns(UserWarning, match=r": cannot be written \(No space left on device\); new seek indexes serve this run only; "):
            list(auto)
    list(auto)
    assert ways(auto) == (80, 40, 0)
    assert len(logs(folder)) == 2
    del auto
    later = make(folder)
    assert same(list(later), want)
    assert (ways(later), cached(folder)) == ((40, 0, 0), MERGED)


def test_a_locked_cache_costs_no_epoch(folder, monkeypatch):
    monkeypatch.setattr(collect, "WAIT", 0.05)
    auto = make(folder)
    list(auto)
    with seek_merge.locked(seek.cache_folder(folder), 1) as held:
        assert held
        list(auto)
    assert ways(auto) == (40, 40, 0)
    assert indexed(folder) == 0
    list(auto)
    assert indexed(folder) == 40


def test_a_copy_of_the_loader_starts_anew(folder):
    auto = make(folder)
    list(auto)
    copy = pickle.loads(pickle.dumps(auto))
    list(copy)
    assert ways(copy) == (40, 0, 0)  # from the log of the first
