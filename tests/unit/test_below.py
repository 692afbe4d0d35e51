"""A folder by its descriptor: nothing below it is reached through a link, with openat2 and step by
step.
"""

import errno
import itertools
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fastload.files import below, opening, steps
from fastload.files.below import Folder, opened
from fastload.files.names import Inner

OTHERS = ("file", "folder", "nothing")


@pytest.fixture(params=["openat2", "steps"])
def top(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ROOT/top, beside what may not be touched."""
    if request.param == "steps":
        monkeypatch.setattr(steps, "has_openat2", lambda: False)
    elif not steps.has_openat2():
        pytest.skip("this kernel, or this sandbox, has no openat2")
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"theirs")
    return tmp_path / "top"


def test_what_is_made_lies_there(top: Path) -> None:
    with opened(str(top)) as folder:
        folder.folder(Inner("c/d/e"), make=True).close()
        folder.write(Inner("c/d/e/f"), b"new", below.PLAIN)
        folder.replace(Inner("g"), b"one")
        folder.replace(Inner("g"), b"two")
        assert (folder.read(Inner("c/d/e/f")), folder.read(Inner("g"))) == (b"new", b"two")
        assert (folder.size(Inner("g")), folder.size(Inner("nothing")), sorted(folder.names())) == (
            3,
            0,
            ["a", "c", "g"],
        )
        walked = [(path, names) for _, path, names in folder.files()]
        assert ("c/d/e/", ["f"]) in walked
        assert walked[-1] == ("", ["g"])
        folder.clear()
        assert folder.names() == []
    assert os.listdir(top) == []


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("at", ["a", "a/b"])
def test_a_link_on_the_way_is_not_followed(top: Path, at: str, other: str) -> None:
    (top / "a" / "b").rmdir()
    if at == "a":
        (top / "a").rmdir()
    (top / at).symlink_to(top.parent / other)
    before = sorted(os.listdir(top.parent / "folder"))
    with opened(str(top)) as folder:
        calls: tuple[Callable[[], object], ...] = (
            lambda: folder.folder(Inner(f"{at}/x"), make=True),
            lambda: folder.create(Inner(f"{at}/x")),
            lambda: folder.open(Inner(f"{at}/x")),
            lambda: folder.write(Inner(f"{at}/x"), b""), lambda: folder.remove(Inner(f"{at}/x")),
            lambda: folder.folder(Inner(at)),
            lambda: folder.folder(Inner(at), make=True),
        )  # fmt: skip
        for call in calls:
            with pytest.raises(OSError) as refused:
                call()
            assert refused.value.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT)
    assert sorted(os.listdir(top.parent / "folder")) == before
    assert not (top.parent / "nothing").exists()


@pytest.mark.parametrize("other", OTHERS)
def test_a_link_in_a_files_place_is_not_followed(top: Path, other: str) -> None:
    (top / "x").symlink_to(top.parent / other)
    with opened(str(top)) as folder:
        for call in (lambda: folder.create(Inner("x")), lambda: folder.write(Inner("x"), b"mine")):
            with pytest.raises(FileExistsError):
                call()
        for call in (lambda: folder.open(Inner("x")), lambda: folder.allow(Inner("x"))):
            with pytest.raises(OSError, match="symbolic links"):
                call()
        assert (
            folder.has(Inner("x")),
            folder.is_plain(Inner("x")),
            folder.is_folder(Inner("x")),
        ) == (True, False, False)
        folder.replace(Inner("x"), b"mine")  # the link itself
        assert folder.is_plain(Inner("x"))
        os.unlink(top / "x")
        (top / "x").symlink_to(top.parent / "folder")
        (top.parent / "folder" / "kept").write_bytes(b"theirs")
        folder.remove_tree(Inner("x"))
    assert (top.parent / "file").read_bytes() == b"theirs"
    assert os.listdir(top.parent / "folder") == ["kept"]


def test_a_second_name_of_a_file_is_not_written_to(top: Path) -> None:
    os.link(top.parent / "file", top / "x")
    os.chmod(top.parent / "file", 0o600)
    with opened(str(top)) as folder:
        for call in (
            lambda: folder.open(Inner("x"), os.O_WRONLY),
            lambda: folder.put(Inner("x"), Inner("y")),
        ):
            with pytest.raises(OSError, match="Has a second name"):
                call()
        assert not folder.is_plain(Inner("x"))
    assert (top.parent / "file").read_bytes() == b"theirs"
    assert stat.S_IMODE((top.parent / "file").stat().st_mode) == 0o600


def test_a_pipe_is_not_waited_for(top: Path) -> None:
    os.mkfifo(top / "x")
    with opened(str(top)) as folder:
        for call in (
            lambda: folder.read(Inner("x")),
            lambda: folder.open(Inner("x"), os.O_RDWR),
            lambda: folder.allow(Inner("x")),
        ):
            with pytest.raises(OSError, match="Not a regular file"):
                call()
    with pytest.raises(OSError, match="Not a regular file"):
        opening.no_wait(str(top / "x"), os.O_RDONLY)


@pytest.mark.parametrize(
    ("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o644), (0o027, 0o640)]
)
def test_modes_are_private_until_the_end_and_then_the_umasks(
    top: Path, mask: int, mode: int
) -> None:
    old = os.umask(mask)
    try:
        with opened(str(top)) as folder:
            folder.write(Inner("new"), b"x")
            assert stat.S_IMODE((top / "new").stat().st_mode) == 0o600
            folder.put(Inner("new"), Inner("final"))
        assert stat.S_IMODE((top / "final").stat().st_mode) == mode
        assert opening.umask() == mask
    finally:
        os.umask(old)


def test_temporary_names_are_not_known_beforehand_and_fit() -> None:
    names = {below.temporary("index.arrow", ".fastload-") for _ in range(100)}
    assert len(names) == 100
    assert all(
        name.startswith(".fastload-index.arrow.") and name.endswith(".new") for name in names
    )


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b"])
def test_a_users_name_is_one_name(name: str) -> None:
    with pytest.raises(ValueError, match="is no name directly in a folder"):
        below.own(name)


def test_an_error_leaves_the_old_content_and_nothing_else(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(str(top)) as folder:
        folder.replace(Inner("x"), b"old")
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            folder.replace(Inner("x"), b"new")
        assert folder.read(Inner("x")) == b"old"
        assert sorted(folder.names()) == ["a", "x"]


def test_no_descriptor_is_left_open(top: Path) -> None:
    with opened(str(top)) as folder:
        before = len(os.listdir("/proc/self/fd"))
        for number in range(50):
            folder.write(Inner(f"a/b/{number}"), b"x")
            assert folder.read(Inner(f"a/b/{number}")) == b"x"
            with pytest.raises(OSError):
                folder.read(Inner("a/nothing/x"))
        list(folder.files())
        assert len(os.listdir("/proc/self/fd")) == before


def test_while_folders_are_renamed_nothing_lands_elsewhere(top: Path) -> None:
    """A second thread replaces a folder by a link and back."""
    stop = threading.Event()

    def stranger() -> None:
        while not stop.is_set():
            os.rename(top / "a", top / "away")
            (top / "a").symlink_to(top.parent / "folder")
            (top / "a").unlink()
            os.rename(top / "away", top / "a")
            stop.wait(0.0005)

    (top.parent / "folder" / "b").mkdir()
    thread = threading.Thread(target=stranger)
    thread.start()
    made, end = 0, time.monotonic() + 60
    try:
        with opened(str(top)) as folder:
            for number in itertools.count():
                made += _tries(folder, Inner(f"a/b/{number}"))
                if number >= 2000 and (made or time.monotonic() > end):
                    break
    finally:
        stop.set()
        thread.join()
    assert os.listdir(top.parent / "folder" / "b") == []
    assert made > 0


def _tries(folder: Folder, name: Inner) -> bool:
    try:
        folder.write(name, b"mine", sync=False)
    except OSError:
        return False
    return True
