"""Targets and options that are refused before anything is written."""

import os

import pytest

from fastload.conversion import job
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.sources import open_source


def test_a_folder_with_other_files_is_refused(tools, small, tmp_path):
    out = tools.write_tree(
        tmp_path / "out", {"shard-000000.tar": b"mine", "b": b"", "c": b"", "d": b""}
    )
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, out)
    assert (
        str(refused.value)
        == f"{out}: is not empty (holds 'b', 'c', 'd' and 1 more); give a new or empty folder"
    )
    assert (out / "shard-000000.tar").read_bytes() == b"mine"
    with pytest.raises(ConversionError):
        tools.convert(small, out, overwrite=True)
    assert len(os.listdir(out)) == 4


def test_a_file_in_the_way_is_refused(tools, small, tmp_path):
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, tmp_path / "out" / "deep")
    assert str(refused.value) == f"{tmp_path}/out: is a file, want a folder; give another path"


def test_a_target_in_the_source_is_refused(tools, small):
    for target in (small, small / "out"):
        with pytest.raises(ConversionError) as refused:
            tools.convert(small, target)
        assert (
            str(refused.value)
            == f"{target}: lies in the source {small}; give a folder outside of it"
        )


def test_a_second_conversion_into_the_same_folder_waits_not(tools, small, tmp_path):
    prepared = job.prepare(str(small), str(tmp_path / "out"), job.Options(workers=1))
    inner = []

    def advance(images, count):
        if not inner:
            inner.append(tools.in_child(lambda: tools.convert(small, tmp_path / "out")))

    job.run(prepared, advance)
    assert (
        str(inner[0])
        == f"{tmp_path}/out: another conversion is writing there; wait for it or give another "
        "folder"
    )
    assert len(open_source(tmp_path / "out")) == 7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"shard_bytes": 10},
            "shard size: 10 bytes (want 1024 to 4294967296); the default is 268435456",
        ),
        (
            {"on_error": "ignore"},
            "on_error: got 'ignore', want 'raise', 'skip' or 'substitute'; choose one",
        ),
        ({"workers": 0}, "workers: got 0, want at least 1; leave it out for one per processor"),
        ({"shuffle": -1}, "shuffle: seed -1 (want 0 to 2^64 - 1); give another seed"),
    ],
)
def test_options(options, text):
    with pytest.raises(UsageError) as refused:
        job.Options(**options)
    assert str(refused.value) == text


def test_without_pyarrow(tools, small, tmp_path, monkeypatch):
    tools.convert(small, tmp_path / "out")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SourceError) as refused:
        open_source(tmp_path / "out")
    text = "shards need pyarrow (not installed); pip install 'fastload-torch[convert]'"
    assert str(refused.value) == f"{tmp_path}/out: {text}"
    with pytest.raises(ConversionError) as stopped:
        tools.convert(small, tmp_path / "new")
    assert str(stopped.value) == f"{tmp_path}/new: {text}"
    assert not (tmp_path / "new").exists()
