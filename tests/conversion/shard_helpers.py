"""Converted shards for tests of their index: thousands of rows, and no images."""

import functools

import numpy as np
import pyarrow as pa
import pytest

from fastload.conversion import index_writer
from fastload.conversion.index_writer import Extras
from fastload.sources import row_file, shard_groups, shard_index, shard_rows, shards, sums

COUNT, PER, CLASSES = 9000, 1500, 10  # three record batches, six shards
SHARDS = [shard_index.Shard(f"shard-{n:06d}.tar", PER * 2048, n) for n in range(COUNT // PER)]
SIDECARS = [shard_index.Shard(f"shard-{n:06d}.seek", 16 + PER * 64, n) for n in range(COUNT // PER)]


def columns():
    at, draw = np.arange(COUNT), np.random.default_rng(0)
    indexed = at % 5 > 0
    return {
        "shard": at // PER, "offset": at % PER * 2048 + 512,
        "size": draw.integers(900, 1400, COUNT),
        "label": draw.integers(0, CLASSES, COUNT), "height": 3 + at % 7, "width": 5 + at % 11,
        "checksum": draw.integers(0, 1 << 64, COUNT, np.uint64),
        "index_offset": indexed * (16 + at % PER * 64), "index_size": indexed * 40,
    }  # fmt: skip


def content(has, keys=None):
    """The index with these columns."""
    arrays = {name: pa.array(has[name].astype(kind)) for name, kind in shard_index.NUMBERS.items()}
    arrays["key"] = pa.array(keys or [f"c/{n}" for n in range(COUNT)])
    arrays["format"] = pa.array(["png"] * COUNT).dictionary_encode()
    classes = [str(n) for n in range(CLASSES)]
    text = index_writer.metadata(COUNT, classes, SHARDS, Extras(SIDECARS, None))
    return bytes(index_writer.encode(pa, arrays, text))


@functools.cache
def usual():
    return content(columns())


def put(folder, data):
    """With the checksums of its blocks, as conversions write them."""
    (folder / shard_index.INDEX).write_bytes(data)
    (folder / shard_index.SUM).write_bytes(sums.text(data))


@pytest.fixture(autouse=True)
def large(monkeypatch, tmp_path):
    """Every index is a large one, which is read some rows at a time and kept."""
    monkeypatch.setattr(shard_rows, "SMALL", 0)
    monkeypatch.setattr(shard_groups, "BATCHES", 2)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    """Of sparse shards."""
    where = tmp_path / "out"
    where.mkdir()
    for file in (*SHARDS, *SIDECARS):
        with open(where / file.name, "wb") as empty:
            empty.truncate(file.bytes)
    put(where, usual())
    return where


@pytest.fixture
def unread(monkeypatch):
    """From when it is called, whoever reads an index fails."""

    def now():
        for module, name in ((shard_groups, "streamed"), (shard_rows, "read_index"),
                             (shards, "read_index")):  # fmt: skip
            monkeypatch.setattr(module, name, fail)

    def fail(where):
        raise AssertionError("the index was read")

    return now


@pytest.fixture(params=["in memory", "by blocks"])
def by(request, monkeypatch):
    """Rows are taken from memory, or block by block."""
    if request.param == "by blocks":
        monkeypatch.setattr(row_file, "FEW", 0)
    return request.param
