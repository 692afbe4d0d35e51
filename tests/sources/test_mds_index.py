"""The index of MDS shards in the user's cache: used again, checked at every use, never trusted."""

import json
import os
from pathlib import Path

import pytest

from fastload.sources import mds, open_source, span_index
from tests.sources.span_helpers import images, lay
from tests.sources.tar_helpers import contents, refused


@pytest.fixture
def shards(tmp_path):
    return lay(tmp_path / "mds", "mds", images())


@pytest.fixture
def looks(monkeypatch):
    """The shards that were read since it was last cleared."""
    paths, part = list[str](), mds._part

    def seen(listed, path, *rest):
        paths.append(os.path.basename(path))
        return part(listed, path, *rest)

    monkeypatch.setattr(mds, "_part", seen)
    return paths


def test_mds_shards_are_read_once(shards, looks, monkeypatch):
    first = contents(shards)
    assert sorted(looks) == ["0.mds", "1.mds", "2.mds", "3.mds"]
    looks.clear()
    monkeypatch.chdir(Path(shards).parent)
    assert contents(shards) == contents("mds") == contents("./mds/") == first
    assert looks == []
    assert os.path.exists(span_index.path_of("mds", shards))


def test_only_the_mds_shard_that_changed_is_read_again(shards, looks):
    data = images()
    first = contents(shards)
    looks.clear()
    os.utime(f"{shards}/2.mds", ns=(5, 5))
    assert contents(shards) == first
    assert looks == ["2.mds"]
    looks.clear()
    path = f"{shards}/0.mds"
    before = os.stat(path)
    data[:2] = data[1::-1]
    os.rename(path, f"{path}.old")  # so that the new one has another inode
    lay(Path(shards), "mds", data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_size == before.st_size
    assert [image for _, image in contents(shards)] == data
    assert "0.mds" in looks


def test_another_list_of_shards_is_heeded(shards, looks):
    """index.json says how a shard is to be read, and is read at every use."""
    first, path = contents(shards), f"{shards}/index.json"
    looks.clear()
    said = json.loads(Path(path).read_text())
    said["shards"] = said["shards"][::-1]
    Path(path).write_text(json.dumps(said))
    assert contents(shards) == [*first[15:], *first[10:15], *first[5:10], *first[:5]]
    assert looks == []
    said["shards"][1]["samples"] = 4
    Path(path).write_text(json.dumps(said))
    assert "2.mds: has 5 samples, want 4" in refused(shards)
    said["shards"][1:2] = []
    Path(path).write_text(json.dumps(said))
    looks.clear()
    assert contents(shards) == [*first[15:], *first[5:10], *first[:5]]
    assert looks == []


def test_other_fields_of_mds_shards_are_another_index(shards, looks):
    first = contents(shards)
    for _ in range(2):
        source = open_source(shards, ("image", "label"))
        assert len(source) == len(first)
    assert len(looks) == 8
    assert os.path.exists(span_index.path_of("mds", shards, "image", "label"))


def test_a_damaged_index_of_mds_shards_is_made_anew(shards, looks):
    first, file = contents(shards), Path(span_index.path_of("mds", shards))
    whole = file.read_bytes()
    for at in (0, 9, 17, 30, 40, len(whole) // 2, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[at] ^= 4
        for content in (damaged, whole[:at]):
            file.write_bytes(content)
            looks.clear()
            assert contents(shards) == first
            assert (len(looks), file.read_bytes()) == (4, whole)
