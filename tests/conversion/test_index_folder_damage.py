"""Seek indexes of a plain folder that are damaged, forged, or left by a killed program: left aside,
and never believed."""

import itertools
import json
import random
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pytest

from fastload import _native
from fastload.conversion import index_folder, inspect, verify
from fastload.errors import ConversionError
from fastload.sources import arrow, open_source, seek

from .index_folder_helpers import FILES, blobs, index, ours, problems, want


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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
