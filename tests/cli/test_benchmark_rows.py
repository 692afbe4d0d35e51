"""The benchmark of large indexes: what it makes is a data set that opens without a first look."""

import numpy as np
import pytest

from benchmarks.rows import child, made, made_shards
from fastload.sources import mds, open_source, shard_rows
from fastload.sources.base import read

COUNT, EACH, DIFFERENT = 1050, 100, 4


@pytest.fixture(autouse=True)
def few(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # it sets another one
    for name, value in (("EACH", EACH), ("DIFFERENT", DIFFERENT), ("MOST_LINKS", 6)):
        monkeypatch.setattr(made, name, value)


@pytest.fixture
def data(tmp_path):
    return made.make(tmp_path / "made", COUNT)


def test_it_opens_by_its_index(data, monkeypatch):
    monkeypatch.setattr(mds, "layout", None)  # nothing is read of the shards
    source = open_source(str(data.where))
    assert len(source) == COUNT
    images = {read(source, sample) for sample in range(COUNT)}
    assert len(images) == DIFFERENT
    assert all(image.startswith(b"\xff\xd8") and image.endswith(b"\xff\xd9") for image in images)
    assert len(np.unique(source.labels)) > COUNT // 4
    assert data.bytes == data.index.stat().st_size
    links = [path.stat().st_nlink for path in sorted(data.where.glob("*.mds"))]
    assert links == [6] * 6 + [5] * 5


def test_what_a_rank_measures(data):
    loader = child.loader_of(child.opened(str(data.where)), None)
    given = {"small": str(data.where), "steps": 3, "ranks": 1}
    found = child.measures(loader, child.first_batch(loader), given)
    assert found.keys() == {"explain", "set_epoch", "resume", "rate", "small", "ratio"}
    assert min(found.values()) > 0
    assert child.memory() > 1 << 20


def test_converted_shards_have_a_whole_index(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_rows, "SMALL", 0)
    found = made_shards.make(tmp_path / "made", COUNT)
    source = open_source(str(found.where))
    assert (len(source), source.rows.kept) == (COUNT, True)
    assert source.rows.where == str(found.index)
    assert len({read(source, sample) for sample in range(COUNT)}) == DIFFERENT
    place = source.locate(np.arange(COUNT))
    assert len(np.unique(place.file)) == 11
    assert (place.seek.size > 0).all()
    assert len(np.unique(source.labels)) > COUNT // 4
