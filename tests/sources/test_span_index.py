"""The index of tars in the user's cache: used again, checked at every use, never trusted."""

import itertools
import json
import multiprocessing
import os
import stat
import struct
import tarfile
from pathlib import Path

import numpy as np
import pytest

from fastload import _native
from fastload.errors import SourceError
from fastload.sources import open_source, span_index, tar_parts, tars
from fastload.system import limits
from tests.sources.tar_helpers import contents, image, put, refused, sample, tars_of

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


def test_a_damaged_index_is_made_anew(data, scans):
    first, file = contents(data), index_of(data)
    whole = file.read_bytes()
    rng = np.random.default_rng(0)
    for at in (0, 8, 16, 24, *rng.integers(0, len(whole), 20).tolist()):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        scans.clear()
        assert contents(data) == first
        assert len(scans) == 3
        assert file.read_bytes() == whole
    for length in (0, 7, 31, 32, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert contents(data) == first
        assert file.read_bytes() == whole


def sealed(rows: list[object], body: bytes, texts: object = ("x",)) -> bytes:
    """What says of itself that it is whole."""
    text = json.dumps([texts, rows]).encode()
    text += b" " * (-len(text) % 8)
    said = (span_index.MAGIC, span_index.VERSION, _native.xxh3(text + body), len(text))
    return span_index.HEADER.pack(*said) + text + body


def rows(offset: int, size: int, label: int, text: int = 0) -> bytes:
    return struct.pack("<4q", offset, size, label, text) + b"k.jpg\0\0\0"


GOOD: list[object] = ["/a.tar", 2048, 1, 2, 1, 5, 1, "samples", ""]


@pytest.mark.parametrize(
    ("row", "body", "texts"),
    [
        (GOOD, rows(512, 1537, 0), ["x"]),
        (GOOD, rows(-1, 5, 0), ["x"]),
        (GOOD, rows(1 << 62, 1 << 62, 0), ["x"]),
        (GOOD, rows(512, -5, 0), ["x"]),
        (GOOD, rows(512, 5, 1), ["x"]),
        (GOOD, rows(512, 5, -2), ["x"]),
        (GOOD, rows(512, 5, 0)[:-9], ["x"]),
        ([*GOOD[:4], 2, *GOOD[5:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:4], -1, *GOOD[5:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:4], 1 << 60, *GOOD[5:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:5], "5", *GOOD[6:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:6], ["x"], *GOOD[7:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:6], -1, *GOOD[7:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:6], 1 << 60, *GOOD[7:]], rows(512, 5, 0), ["x"]),
        ([*GOOD[:7], 3, ""], rows(512, 5, 0), ["x"]),
        ([*GOOD[:7], "samples", None], rows(512, 5, 0), ["x"]),
        (GOOD[:8], rows(512, 5, 0), ["x"]),
        (GOOD, rows(512, 5, 0, 1), ["x"]),
        (GOOD, rows(512, 5, 0, -1), ["x"]),
        (GOOD, rows(512, 5, 0).replace(b"k.jpg", b"k\nj.g"), ["x"]),
        (GOOD, rows(512, 5, 0), []),
        (GOOD, rows(512, 5, 0), 7),
        (GOOD[:4], rows(512, 5, 0), ["x"]),
        ([], b"", ["x"]),
    ],
    ids=itertools.count(),
)
def test_a_sealed_index_that_lies_is_refused(row, body, texts):
    assert span_index.decode(sealed([GOOD], rows(512, 5, 0)))["/a.tar"].name(0) == "k.jpg"
    with pytest.raises((ValueError, TypeError, LookupError)):
        span_index.decode(sealed([row], body, texts))


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
    assert f"{data}/00001.tar" not in span_index.recall(str(index_of(data)))


def test_a_tar_that_grows_meanwhile_is_refused(data, monkeypatch):
    part = tar_parts._part

    def slow(path, *rest):
        with open(path, "ab") as file:
            file.write(bytes(512))
        return part(path, *rest)

    monkeypatch.setattr(tar_parts, "_part", slow)
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
    found = [results.get(timeout=60) for _ in crew]
    for one in crew:
        one.join()
    assert found == [[(n * 3 // COUNT, image(n)[1]) for n in range(COUNT)]] * 3
    assert set(os.listdir(index_of(data).parent)) == {index_of(data).name}


def test_texts_that_archives_share_are_kept_once(monkeypatch):
    """Thousands of tars of thousands of classes would not fit into the limit of the JSON."""
    texts = tuple(f"class-{number:04}" for number in range(300))
    ones = np.arange(300, dtype=np.int64)
    stamp, names = span_index.Stamp(1 << 20, 1, 2), b"\n".join([b"a"] * 300)
    parts = {
        f"{tar}.tar": span_index.Part(
            512 * ones, ones, ones, names, texts[tar:] + texts[:tar], stamp=stamp
        )
        for tar in range(20)
    }
    monkeypatch.setattr(limits, "METADATA", 300 * 20 + 20 * 100)
    found = span_index.decode(span_index.encode(parts))
    assert {path: part.texts for path, part in found.items()} == {
        path: part.texts for path, part in parts.items()
    }
    assert all((part.label == ones).all() for part in found.values())
