"""The cache: shared, whole at any moment, and careful with what is not its own."""

import errno
import gc
import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import fastload
from fastload.errors import CacheError
from fastload.remote import cache as caches
from fastload.remote import entry as entries
from fastload.remote.access import Access, Settings
from fastload.remote.cache import Cache
from fastload.remote.entry import CELLS, HEADER, THERE, UNPROVED
from fastload.remote.layout import of_objects
from fastload.remote.locks import Locks
from fastload.remote.spare import Spare
from fastload.remote.stores import Store
from fastload.remote.urls import of_path, parse
from fastload.sources import read
from tests import waiting
from tests.remote import kill_release
from tests.remote.conftest import IMAGES, OPS, batches


@pytest.fixture
def layout():
    return of_objects(("a", "b/c"), np.array([100_000, 5]))


@pytest.fixture
def served(tmp_path):
    """Two objects, and a way to open them through a cache."""
    (tmp_path / "served" / "b").mkdir(parents=True)
    (tmp_path / "served" / "a").write_bytes(bytes(range(250)) * 400)
    (tmp_path / "served" / "b" / "c").write_bytes(b"hello")
    return parse(of_path(str(tmp_path / "served")))


def opened(url, layout, folder, limit=1 << 30):
    settings = Settings(cache=str(folder), cache_bytes=limit)
    return Access(url, settings, layout, {"said": b"small"}, "set", Store(url))


def test_locks_end_with_their_file_and_not_with_another(tmp_path):
    file = tmp_path / "file"
    one, two = (Locks(os.open(file, os.O_RDWR | os.O_CREAT)) for _ in range(2))
    assert one.share(5)
    assert two.share(5)
    assert not two.take(5)
    assert one.take(7, 3)
    assert not two.share(9)
    os.close(os.open(file, os.O_RDWR))  # older locks would end here
    assert not two.share(9)
    one.drop(8)
    assert two.take(8)
    one.close()
    assert two.take(5, 6)


def test_an_entry_from_nothing_to_whole(served, layout, tmp_path):
    access = opened(served, layout, tmp_path / "disk")
    cells = np.arange(layout.cells)
    assert access.share_there() == 0
    with access.read(cells):
        assert Path(access.folder, "a").read_bytes() == Path(f"/{served.path}/a").read_bytes()
        assert Path(access.folder, "b/c").read_bytes() == b"hello"
    assert Path(access.entry.folder, "said").read_bytes() == b"small"
    assert access.share_there() == 1
    assert access.entry.leased == {}
    assert json.loads(Path(access.entry.folder, "about").read_text())["url"] == served.shown
    modes = {
        os.stat(Path(folder, name)).st_mode & 0o777
        for folder, names, files in os.walk(access.cache.root)
        for name in (*names, *files)
    }
    assert modes == {0o700, 0o600}


def test_what_somebody_needs_is_not_dropped(served, layout, tmp_path):
    access = opened(served, layout, tmp_path / "disk", limit=60_000)
    held = access.hold(np.arange(2))
    access.wait(np.arange(2))  # beyond the limit: it is needed
    assert not access.cache.reserve(1000, needed=False)
    assert access.share_there() > 0.4
    access.release(held)
    assert access.cache.reserve(1000, needed=False)
    assert access.share_there() < 0.4
    with access.read(np.arange(layout.cells)):  # it comes again
        assert Path(access.folder, "a").read_bytes() == Path(f"/{served.path}/a").read_bytes()


def test_files_of_others_stay(served, layout, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "mine").write_text("x")
    access = opened(served, layout, disk, limit=60_000)
    with access.read(np.arange(layout.cells)):
        Path(access.entry.folder, "foreign").write_text("y")
        (Path(access.cache.root) / "folder").mkdir()
        (Path(access.cache.root) / "folder" / "foreign").write_text("z")
    folder = access.entry.folder
    while access.cache.reserve(50_000, needed=False) and access.share_there():
        pass
    del access
    spare = Spare(folder)
    assert waiting.until(spare.idle)  # threads that fetched have it open until they end
    spare.remove()
    spare.close()
    assert sorted(str(each.relative_to(disk)) for each in disk.rglob("*") if each.is_file()) == [
        f"fastload-{os.geteuid()}/folder/foreign",
        f"fastload-{os.geteuid()}/lock",
        f"fastload-{os.geteuid()}/set/foreign",
        f"fastload-{os.geteuid()}/used",
        "mine",
    ]


@pytest.mark.long
def test_after_a_restart_of_the_machine_cells_are_proved(web, shards, tmp_path, monkeypatch):
    data = fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")
    want = batches(data)
    entry = data.pipeline.source.remote.access.entry
    shard, size = Path(entry.path(0)), os.stat(entry.path(0)).st_size
    del data, entry
    gc.collect()
    end = time.monotonic() + 60
    while time.monotonic() < end and "fastload-fetch" in {t.name for t in threading.enumerate()}:
        time.sleep(0.01)  # a thread may be in a request, with the entry open
    with open(shard, "r+b") as file:  # half of it has not reached the disk
        file.seek(size // 2)
        file.write(bytes(size - size // 2))
    monkeypatch.setattr(entries, "boot", lambda: b"another start".ljust(36))
    before = len(web.asked)
    data = fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")
    assert (data.pipeline.source.remote.access.entry.marks[:IMAGES] == UNPROVED).all()
    assert batches(data) == want
    asked = [(path, begin) for path, begin, _ in web.asked[before:] if path.endswith(".tar")]
    assert asked
    assert {path for path, _ in asked} == {f"shards/{shard.name}"}
    assert (data.pipeline.source.remote.access.entry.marks[:IMAGES] == THERE).all()


def test_a_folder_that_is_removed_meanwhile(web, shards, tmp_path):
    import shutil

    data = fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")
    want = batches(data)
    shutil.rmtree(tmp_path / "disk")
    assert batches(data) == want
    loader = fastload.DataLoader(data, 7, shuffle=True, seed=3, num_workers=2)
    got = []
    for images, labels in loader:
        got.append((labels.tolist(), images.numpy().tobytes()))
        if len(got) == 3:
            shutil.rmtree(tmp_path / "disk")
    assert got == want


def test_a_full_disk(web, tmp_path, monkeypatch):
    data = fastload.open(f"{web.url}/shards", OPS, cache=tmp_path / "disk")
    monkeypatch.setattr(Cache, "_free", lambda _: 1000)
    root = data.pipeline.source.remote.access.cache.root
    text = (
        f"{root}: has no room for what a batch needs (the disk is full); free some, or give "
        "another folder as cache="
    )
    with pytest.raises(CacheError) as raised:
        batches(data)
    assert str(raised.value) == text
    monkeypatch.undo()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(entries, "write_at", full)
    with pytest.raises(CacheError) as raised:
        read(data.pipeline.source, 0)
    assert str(raised.value) == text


def test_a_folder_that_cannot_be_a_cache(served, layout, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CacheError) as raised:
        Cache(str(tmp_path / "file"))
    assert str(raised.value) == (
        f"{tmp_path}/file: cannot be a cache (File exists); give another folder as cache="
    )
    real = os.geteuid()
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / f"fastload-{real + 1}").mkdir()
    monkeypatch.setattr(caches.os, "geteuid", lambda: real + 1)
    with pytest.raises(CacheError) as raised:
        Cache(str(tmp_path / "disk"))
    assert str(raised.value) == (
        f"{tmp_path}/disk: cannot be a cache ({tmp_path}/disk/fastload-{real + 1} is no folder of "
        "this user's); give another folder as cache="
    )
    monkeypatch.undo()
    os.symlink(tmp_path, tmp_path / "disk" / f"fastload-{real}")
    with pytest.raises(CacheError, match="is no folder of this user's"):
        Cache(str(tmp_path / "disk"))


def test_a_damaged_entry_is_made_again(served, layout, tmp_path):
    folder = opened(served, layout, tmp_path / "disk").entry.folder
    os.truncate(Path(folder, CELLS), HEADER + 1)
    access = opened(served, layout, tmp_path / "disk")
    assert access.share_there() == 0
    os.truncate(Path(folder, "objects", "a"), 7)
    with pytest.raises(CacheError) as raised:
        opened(served, layout, tmp_path / "disk")
    assert str(raised.value) == (
        f"{folder}: is damaged, and in use; end the programs that use it, and remove it"
    )
    del access
    Path(folder, "about").unlink()
    with pytest.raises(CacheError) as raised:
        opened(served, layout, tmp_path / "disk")
    assert str(raised.value) == f"{folder}: is damaged; remove it"


def test_what_was_never_finished_goes(served, layout, tmp_path):
    root = Path(Cache(str(tmp_path / "disk")).root)
    (root / "set.0123456789abcdef.new" / "b").mkdir(parents=True)
    (root / "set.0123456789abcdef.new" / "b" / "c").write_bytes(b"x")
    opened(served, layout, tmp_path / "disk")
    assert sorted(each.name for each in root.iterdir()) == ["lock", "set", "used"]


def test_what_is_idle_goes_first(served, layout, tmp_path):
    old = opened(served, layout, tmp_path / "disk")
    with old.read(np.arange(layout.cells)):
        pass
    folder = old.entry.folder
    del old
    settings = Settings(cache=str(tmp_path / "disk"), cache_bytes=150_000)
    new = Access(served, settings, layout, {}, "other", Store(served))
    with new.read(np.arange(layout.cells)):
        pass
    assert new.share_there() == 1
    assert not np.frombuffer(Path(folder, CELLS).read_bytes(), np.uint8, offset=HEADER).all()


def lines(path):
    return path.read_text().splitlines()


def test_ranks_of_a_node_ask_once_for_each_byte(web, shards, tmp_path, program):
    def run(world, name, limit):
        (tmp_path / name).mkdir()
        done = program(
            "-m", "tests.remote.epochs", f"{web.url}/shards", str(tmp_path / "disk"), str(limit),
            str(tmp_path / name), str(world),
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return [lines(tmp_path / name / str(rank)) for rank in range(world)]

    ranks = run(4, "four", 1 << 30)
    assert [len(each) for each in ranks] == [5] * 4
    samples = [
        sample
        for each in ranks
        for line in each[:-1]
        for sample in json.loads(line.split("]")[0] + "]")
    ]
    assert sorted(samples) == list(range(IMAGES))
    asked = [each for each in web.asked if each[0].endswith(".tar")]
    assert len(set(asked)) == len(asked)
    assert sum(end - begin for _, begin, end in asked) == sum(
        file.stat().st_size for file in shards.glob("*.tar")
    )


@pytest.mark.long
def test_killed_at_any_moment(web, tmp_path, program):
    """tests/remote/kill_release.py does this more often."""
    assert kill_release.wrong(web, tmp_path, 256 << 10, 6, 1, program) == ""
