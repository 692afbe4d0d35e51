"""What the fuzz targets of formats that are opened in place begin with is read whole, and the
targets hold for it, for its beginnings, and with single bytes changed.
"""

import numpy as np
import pytest

from fastload.files import cache
from fastload.sources import fields, open_source
from fuzz import spans

FILES = {"tars": "x.tar", "tfrecord": "x.tfrecord", "lmdb": "x.lmdb", "parquet": "x.parquet"}
NAMES = {
    "tars": "txt", "mds": "caption", "litdata": "text", "tfrecord": "caption", "lmdb": "txt",
    "parquet": "caption",
}  # fmt: skip


def seeds(tmp_path, target):
    if target in ("litdata", "parquet"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return spans.TARGETS[target][0](tmp_path)


@pytest.mark.parametrize("target", NAMES)
def test_seeds_are_data_sets(tmp_path, target):
    texts = 0
    for seed in seeds(tmp_path, target):
        spans.TARGETS[target][1](tmp_path, seed)
        with cache.nowhere():
            source = open_source(tmp_path / FILES.get(target, "data"))
            assert len(source) >= spans.COUNT
            if target == "lmdb" and len(source.classes) > 1:  # that with texts has no labels
                continue
            source = open_source(tmp_path / FILES.get(target, "data"), target=(NAMES[target],))
        found = fields.values(source, source.fields[0], np.arange(spans.COUNT))
        assert found == [spans.caption(n).decode() for n in range(spans.COUNT)]
        texts += 1
    assert texts


@pytest.mark.parametrize("rounds", [8, pytest.param(25, marks=pytest.mark.long)])
@pytest.mark.parametrize("target", spans.TARGETS)
def test_damaged_seeds(tmp_path, target, rounds, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # one target sets its own
    random = np.random.default_rng(7)
    for seed in seeds(tmp_path, target):
        for _ in range(rounds):
            damaged = bytearray(seed)
            for at in random.integers(0, len(seed), 2).tolist():
                damaged[at] = int(random.choice([0, 1, 127, 128, 255]))
            spans.TARGETS[target][1](tmp_path, bytes(damaged))
            spans.TARGETS[target][1](tmp_path, seed[: int(random.integers(0, len(seed)))])


def test_what_lies_outside_is_told(tmp_path):
    source = open_source(write(tmp_path))
    spans.inside(source, ([0], [0], [4]), "x")
    with pytest.raises(AssertionError, match="x outside of the files"):
        spans.inside(source, ([0], [(tmp_path / "x.tar").stat().st_size], [1]), "x")


def write(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(spans.tars_seeds(tmp_path)[0])
    return path


def test_what_is_kept_is_read_by_the_engine_too(tmp_path, monkeypatch):
    """The seed is whole, and one of its images is packed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    asked, place = [], spans.as_the_engine_reads
    monkeypatch.setattr(spans, "as_the_engine_reads", lambda it: (asked.append(len(it)), place(it)))
    (seed,) = spans.kept_seeds(tmp_path)
    spans.run_kept(tmp_path, seed)
    assert asked == [4]
