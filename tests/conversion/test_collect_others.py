"""Collecting seek indexes where others are: other users, a full disk, stopped and waiting
programs.
"""

import os
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

from fastload.conversion import target, verify
from fastload.errors import ConversionError
from fastload.sources import seek, seek_merge
from tests.ways import ways_taken

from .collect_helpers import MERGED, cache_of, epochs, make, photographs, pixels, stored


@pytest.fixture
def data(tools, tmp_path):
    return photographs(tools, tmp_path)


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


def test_a_cache_that_another_user_owns(tools, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        root = tools.write_tree(
            Path(folder) / "root", {f"c/{n}.jpg": tools.encode(19, 17 + n, n) for n in range(3)}
        )
        os.mkdir(f"{folder}/cache", 0o555)
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")

        def work():
            with pytest.warns(
                UserWarning,
                match=r": cannot be written \(Permission denied\); new seek indexes serve this run "
                r"only; ",
            ):
                return epochs(root, 2)[1:]

        assert tools.in_child(work, uid=65534 if os.getuid() == 0 else None) == (3, 0)


@pytest.fixture
def tiny(tmp_path):
    """A disk of 16 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting a tmpfs needs root: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk(tools, data, tiny, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tiny))
    (tiny / "other").write_bytes(bytes(8192))
    off, auto = make(data, "off"), make(data)
    with pytest.warns(
        UserWarning,
        match=r": cannot be written \(No space left on device\); new seek indexes serve this run "
        r"only; ",
    ) as said:
        found = [pixels(auto) for _ in range(3)]
    assert found == [pixels(off) for _ in range(3)]
    assert len(said) == 1
    assert auto.decodes() == ways_taken(indexed=48, whole=24)
    del auto
    (tiny / "other").unlink()
    assert epochs(data, 1)[2] == 0
    assert stored(data) >= 1


def test_a_writer_that_was_stopped_is_no_dead_one(tools, data):
    """Its log is read, and kept; what it adds later is found later."""
    (go_on, told), (begun, tell) = os.pipe(), os.pipe()

    def work():
        os.close(told)
        loader = make(data)
        batches = iter(loader)
        next(batches)
        os.write(tell, b".")
        os.read(go_on, 1)  # the parent has merged
        return len(list(batches)) + len(list(loader))

    said = []
    thread = threading.Thread(target=lambda: said.append(tools.in_child(work)))
    thread.start()
    os.read(begun, 1)
    (log,) = os.listdir(cache_of(data))
    loader = make(data)
    assert pixels(loader) == pixels(make(data, "off"))
    assert 4 <= loader.decodes()["indexed"] <= 24
    assert log in os.listdir(cache_of(data))
    assert list(seek.read(cache_of(data)).logs) == [log]
    os.close(told)
    thread.join()
    assert said == [5 + 6]
    for pipe in (go_on, begun, tell):
        os.close(pipe)
    del loader
    assert epochs(data, 1)[1:] == (24, 0)
    assert sorted(os.listdir(cache_of(data))) == MERGED


def test_what_is_being_added_is_no_damage(data):
    epochs(data, 2)
    with open(f"{cache_of(data)}/fastload.seek", "ab") as file:
        file.write(b"half of an index")
    assert stored(data) == 24
    assert verify.verify(verify.prepare(str(data)), 1).damages == ()
    assert epochs(data, 1)[1:] == (24, 0)


def test_fastload_index_waits_for_a_merge(tmp_path):
    merging = seek_merge.locked(str(tmp_path), 1)
    assert merging.__enter__()
    with pytest.raises(ConversionError), target.locked(str(tmp_path)):
        pass
    over = threading.Event()

    def end():
        over.set()
        merging.__exit__(None, None, None)

    timer = threading.Timer(0.1, end)
    timer.start()
    with target.locked(str(tmp_path), 10):
        assert over.is_set()
    timer.join()
    with target.locked(str(tmp_path)), seek_merge.locked(str(tmp_path), 0) as held:
        assert not held


def test_a_forked_child_leaves_the_log_alone(tools, data):
    loader = make(data, workers=0)
    next(iter(loader))
    (log,) = os.listdir(cache_of(data))
    size = os.path.getsize(f"{cache_of(data)}/{log}")
    found = tools.in_child(lambda: pixels(loader))  # it has threads and a log of its own
    assert os.path.getsize(f"{cache_of(data)}/{log}") == size
    assert found == pixels(loader)
