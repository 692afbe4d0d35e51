"""No data set or a whole one: whatever is killed, refused or full, and whenever."""

import errno
import itertools
import os
import random
import shutil
import signal
import subprocess

import pytest

from fastload.conversion import job, target, units, verify
from fastload.errors import ConversionError, SourceError
from fastload.sources import open_source

from .system_calls import Nth, die


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


def needed(source, out, shard_bytes=job.SHARD_BYTES):
    """What the plan says, as the message has it; the size of an encoded image depends on the
    machine's libjpeg.
    """
    return units.human(
        job.prepare(str(source), str(out), job.Options(shard_bytes=shard_bytes)).plan.bytes
    )


def is_absent_or_whole(folder, count=7):
    """Whether a data set opens; if so it must be complete and intact."""
    try:
        source = open_source(folder)
    except SourceError:
        return False
    assert len(source) == count
    assert verify.verify(verify.prepare(str(folder)), 1).damages == ()
    return True


@pytest.mark.long
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_at_every_system_call(tools, small, tmp_path, monkeypatch, replacing):
    """SIGKILL before each write, fsync, rename, unlink, which is after the one before it: the
    commit window and all before.
    """
    outcomes = []
    if replacing:
        tools.convert(small, tmp_path / "old", shard_bytes=6000, shuffle=1)
    for k in itertools.count(1):
        out = tmp_path / f"out{k}"
        if replacing:
            shutil.copytree(tmp_path / "old", out)

        def work(k=k, out=out):
            with monkeypatch.context() as patch:
                Nth(k, die).install(patch)
                return tools.convert(small, out, shard_bytes=9000, overwrite=replacing).samples

        said = tools.in_child(work)
        outcomes.append(is_absent_or_whole(out))
        if said == 7:
            break
        assert said == -signal.SIGKILL
        tools.convert(small, out, shard_bytes=9000, overwrite=replacing or outcomes[-1])
        assert is_absent_or_whole(out)
        assert not [name for name in os.listdir(out) if name.startswith(".")]
    assert len(outcomes) > 15
    # Absent first, then whole; while replacing the old one is whole until the commit begins.
    order = [whole for whole, _ in itertools.groupby(outcomes)]
    assert order == ([True, False, True] if replacing else [False, True])


def test_killed_at_any_moment(tools, small, tmp_path):
    draw = random.Random(3)
    for run in range(10):
        out = tmp_path / f"out{run}"
        tools.in_child(
            lambda out=out: tools.convert(small, out, shard_bytes=2048, workers=2),
            kill_after=draw.uniform(0, 0.06),
        )
        tools.convert(small, out, overwrite=is_absent_or_whole(out))
        assert is_absent_or_whole(out)


def what_to_do(code, source, out):
    if code == errno.ENOSPC:
        room = f"needs up to {needed(source, out, 3000)}"
        return f"(No space left on device; {room}); free some room or give another folder"
    return "(Input/output error); check the folder's permissions and its disk"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_of_every_system_call_leaves_nothing_or_what_resumes(
    tools, small, tmp_path, monkeypatch, code
):
    def fail():
        raise OSError(code, os.strerror(code))

    (tmp_path / "parent").mkdir()
    tools.convert(small, tmp_path / "whole", shard_bytes=3000)
    whole, ends = tools.contents(tmp_path / "whole"), []
    for k in itertools.count(1):
        out = tmp_path / "parent" / "a" / "out"
        with monkeypatch.context() as patch:
            nth = Nth(k, fail).install(patch)
            try:
                tools.convert(small, out, shard_bytes=3000)
            except ConversionError as error:
                text = str(error)
            else:
                break
        assert nth.count >= k
        kept = text.endswith("; what is done is kept: go on with --resume")
        left = "what is done is kept: go on with --resume" if kept else "nothing was left there"
        assert text == f"{out}: cannot be written {what_to_do(code, small, out)}; {left}"
        assert kept or os.listdir(tmp_path / "parent") == []
        ends.append(kept)
        if kept:
            assert not is_absent_or_whole(out)
            tools.convert(small, out, shard_bytes=3000, resume=True)
            assert tools.contents(out) == whole
            shutil.rmtree(tmp_path / "parent" / "a")
    assert ends[:5] == [False] * 5
    assert any(ends)
    assert k > 20
    assert is_absent_or_whole(out)


def test_short_writes_are_continued(tools, small, tmp_path, monkeypatch):
    real = os.write

    def third(file, data):
        return real(file, bytes(data)[: max(1, len(data) // 3)])

    with monkeypatch.context() as patch:
        patch.setattr(target.os, "write", third)
        patch.setattr(target.os, "writev", lambda file, pieces: third(file, b"".join(pieces)))
        tools.convert(small, tmp_path / "out")
    assert is_absent_or_whole(tmp_path / "out")


@pytest.fixture
def tiny_disk(tmp_path):
    """A real file system of 64 KiB."""
    (tmp_path / "disk").mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path / "disk"],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {mounted.stderr.decode().strip()}")
    yield tmp_path / "disk"
    subprocess.run(["umount", tmp_path / "disk"], check=True)


def test_too_little_room_is_said_before_anything_is_written(tools, small, tiny_disk, monkeypatch):
    monkeypatch.setattr(target.Folder, "create", None)
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, tiny_disk / "out")
    room = f"needs up to {needed(small, tiny_disk / 'out')}, 64 KiB free"
    assert (
        str(refused.value)
        == f"{tiny_disk}/out: too little room ({room}); free some or give another folder"
    )
    assert os.listdir(tiny_disk) == []


def test_a_really_full_disk(tools, tiny_disk, tmp_path, monkeypatch):
    root = tools.write_tree(
        tmp_path / "in", {f"c/{n}.png": tools.encode(60, 90, n, format="PNG") for n in range(8)}
    )
    # Another program may fill the disk meanwhile
    monkeypatch.setattr(target, "check_room", lambda *_: None)
    with pytest.raises(ConversionError) as refused:
        tools.convert(root, tiny_disk / "out", shard_bytes=20_000, workers=2)
    text = str(refused.value)
    assert text.startswith(
        f"{tiny_disk}/out: cannot be written (No space left on device; needs up to "
    )
    assert text.endswith(
        "); free some room or give another folder; what is done is kept: go on with --resume"
    )
    assert not is_absent_or_whole(tiny_disk / "out")
    subprocess.run(["mount", "-o", "remount,size=1m", tiny_disk], check=True)
    tools.convert(root, tiny_disk / "out", shard_bytes=20_000, workers=2, resume=True)
    tools.convert(root, tmp_path / "whole", shard_bytes=20_000)
    assert tools.contents(tiny_disk / "out") == tools.contents(tmp_path / "whole")


def test_an_unfinished_folder_says_so(tools, small, tmp_path):
    out = tools.write_tree(
        tmp_path / "out",
        {".fastload-index.arrow": b"", "shard-000000.tar": b"x", ".fastload-000001.tar": b"x"},
    )
    with pytest.raises(SourceError) as refused:
        open_source(out)
    assert (
        str(refused.value)
        == f"{out}: shards without index.arrow, so a conversion did not finish; run fastload "
        "convert again"
    )
    tools.convert(small, out)
    assert sorted(os.listdir(out)) == [
        "index.arrow",
        "index.arrow.xxh3",
        "shard-000000.seek",
        "shard-000000.tar",
    ]


def test_a_foreign_file_in_an_unfinished_folder_is_not_touched(tools, small, tmp_path):
    out = tools.write_tree(tmp_path / "out", {".fastload-index.arrow": b"", "notes.txt": b"mine"})
    with pytest.raises(ConversionError) as refused:
        tools.convert(small, out)
    assert (
        str(refused.value) == f"{out}: is not empty (holds 'notes.txt'); give a new or empty folder"
    )
    assert (out / "notes.txt").read_bytes() == b"mine"
