"""seek_index: the first epoch collects, the next one uses it, later runs find it; the pixels are
always the same.
"""

import os
import pickle
import shutil

import numpy as np
import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

from fastload.conversion import indexing, inspect, job
from fastload.errors import UsageError
from fastload.sources import open_source, seek
from tests.loader.seek_helpers import MERGED, cached, indexed, logs, make, same, ways
from tests.ways import ways_taken


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


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
    ours, theirs = (
        seek.read(seek.cache_folder(str(copy))).fit(seek.names(open_source(copy).paths, str(copy))),
        open_source(copy).seek,
    )
    assert os.path.dirname(theirs.path) == str(copy)

    def blobs(found):
        place = found.locate(where)
        return [
            place.files.read(0, at, size)
            for at, size in zip(place.offset.tolist(), place.size.tolist(), strict=True)
        ]

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


def test_what_has_no_index_is_remembered(copy, encode, make_image):
    picture = make_image(50, 31, 3)
    (copy / "class0" / "p.jpg").write_bytes(encode(picture, progressive=True))
    (copy / "class0" / "q.jpg").write_bytes(encode(picture, "PNG"))
    (copy / "class0" / "r.jpg").write_bytes(encode(picture.mean(-1).astype(np.uint8)))
    auto = make(copy)
    assert same(list(auto), list(make(copy, "off")))
    list(auto)
    assert auto.decodes() == ways_taken(indexed=41, whole=43, png=2)
    collector = auto._engine.seek.collector
    assert collector.count == 42  # the PNG is none of ours
    later = make(copy)
    list(later)
    assert later._engine.seek.collector.count == 0
    facts = inspect.inspect(str(copy))
    assert (facts.indexed, facts.warnings) == (
        41,
        [
            (
                f"{seek.cache_folder(str(copy))}/fastload.seek: does not know 1 of 43 files; "
                f"{seek.REMEDY}"
            )
        ],
    )


def test_ranks_share_what_they_collect(folder):
    """Two loaders, each with a half of the samples: in the next epoch each knows the other's
    half.
    """

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


def test_a_copy_of_the_loader_starts_anew(folder):
    auto = make(folder)
    list(auto)
    copy = pickle.loads(pickle.dumps(auto))
    list(copy)
    assert ways(copy) == (40, 0, 0)  # from the log of the first
