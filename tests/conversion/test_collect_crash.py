"""Collecting seek indexes: whatever is killed, full or done twice at once, pixels and what is in
the cache are right.
"""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import fastload
from fastload import _native
from fastload.conversion import target, verify
from fastload.errors import ConversionError
from fastload.sources import open_source, seek, seek_merge
from fastload.transforms import RandomHorizontalFlip, RandomResizedCrop

MERGED = ["fastload.seek", "fastload.seek.arrow", "fastload.seek.arrow.xxh3"]


@pytest.fixture
def tmp_path(in_memory):
    return in_memory


@pytest.fixture
def data(tools, tmp_path):
    """24 images, none square."""
    return tools.write_tree(
        tmp_path / "data",
        {f"{'ab'[n % 2]}/{n:02d}.jpg": tools.encode(20 + n, 41, n, quality=70) for n in range(24)},
    )


def make(root, mode="auto", workers=1):
    ops = [RandomResizedCrop((16, 24)), RandomHorizontalFlip()]
    return fastload.DataLoader(
        fastload.open(root, ops), 4, shuffle=True, seed=2, num_workers=workers, seek_index=mode
    )


def pixels(loader):
    return [(images.numpy().tobytes(), labels.tolist()) for images, labels in loader]


def epochs(root, count, workers=1):
    """Pixels of the last epoch, how often an index was used, refused."""
    loader = make(root, workers=workers)
    found = [pixels(loader) for _ in range(count)]
    return found[-1], loader.decodes()["indexed"], loader.decodes()["refused"]


def cache_of(root):
    return seek.cache_folder(str(root))


def stored(root):
    """Images that the cache has an index of; each is compared with what it should be."""
    try:
        found = seek.read(cache_of(root))
    except fastload.FastloadError:
        return 0
    paths = open_source(root).paths
    fit = found.fit(seek.names(paths, str(root)))
    place = fit.locate(np.arange(len(paths)))
    for path, at, size in zip(paths, place.offset.tolist(), place.size.tolist(), strict=True):
        if size:
            with open(path, "rb") as file:
                assert place.files.read(0, at, size) == _native.jpeg_index(file.read(), 8)
    return int(np.count_nonzero(fit.size))


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_in_the_middle_of_an_epoch(tools, data, workers):
    def work():
        for number, _ in enumerate(make(data, workers=workers)):
            if number == 2:
                os.kill(os.getpid(), signal.SIGKILL)

    assert tools.in_child(work) == -signal.SIGKILL
    (log,) = os.listdir(cache_of(data))
    kept = len(_native.read_seek_log(f"{cache_of(data)}/{log}", 0)[2])
    assert 12 <= kept <= 24
    with open(f"{cache_of(data)}/{log}", "r+b") as file:  # the kill came in the middle of a write
        file.truncate(os.fstat(file.fileno()).st_size - 9)
    loader = make(data)
    assert pixels(loader) == pixels(make(data, "off"))
    assert loader.decodes() == {
        "indexed": kept - 1,
        "whole": 25 - kept,
        "library": 0,
        "refused": 0,
        "scaled": 0,
    }
    assert stored(data) == kept - 1
    del loader
    assert epochs(data, 1)[1:] == (24, 0)
    assert sorted(os.listdir(cache_of(data))) == MERGED


def test_killed_at_every_call_of_a_merge(tools, data, monkeypatch):
    """What is stored only grows, the next run finds all of it, and nothing stays that nobody reads."""
    want = pixels(make(data, "off"))
    assert tools.in_child(lambda: len(pixels(make(data)))) == 6
    before = shutil.copytree(cache_of(data), f"{cache_of(data)}-before")
    seen = set()
    for k in itertools.count(1):
        shutil.rmtree(cache_of(data))
        shutil.copytree(before, cache_of(data))

        def work(k=k):
            with monkeypatch.context() as patch:
                tools.kill_at(patch, k)
                return epochs(data, 1)[1]

        said = tools.in_child(work)
        seen.add(stored(data))
        assert epochs(data, 1) == (want, 24, 0)
        assert sorted(os.listdir(cache_of(data))) == MERGED
        assert verify.verify(verify.prepare(str(data)), 1).damages == ()
        if said == 24:
            break
        assert said == -signal.SIGKILL
    assert seen == {0, 24}


def test_killed_at_every_call_of_a_second_merge(tools, data, monkeypatch):
    extra = {f"c/{n}.jpg": tools.encode(30 + n, 33, n, quality=70) for n in range(12)}
    assert tools.in_child(lambda: epochs(data, 2)[1]) == 24
    tools.write_tree(data, extra)
    want = pixels(make(data, "off"))
    assert tools.in_child(lambda: len(pixels(make(data)))) == 9
    before = shutil.copytree(cache_of(data), f"{cache_of(data)}-before")
    assert len(os.listdir(before)) == 4
    seen = set()
    for k in itertools.count(1):
        shutil.rmtree(cache_of(data))
        shutil.copytree(before, cache_of(data))

        def work(k=k):
            with monkeypatch.context() as patch:
                tools.kill_at(patch, k)
                return epochs(data, 1)[1]

        said = tools.in_child(work)
        seen.add(stored(data))
        assert epochs(data, 1) == (want, 36, 0)
        assert sorted(os.listdir(cache_of(data))) == MERGED
        assert verify.verify(verify.prepare(str(data)), 1).damages == ()
        if said == 36:
            break
        assert said == -signal.SIGKILL
    assert seen == {24, 36}  # the old index holds until the new one is there


def test_processes_at_once(tools, data):
    """Four processes, three epochs each, start together: all see the same pixels, and the cache
    ends whole.
    """
    off = make(data, "off")
    want = [pixels(off) for _ in range(3)][-1]
    found = [None] * 4

    def run(number):
        found[number] = tools.in_child(lambda: epochs(data, 3, workers=number % 2))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one[0] == want, one[2]) for one in found] == [(True, 0)] * 4
    assert all(one[1] >= 24 for one in found)
    assert stored(data) == 24
    assert epochs(data, 1)[1:] == (24, 0)
    assert sorted(os.listdir(cache_of(data))) == MERGED


def test_replaced_indexes_do_not_pile_up(tools, data, monkeypatch):
    monkeypatch.setattr(seek_merge, "GARBAGE", 500)
    sizes = []
    for round_ in range(8):
        tools.write_tree(
            data,
            {
                f"{'ab'[n % 2]}/{n:02d}.jpg": tools.encode(20 + n, 41 + round_ % 2, n, quality=70)
                for n in range(24)
            },
        )
        assert epochs(data, 2)[1] >= 24
        assert stored(data) == 24
        sizes.append(os.path.getsize(f"{cache_of(data)}/fastload.seek"))
    assert max(sizes) < 3 * sizes[0]
    assert verify.verify(verify.prepare(str(data)), 1).damages == ()


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
        pytest.skip("cannot mount a small disk here")
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
    assert auto.decodes() == {"indexed": 48, "whole": 24, "library": 0, "refused": 0, "scaled": 0}
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
