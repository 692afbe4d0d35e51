"""The index of tars in the user's cache: used again, checked at every use, never trusted."""

import json
import multiprocessing
import os
import pickle
import stat
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import open_source, span_index, tar_parts, tars
from tests.sources.tar_helpers import contents, image, put, refused, sample, tars_of
from tests.waiting import HANGS

COUNT, EACH = 18, 6


@pytest.fixture
def data(tmp_path):
    return tars_of(tmp_path / "tars", COUNT, 3, EACH)


@pytest.fixture
def scans(monkeypatch):
    """The archives whose headers were read since it was last cleared."""
    paths = []

    def scan(path, *rest, **options):
        paths.append(os.path.basename(path))
        return tar_parts.scan(path, *rest, **options)

    monkeypatch.setattr(tars, "scan", scan)
    return paths


def index_of(where) -> Path:
    return Path(span_index.path_of("webdataset", str(where)))


def test_headers_are_read_once(data, scans, cache):
    first = contents(data)
    assert scans == ["00000.tar", "00001.tar", "00002.tar"]
    scans.clear()
    assert contents(data) == first
    assert contents(f"{data}/") == first
    assert scans == []
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (index_of(data), index_of(data).parent)]
    assert modes == [0o600, 0o700]
    assert cache in index_of(data).parents


def test_only_what_changed_is_read_again(data, scans):
    first = contents(data)
    scans.clear()
    put(f"{data}/00001.tar", sample("new", 40, "1"), tarfile.GNU_FORMAT)
    assert contents(data) == [*first[:EACH], (1, image(40)[1]), *first[-EACH:]]
    assert scans == ["00001.tar"]
    scans.clear()
    put(f"{data}/00003.tar", sample("more", 41, "2"), tarfile.GNU_FORMAT)
    os.remove(f"{data}/00000.tar")
    assert contents(data)[-1] == (2, image(41)[1])
    assert scans == ["00003.tar"]
    scans.clear()
    assert len(contents(data)) == 1 + EACH + 1
    assert scans == []


def test_a_tar_of_the_same_size_and_time_is_noticed(data, scans):
    """Another file in its place has another inode."""
    path = f"{data}/00000.tar"
    first, before = contents(data), os.stat(path)
    members = [member for n in (1, 0, 2, 3, 4, 5) for member in sample(f"{n:09d}", n, "0")]
    put(f"{path}.new", members, tarfile.GNU_FORMAT)
    os.utime(f"{path}.new", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(f"{path}.new").st_size == before.st_size
    os.replace(f"{path}.new", path)
    scans.clear()
    assert contents(data)[:2] == first[1::-1]
    assert scans == ["00000.tar"]


def test_a_time_alone_is_noticed(data, scans):
    contents(data)
    scans.clear()
    os.utime(f"{data}/00002.tar", ns=(5, 5))
    contents(data)
    assert scans == ["00002.tar"]


def test_an_index_of_the_first_version_is_made_anew(data, scans):
    first, file = contents(data), index_of(data)
    whole = file.read_bytes()
    text = json.dumps([["0"], []]).encode()
    file.write_bytes(struct.pack("<8sQQQ", b"FASTSPAN", 1, _native.xxh3(text), len(text)) + text)
    scans.clear()
    assert contents(data) == first
    assert len(scans) == 3
    assert file.read_bytes() == whole


def test_without_a_cache_it_opens_all_the_same(data, scans, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    first = contents(data)
    assert contents(data) == first
    assert len(scans) == 6


def test_what_is_refused_is_not_kept(data, scans):
    """The others are: who mends it does not wait for them again."""
    put(f"{data}/00001.tar", [("k.txt", b"x")], tarfile.GNU_FORMAT)
    assert refused(data) == refused(data)
    assert scans == ["00000.tar", "00001.tar", "00002.tar", "00001.tar"]
    assert f"{data}/00001.tar" not in span_index.recall(str(index_of(data))).paths


def test_a_tar_that_grows_meanwhile_is_refused(data, monkeypatch):
    part = tar_parts.part_of

    def slow(path, *rest):
        with open(path, "ab") as file:
            file.write(bytes(512))
        return part(path, *rest)

    monkeypatch.setattr(tar_parts, "part_of", slow)
    size = os.path.getsize(f"{data}/00000.tar")
    with pytest.raises(SourceError) as error:
        open_source(f"{data}/00000.tar")
    assert str(error.value) == (
        f"{data}/00000.tar: changed while it was looked at (got {size + 512} bytes, want {size}); "
        "open it when nothing writes to it"
    )


def opened(data, start, results):
    start.wait()
    results.put(contents(data))


def test_processes_that_open_it_at_once(data):
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(3), context.Queue()
    crew = [context.Process(target=opened, args=(data, start, results)) for _ in range(3)]
    for one in crew:
        one.start()
    found = [results.get(timeout=HANGS) for _ in crew]
    for one in crew:
        one.join()
    assert found == [[(n * 3 // COUNT, image(n)[1]) for n in range(COUNT)]] * 3
    assert set(os.listdir(index_of(data).parent)) == {index_of(data).name}


def test_texts_that_no_label_is_any_more_are_no_classes(tmp_path):
    data = tars_of(tmp_path / "tars", 6, 3, 2)
    assert open_source(str(data)).classes == ("0", "1", "2")
    for name, label in (("00001", "cat"), ("00000", "dog"), ("00002", "cat")):
        put(f"{data}/{name}.tar", sample(name, 40, label), tarfile.GNU_FORMAT)
    source = open_source(str(data))
    assert (source.classes, source.labels[:].tolist()) == (("cat", "dog"), [1, 0, 0])
    put(f"{data}/00000.tar", sample("new", 41, "cat"), tarfile.GNU_FORMAT)
    source = open_source(str(data))
    assert (source.classes, source.labels[:].tolist()) == (("cat",), [0, 0, 0])
    assert span_index.recall(str(index_of(data))).texts.count("dog") == 0


def test_another_process_opens_the_same_index_by_its_path(data):
    source, every = open_source(str(data)), np.arange(COUNT)
    content = pickle.dumps(source)
    assert len(content) < 4000
    there = pickle.loads(content)
    assert there.spans.file != source.spans.file
    for mine, other in zip(source.locate(every), there.locate(every), strict=True):
        assert np.array_equal(mine, other)
    assert np.array_equal(source.labels, there.labels)
    offset = np.asarray(source.offset)
    put(f"{data}/00001.tar", sample("new", 40, "1"), tarfile.GNU_FORMAT)
    open_source(str(data))
    with pytest.raises(SourceError, match="was replaced while in use; open the data set again"):
        pickle.loads(content)
    assert np.array_equal(source.offset, offset)  # what was opened stays as it was
