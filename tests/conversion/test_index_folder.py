"""Seek indexes of a plain folder: beside it or in the cache, found by name, left aside when they do
not fit.
"""

import json
import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from torchvision.datasets import ImageFolder

from fastload import _native, cli
from fastload.conversion import index_folder, inspect, job, verify
from fastload.errors import ConversionError
from fastload.sources import open_source, seek

from .index_folder_helpers import FILES, blobs, index, ours, problems, want


@pytest.mark.parametrize("step", [0, 8])
def test_round_trip(small, step, monkeypatch):
    monkeypatch.setattr(index_folder, "TASK", 2)
    monkeypatch.setattr(index_folder, "ROUND", 2)
    before = {path: path.read_bytes() for path in small.glob("*/*")}
    summary = index(small, step, 2)
    assert (summary.kind, summary.where, summary.samples, summary.seek.indexed) == (
        "folder",
        str(small),
        7,
        7,
    )
    assert ours(small) == FILES
    assert {path: path.read_bytes() for path in small.glob("*/*")} == before
    source = open_source(small)
    assert blobs(pickle.loads(pickle.dumps(source)).seek, 7) == want(source.paths, step)
    assert summary.seek.bytes == (small / "fastload.seek").stat().st_size
    assert source.locate(np.array([3])).seek.size.tolist() == [len(want(source.paths, step)[3])]
    assert verify.verify(verify.prepare(str(small)), 1).damages == ()
    facts = inspect.inspect(str(small))
    assert (facts.indexed, facts.warnings) == (7, [])


def test_same_bytes_for_any_number_of_workers(small, monkeypatch):
    monkeypatch.setattr(index_folder, "TASK", 1)
    found = []
    for count in (1, 3):
        index(small, 8, count)
        found.append([(small / name).read_bytes() for name in FILES])
    assert found[0] == found[1]


def test_torchvisions_image_folder_still_opens_it(small):
    before = ImageFolder(str(small))
    index(small)
    after = ImageFolder(str(small))
    assert (after.samples, after.classes) == (before.samples, before.classes)
    paths = [path for path, _ in after.samples]
    assert blobs(seek.attach(paths, after.root), 7) == want(paths)
    assert blobs(seek.attach(paths[::-1], after.root), 7) == want(paths)[::-1]


def test_what_is_not_covered_is_counted(tools, small):
    files = {
        "cat/p.jpg": tools.encode(20, 30, 1, progressive=True), "cat/q.jpg": tools.encode(21, 30, 1,
        progressive=True),
        "cat/cmyk.jpg": tools.encode(20, 30, 2, mode="CMYK"), "dog/a.png": tools.encode(20, 30, 3,
        format="PNG"), "dog/empty.jpg": b"",
    }  # fmt: skip
    tools.write_tree(small, files)
    os.mkfifo(small / "dog" / "pipe.jpg")
    totals = index(small).seek
    assert (totals.indexed, list(totals.reasons.values()), totals.reasons["not a JPEG"]) == (
        7,
        [2, 2, 1, 1],
        2,
    )
    assert {"is no regular file", "not covered: 4 components"} <= set(totals.reasons)
    source = open_source(small)
    found = {
        os.path.basename(path): blob
        for path, blob in zip(source.paths, blobs(source.seek, len(source)), strict=True)
    }
    assert {name for name, blob in found.items() if blob is None} == {
        "p.jpg",
        "q.jpg",
        "cmyk.jpg",
        "a.png",
        "empty.jpg",
        "pipe.jpg",
    }


def test_other_files_are_matched_by_name(tools, small):
    index(small)
    (small / "cat" / "1.JPEG").unlink()
    tools.write_tree(
        small, {"ape/new.jpg": tools.encode(9, 9), "dog/0.JPEG": tools.encode(30, 40, 5)}
    )
    source = open_source(small)
    found = blobs(source.seek, 7)
    assert found[0] is None  # ape/new.jpg
    assert found[1:3] + found[4:] == want(source.paths[1:3]) + want(source.paths[4:])
    facts = inspect.inspect(str(small))
    assert facts.indexed == 5
    assert facts.warnings == [
        f"{small}/fastload.seek: is older than 1 of 7 files; run fastload index again",
        f"{small}/fastload.seek: does not know 1 of 7 files; run fastload index again",
    ]
    index(small)
    assert inspect.inspect(str(small)).warnings == []


def test_names_that_are_not_utf8(tools, small):
    Path(os.fsdecode(os.fsencode(str(small / "cat")) + b"/\xff\xfe.jpg")).write_bytes(
        tools.encode(9, 17)
    )
    index(small)
    paths = open_source(small).paths
    assert blobs(open_source(small).seek, 8) == want(paths)
    assert blobs(seek.attach(paths[::-1], str(small)), 8) == want(paths)[::-1]


def test_a_folder_without_index_has_none(small):
    source = open_source(small)
    assert (source.seek, source.locate(np.arange(7)).seek, problems(small)) == (None, None, [])


@pytest.fixture
def shared(tools, monkeypatch):
    """A folder that another user can read, and one for the user's cache."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        root = tools.write_tree(
            Path(folder) / "root", {f"c/{n}.jpg": tools.encode(9, 17 + n, n) for n in range(3)}
        )
        (Path(folder) / "cache").mkdir()
        os.chmod(folder + "/cache", 0o777)
        os.chmod(root, 0o555)
        monkeypatch.setenv("XDG_CACHE_HOME", folder + "/cache")
        yield root


def as_nobody(tools, work):
    return tools.in_child(work, uid=65534 if os.getuid() == 0 else None)


def test_a_folder_that_cannot_be_written_goes_to_the_cache(tools, shared):
    where = as_nobody(tools, lambda: index(shared).where)
    name = f"{_native.xxh3(os.path.realpath(shared).encode()):016x}"
    assert where == f"{shared.parent}/cache/fastload/seek/{name}"
    assert (ours(shared), ours(where)) == ([], FILES)
    (shared.parent / "link").symlink_to(shared)

    def opened(root):
        source = open_source(root)
        return source.seek and (blobs(source.seek, 3) == want(source.paths), source.seek.path)

    for root in (shared, shared.parent / "link"):
        assert as_nobody(tools, lambda root=root: opened(root)) == (True, f"{where}/fastload.seek")
        assert os.getuid() or opened(root) is None  # another user's


def test_neither_the_folder_nor_the_cache_can_be_written(tools, shared, monkeypatch):
    os.chmod(shared.parent / "cache", 0o555)
    said = as_nobody(tools, lambda: index(shared))
    assert type(said) is ConversionError
    assert str(said).endswith(
        f": cannot be made (Permission denied), and {shared} cannot be written; set XDG_CACHE_HOME "
        "to a folder that can"
    )


def test_converting_an_indexed_folder_ignores_its_index(tools, small, tmp_path):
    tools.convert(small, tmp_path / "a")
    index(small)
    tools.convert(small, tmp_path / "b")
    assert {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()
    }
    assert job.Options().seek_step == 8


def test_the_verb(tools, small, tmp_path, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(cli, "VERBS", ("convert", "index"))
        monkeypatch.setattr("sys.argv", ["fastload", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
            raise SystemExit(0)
        return end.value.code or 0, *capsys.readouterr()

    tools.write_tree(small, {"cat/a.png": tools.encode(9, 9, format="PNG")})
    code, out, err = run("index", small, "--json", "-", "--seek-step", "0")
    said = json.loads(out)
    assert (code, said["samples"], said["indexed"], said["kind"], said["not_indexed"]) == (
        0,
        8,
        7,
        "folder",
        {"not a JPEG": 1},
    )
    assert (said["written_to"], err) == (str(small), "no seek index: 1 images: not a JPEG\n")
    assert said["seek_bytes"] == (small / "fastload.seek").stat().st_size
    code, out, _ = run("convert", small, tmp_path / "out", "--no-seek", "--json", "-")
    assert (code, json.loads(out)["seek_bytes"], json.loads(out)["indexed"]) == (0, 0, 0)
    code, out, _ = run("index", tmp_path / "out")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [
        str(tmp_path / "out"),
        "indexed",
        "samples",
        "seek",
        "time",
    ]
    assert run("index", small, "--seek-step", "-1")[0] == 2
    assert run("index", tmp_path / "nowhere") == (
        1,
        "",
        f"fastload: {tmp_path}/nowhere: does not exist; check the path\n",
    )
