"""Seek indexes of a plain folder: beside it or in the cache, found by name, left aside when they do
not fit.
"""

import itertools
import json
import os
import pickle
import random
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from torchvision.datasets import ImageFolder

from fastload import _native, cli
from fastload.conversion import index_folder, indexing, inspect, job, verify
from fastload.errors import ConversionError
from fastload.sources import arrow, open_source, seek

FILES = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


def index(folder, step=8, count=1):
    return indexing.run(indexing.prepare(str(folder)), step, count)


def ours(folder):
    return sorted(name for name in os.listdir(folder) if "fastload" in name)


def blobs(folder_seek, count):
    place = folder_seek.locate(np.arange(count))
    rows = zip(place.file.tolist(), place.offset.tolist(), place.size.tolist(), strict=True)
    return [place.files.read(*row) if row[2] else None for row in rows]


def want(paths, step=8):
    return [_native.jpeg_index(Path(path).read_bytes(), step) for path in paths]


def problems(folder):
    return [
        str(problem)
        for problem in seek.find_beside(open_source(folder).paths, str(folder)).problems
    ]


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


def test_every_flipped_bit_is_left_aside_or_damage(tools, tmp_path):
    root = tools.write_tree(tmp_path / "in", {"c/a.jpg": tools.encode(9, 17)})
    index(root)
    draw = random.Random(4)
    for name in FILES:
        content = (root / name).read_bytes()
        for at in range(len(content)):
            changed = bytearray(content)
            changed[at] ^= 1 << draw.randrange(8)
            (root / name).write_bytes(changed)
            found = verify.seek_damages(verify.prepare(str(root)))
            assert len(found) == 1
            assert found[0].file.startswith(f"{root}/fastload.seek")
            if name != "fastload.seek":
                assert open_source(root).seek is None
        (root / name).write_bytes(content)
    assert verify.seek_damages(verify.prepare(str(root))) == []


def test_texts_of_what_is_left_aside(small):
    index(small)
    data, table, line = (small / name for name in FILES)
    saved = {path: path.read_bytes() for path in (data, table, line)}
    size = len(saved[data])

    def said(path, content):
        path.write_bytes(content) if content is not None else path.unlink()
        assert open_source(small).seek is None
        (text,) = problems(small)
        assert inspect.inspect(str(small)).warnings == [text]
        assert [str(damage) for damage in verify.verify(verify.prepare(str(small)), 1).damages] == [
            text
        ]
        path.write_bytes(saved[path])
        return text

    assert (
        said(data, None)
        == f"{data}: cannot be opened (No such file or directory); restore it, or run fastload "
        "index again"
    )
    assert (
        said(data, b"x")
        == f"{data}: size differs (got 1 bytes, want {size}); restore it, or run fastload index "
        "again"
    )
    assert (
        said(data, bytes(size))
        == f"{data}: does not begin as seek indexes do; run fastload index again"
    )
    assert (
        said(line, None)
        == f"{line}: cannot be read (No such file or directory); restore it, or run fastload index "
        "again"
    )
    assert said(table, b"") == f"{table}: is empty (0 bytes); run fastload index again"
    assert said(table, b"x").startswith(f"{table}: is damaged (checksum got ")
    assert open_source(small).seek is not None


def test_signed_mutations_never_crash(small):
    index(small)
    path = small / "fastload.seek.arrow"
    content, draw = path.read_bytes(), random.Random(1)
    paths = open_source(small).paths
    opened = 0
    for _ in range(600):
        changed = bytearray(content)
        for _ in range(draw.choice((1, 1, 2, 8))):
            at = draw.randrange(len(changed) - 8) & ~7
            if draw.random() < 0.5:
                changed[at + draw.randrange(8)] ^= 1 << draw.randrange(8)
            else:
                changed[at : at + 8] = draw.choice(
                    (0, 2**31, 2**40, 2**62, 2**63 - 1, 2**64 - 1)
                ).to_bytes(8, "little")
        path.write_bytes(changed)
        (small / "fastload.seek.arrow.xxh3").write_bytes(
            arrow.sum_line(_native.xxh3(bytes(changed)))
        )
        found = seek.find_beside(paths, str(small))
        if found.seek is not None:
            opened += 1
            blobs(found.seek, 7)
    assert opened > 10


def test_hostile_metadata(small):
    index(small)
    path = small / "fastload.seek.arrow"
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    said = json.loads(table.schema.metadata[b"fastload-seek"])
    changes = [
        {"version": 2}, {"samples": 2**62}, {"samples": -1}, {"samples": "7"},
        {"bytes": None}, {"bytes": 2**70}, {"xxh3": 5}, {"xxh3": "z"},
    ]  # fmt: skip
    for change in changes:
        schema = table.schema.with_metadata({b"fastload-seek": json.dumps(said | change)})
        content = bytes(
            arrow.encode(pa, schema, {name: table.column(name) for name in table.column_names})
        )
        path.write_bytes(content)
        (small / "fastload.seek.arrow.xxh3").write_bytes(arrow.sum_line(_native.xxh3(content)))
        assert open_source(small).seek is None, change
        assert len(problems(small)) == 1


def test_killed_at_every_call(tools, small, tmp_path, monkeypatch):
    """No index, the old one or the new one; the folder loads all the time, and nothing foreign
    stays after the next run.
    """
    seen = set()
    for k in itertools.count(1):
        root = Path(shutil.copytree(small, tmp_path / f"root{k}"))
        index(root, 0)
        old = blobs(open_source(root).seek, 7)

        def work(k=k, root=root):
            with monkeypatch.context() as patch:
                tools.kill_at(patch, k)
                return index(root, 1).seek.indexed

        said = tools.in_child(work)
        source = open_source(root)
        found = blobs(source.seek, 7) if source.seek else None
        assert found in (None, old, want(source.paths, 1))
        seen.add("none" if found is None else "old" if found == old else "new")
        if said == 7:
            break
        assert said == -signal.SIGKILL
        index(root, 1)
        assert ours(root) == FILES
        assert blobs(open_source(root).seek, 7) == want(source.paths, 1)
    assert seen == {"none", "old", "new"}


def test_an_error_leaves_the_old_index(small, monkeypatch):
    index(small, 0)
    before = [(small / name).read_bytes() for name in FILES]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index_folder.Folder, "write", full)
    with pytest.raises(ConversionError) as refused:
        index(small, 1)
    assert str(refused.value).startswith(
        f"{small}: cannot be written (No space left on device; needs up to "
    )
    assert [(small / name).read_bytes() for name in FILES] == before
    assert ours(small) == FILES


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
    assert (
        where
        == f"{shared.parent}/cache/fastload/seek/{_native.xxh3(os.path.realpath(shared).encode()):016x}"
    )
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
