"""What the fuzz targets of formats that are opened in place begin with is read whole, and the
targets hold for it, for its beginnings, and with single bytes changed.
"""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from fastload.files import cache
from fastload.sources import (
    fields,
    litdata_chunks,
    lmdb_tree,
    mds_shards,
    open_source,
    parquet_scan,
    tar_members,
    tf_records,
)
from fuzz import span_seeds, spans

FILES = {"tars": "x.tar", "tfrecord": "x.tfrecord", "lmdb": "x.lmdb", "parquet": "x.parquet"}
NAMES = {
    "tars": "txt", "mds": "caption", "litdata": "text", "tfrecord": "caption", "lmdb": "txt",
    "parquet": "caption",
}  # fmt: skip


def seeds(tmp_path, target):
    if target in ("litdata", "parquet", "chunk"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return spans.TARGETS[target][0](tmp_path)


@pytest.mark.parametrize("target", NAMES)
def test_seeds_are_data_sets(tmp_path, target):
    texts = 0
    for seed in seeds(tmp_path, target):
        spans.OPENS[target](tmp_path, seed)
        with cache.nowhere():
            source = open_source(tmp_path / FILES.get(target, "data"))
            assert len(source) >= (1 if target == "tars" else span_seeds.COUNT)
            if target in ("lmdb", "tars") and len(source.classes) > 1:  # folders have no texts
                continue
            if target == "tars" and source.spans.said[0] == "folders":
                continue
            source = open_source(tmp_path / FILES.get(target, "data"), target=(NAMES[target],))
        found = fields.values(source, source.fields[0], np.arange(len(source)))
        assert found == [span_seeds.caption(n).decode() for n in range(len(source))]
        texts += 1
    assert texts


@pytest.mark.parametrize("target", spans.RUNS)
def test_seeds_are_taken_whole(tmp_path, target, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # one target sets its own
    assert all(spans.RUNS[target](tmp_path, seed) for seed in seeds(tmp_path, target))


@pytest.mark.parametrize("rounds", [8, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize("target", spans.TARGETS)
def test_damaged_seeds(tmp_path, target, rounds, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # one target sets its own
    random, run = np.random.default_rng(7), spans.RUNS[target]
    for seed in seeds(tmp_path, target):
        opens = spans.OPENS.get(target, run)
        for number in range(rounds):
            damaged = bytearray(seed)
            for at in random.integers(0, len(seed), 2).tolist():
                damaged[at] = int(random.choice([0, 1, 127, 128, 255]))
            run(tmp_path, bytes(damaged))
            run(tmp_path, seed[: int(random.integers(0, len(seed)))])
            if number % 4 == 0:
                opens(tmp_path, bytes(damaged))


def test_one_input_in_so_many_is_opened(tmp_path):
    opened = []
    run = spans.target(lambda *_: True, lambda _, data: opened.append(data))
    inputs = [b"%d" % number for number in range(20 * spans.SHARE)]
    assert all(run(tmp_path, data) for data in inputs)
    assert 10 <= len(opened) <= 40
    again, opened[:] = opened[:], []
    assert all(run(tmp_path, data) for data in again)
    assert opened == again


LARGE = 1 << 40  # bytes of a file, for who believes that it has so many


def loses(target, monkeypatch):
    """The reader loses its check of what a file says of itself."""
    if target == "mds":
        begins = mds_shards.begins_of
        monkeypatch.setattr(mds_shards, "begins_of", lambda *of: begins(*of[:-1], LARGE))
    elif target == "litdata":
        facts = SimpleNamespace(fstat=lambda _: SimpleNamespace(st_size=LARGE), pread=os.pread)
        monkeypatch.setattr(litdata_chunks, "os", facts)
    elif target == "tfrecord":
        record = tf_records._record
        monkeypatch.setattr(tf_records, "_record", lambda *of: record(*of[:-1], LARGE))
    elif target == "lmdb":
        leaf = lmdb_tree._leaf
        monkeypatch.setattr(lmdb_tree, "_leaf", lambda *of: leaf(*of[:-1], LARGE))
    elif target == "chunk":
        monkeypatch.setattr(parquet_scan, "_meant", lambda of, numbers: np.take(of, numbers, 0))
    else:
        monkeypatch.setattr(tar_members.Walk, "_refused", lambda *_: "")


def lying(target, folder):
    """Files that are cut off, or say what cannot be."""
    seed = seeds(folder, target)[target in ("tfrecord", "chunk")]
    if target == "lmdb":
        high = seed.index(b"image-0") - 8 + 2  # of the node before the key: half of the size
        return seed[:high] + b"\xff" + seed[high + 1 :]
    if target == "tars":
        return seed.replace(b"a/0.jpg", b"../.jpg")
    if target == "chunk":
        return seed[:-3] + b"\x08\x0a\x07"  # indices of 8 bits, of which five are 7
    return seed[: -20 if target == "tfrecord" else -1]


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("mds", "a column outside of the file"), ("litdata", "a leaf outside of the file"),
        ("tfrecord", "images outside of the file"), ("lmdb", "images outside of the file"),
        ("tars", "'../.jpg' leads out"), ("chunk", "out of bounds"),
    ],
)  # fmt: skip
def test_a_lost_check_is_found(tmp_path, monkeypatch, target, what):
    data, run = lying(target, tmp_path), spans.RUNS[target]
    assert run(tmp_path, data) is False
    loses(target, monkeypatch)
    with pytest.raises((AssertionError, IndexError), match=what):
        run(tmp_path, data)


def test_what_lies_outside_is_told(tmp_path):
    source = open_source(write(tmp_path))
    spans.inside(source, ([0], [0], [4]), "x")
    with pytest.raises(AssertionError, match="x outside of the files"):
        spans.inside(source, ([0], [(tmp_path / "x.tar").stat().st_size], [1]), "x")


def write(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(span_seeds.tars(tmp_path)[0])
    return path


def test_what_is_kept_is_read_by_the_engine_too(tmp_path, monkeypatch):
    """The seed is whole, and one of its images is packed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked, place = [], spans.as_the_engine_reads
    monkeypatch.setattr(spans, "as_the_engine_reads", lambda it: (asked.append(len(it)), place(it)))
    (seed,) = span_seeds.kept(tmp_path)
    spans.run_kept(tmp_path, seed)
    assert asked == [4]
