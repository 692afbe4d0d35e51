"""Seek indexes of tars and MDS shards: the first epoch collects, `fastload index` makes them
beforehand, and the pixels are always the same.
"""

import json
import multiprocessing
import os

import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

import fastload
from fastload import _native
from fastload.cli import index
from fastload.conversion import indexing, inspect, verify
from fastload.sources import open_source, read, seek, seek_known
from tests.loader.seek_helpers import MERGED, OPS, make, same, ways
from tests.sources.span_helpers import COUNT, FOLDERS, FORMS, images, lay
from tests.waiting import HANGS


@pytest.fixture(params=FORMS)
def data(request, tmp_path):
    return lay(tmp_path / "data", request.param, images())


@pytest.fixture(params=FOLDERS)
def shards(request, tmp_path):
    """What lays images at the same place again."""
    return lambda data: lay(tmp_path / "data", request.param, data)


def kept(where):
    """What lies in the cache of this data set."""
    folder = seek_known.of(open_source(where)).cache
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def right(where, folder):
    """Images that the folder has an index of; each is compared with what it should be."""
    source = open_source(where)
    found = seek.read(str(folder)).fit(seek_known.of(source).names())
    place = found.locate(np.arange(len(source)))
    for sample, (at, size) in enumerate(
        zip(place.offset.tolist(), place.size.tolist(), strict=True)
    ):
        if size:
            assert place.files.read(0, at, size) == _native.jpeg_index(read(source, sample), 8)
    return int(np.count_nonzero(found.size))


def indexed(where):
    return indexing.run(indexing.prepare(where), count=1)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_second_epoch_is_indexed(data, workers):
    off, auto = make(data, "off", workers), make(data, "auto", workers)
    for epoch in range(3):
        assert same(list(off), list(auto))
        assert ways(auto) == (COUNT * epoch, COUNT, 0)
    assert kept(data) == MERGED
    assert right(data, seek_known.of(open_source(data)).cache) == COUNT
    later = make(data, "use", workers)
    assert same(list(make(data, "off", workers)), list(later))
    assert ways(later) == (COUNT, 0, 0)


@pytest.mark.parametrize("mode", ["use", "off"])
def test_other_modes_write_nothing(data, mode):
    loader = make(data, mode)
    assert same(list(loader), list(make(data, "off")))
    list(loader)
    assert (ways(loader), kept(data)) == ((0, 2 * COUNT, 0), [])


def test_fastload_index_makes_them_beforehand(data, tmp_path):
    before = sorted(os.listdir(tmp_path / "data"))
    summary = indexed(data)
    known = seek_known.of(open_source(data))
    folder = known.root if os.path.isdir(data) else known.cache
    assert (summary.kind, summary.where, summary.samples) == ("span", folder, COUNT)
    assert (summary.seek.indexed, right(data, folder)) == (COUNT, COUNT)
    more = MERGED if os.path.isdir(data) else []
    assert sorted(os.listdir(tmp_path / "data")) == sorted([*before, *more])
    auto = make(data)
    assert same(list(auto), list(make(data, "off")))
    assert ways(auto) == (COUNT, 0, 0)
    assert kept(data) == ([] if more else MERGED)


def test_a_folder_that_cannot_be_written_is_indexed_in_the_cache(tmp_path, monkeypatch):
    where = lay(tmp_path / "data", "mds", images())
    real = indexing.target.lock

    def refuse(folder, *rest):
        if os.path.samefile(folder.path, where):
            raise PermissionError(13, "Permission denied")
        return real(folder, *rest)

    monkeypatch.setattr(indexing.target, "lock", refuse)
    assert indexed(where).where == seek_known.of(open_source(where)).cache
    loader = make(where, "use")
    list(loader)
    assert ways(loader) == (COUNT, 0, 0)


def test_the_verb_says_what_it_did(data):
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    index.register(app)
    said = json.loads(CliRunner().invoke(app, [data, "--json", "-"]).stdout)
    assert (said["path"], said["kind"], said["samples"], said["indexed"]) == (
        data, "span", COUNT, COUNT,
    )  # fmt: skip


def test_what_lies_beside_a_folder_of_tars_serves_each_part_of_it(tmp_path):
    where = lay(tmp_path / "data", "tars", images())
    indexed(where)
    for part, count in ((f"{where}/{{1..2}}.tar", COUNT // 2), (f"{where}/3.tar", COUNT // 4)):
        loader = make(part)
        assert same(list(loader), list(make(part, "off")))
        assert (ways(loader), kept(part)) == ((count, 0, 0), [])


def test_parts_of_a_folder_do_not_replace_each_others(tmp_path):
    where = lay(tmp_path / "data", "tars", images())
    parts = (f"{where}/{{0..1}}.tar", f"{where}/{{2..3}}.tar")
    for part in parts:
        indexed(part)
    for part in parts:
        loader = make(part, "use")
        list(loader)
        assert ways(loader) == (COUNT // 2, 0, 0)


def test_a_shard_that_becomes_another_of_the_same_size(shards):
    data = images()
    where = shards(data)
    auto, off = make(where), make(where, "off")
    for _ in range(2):
        assert same(list(auto), list(off))
    first, other = data[0], images(50)[0]
    data[0] = other[: len(first)].ljust(len(first), b"\0")
    assert shards(data) == where
    auto, off = make(where), make(where, "off")
    for _ in range(3):
        assert same(list(auto), list(off))
    assert ways(auto) == (3 * COUNT - 1, 1, 1)
    indexed(where)
    data[0] = first
    shards(data)
    later = make(where, "use")
    assert same(list(later), list(make(where, "off")))
    assert ways(later) == (COUNT - 1, 1, 1)


def test_images_that_moved_are_indexed_anew_and_forgotten_where_they_were(shards):
    where = shards(images())
    list(make(where)), list(make(where))
    assert shards(images(50)[::-1]) == where
    auto, off = make(where), make(where, "off")
    for _ in range(3):
        assert same(list(auto), list(off))
    folder = seek_known.of(open_source(where)).cache
    assert right(where, folder) == COUNT
    assert len(seek.read(folder).names()) == COUNT


def test_a_damaged_index_is_made_anew(data):
    list(make(data)), list(make(data))
    folder = seek_known.of(open_source(data)).cache
    for name in MERGED:
        path = os.path.join(folder, name)
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0x55]))
        auto, off = make(data), make(data, "off")
        for _ in range(3):
            assert same(list(auto), list(off))
        assert ways(auto)[0] >= 2 * COUNT - 2
        assert right(data, folder) == COUNT


def collecting(where, start, results):
    start.wait()
    loader = make(where)
    epochs = [[images.numpy().tobytes() for images, _ in loader] for _ in range(3)]
    results.put((epochs, ways(loader)))


def test_processes_that_collect_at_once(data):
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(2), context.Queue()
    crew = [context.Process(target=collecting, args=(data, start, results)) for _ in range(2)]
    for one in crew:
        one.start()
    found = [results.get(timeout=HANGS) for _ in crew]
    for one in crew:
        one.join()
    off = make(data, "off")
    want = [[images.numpy().tobytes() for images, _ in off] for _ in range(3)]
    for epochs, (used, whole, refused) in found:
        assert epochs == want
        assert (used + whole, refused) == (3 * COUNT, 0)
        assert used >= 2 * COUNT
    last = make(data)
    list(last), list(last)
    assert ways(last) == (2 * COUNT, 0, 0)
    assert kept(data) == MERGED


def test_some_of_the_samples(data):
    some = torch.utils.data.Subset(fastload.open(data, OPS), range(3, 17, 2))
    auto, off = make(some), make(some, "off")
    for _ in range(2):
        assert same(list(auto), list(off))
    assert ways(auto) == (7, 7, 0)
    whole = make(data)
    list(whole)
    assert ways(whole) == (7, COUNT - 7, 0)


def test_explain_and_inspect_say_it(data):
    known = seek_known.of(open_source(data))

    def line(loader):
        return loader.explain().splitlines()[-1]

    auto = make(data)
    assert line(auto) == (
        f"  seek index: 0 of {COUNT} images; others are collected into {known.cache}"
    )
    assert inspect.inspect(data).indexed == 0
    list(auto), iter(auto)
    assert line(auto) == line(make(data)) == f"  seek index: {COUNT} of {COUNT} images"
    facts = inspect.inspect(data)
    place = seek.read(known.cache)
    assert (facts.indexed, facts.seek_bytes) == (COUNT, int(place.size.sum()))
    assert facts.warnings == []
    assert verify.verify(verify.prepare(data), 1).damages == ()


def test_inspect_and_verify_name_what_is_wrong(shards):
    data = images()
    where = shards(data)
    indexed(where)
    # As long as it was, so all others stay where they are
    data[-1] = images(50)[-1]
    shards(data)
    facts = inspect.inspect(where)
    assert (facts.indexed, facts.warnings) == (
        COUNT - 1,
        [f"{where}/fastload.seek: is older than 1 of {COUNT} images; {seek.REMEDY}"],
    )
    with open(f"{where}/fastload.seek", "r+b") as file:
        file.seek(40)
        file.write(b"\xff\xff\xff")
    (damage,) = verify.verify(verify.prepare(where), 1).damages
    assert damage.file == f"{where}/fastload.seek"


def test_what_a_span_is_known_by(tmp_path):
    where = lay(tmp_path / "data", "tars", images())
    source = open_source(where)
    assert seek_known.of(source).names()[:2] == [
        f"0.tar/{source.offset[0]}", f"0.tar/{source.offset[1]}",
    ]  # fmt: skip
