"""The user's cache is the user's: its modes, its owner, and what happens where somebody else was
there first.
"""

import os
import re
import stat
from pathlib import Path

import pytest

from fastload.files import cache

OTHER = 65534


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def as_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process sees itself as another user than the one whose files lie there."""
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)


def test_what_is_kept_is_private_and_comes_back(base: Path) -> None:
    file = cache.path("backends", "x.json")
    assert cache.keep(file, b"one")
    assert cache.keep(file, b"two")
    assert cache.recall(file, 100) == b"two"
    assert cache.recall(file, 2) == b"tw"
    assert [
        mode(path) for path in (base / "fastload", base / "fastload" / "backends", Path(file))
    ] == [0o700, 0o700, 0o600]
    with cache.appending(cache.path("bad_samples", "x.jsonl")) as listed:
        listed.write(b"line\n")
    assert mode(base / "fastload" / "bad_samples" / "x.jsonl") == 0o600


def test_a_cache_that_others_could_enter_is_closed(base: Path) -> None:
    folder = base / "fastload" / "seek" / "0"
    folder.mkdir(parents=True)
    for path in (folder, folder.parent, base / "fastload"):
        os.chmod(path, 0o777)
    assert cache.trouble(str(folder)) == ""
    assert [mode(path) for path in (folder, folder.parent, base / "fastload")] == [0o700] * 3


def test_another_users_cache_is_not_used_and_that_is_said(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cache.path("backends", "x.json")
    cache.keep(file, b"theirs")
    mine = os.geteuid()
    as_other(monkeypatch)
    text = f"{base}/fastload: belongs to user {mine} (want {OTHER})"
    assert cache.trouble(os.path.dirname(file)) == text
    said = (
        f"{text}; nothing is kept there or taken from there; set XDG_CACHE_HOME to a folder of "
        "your own"
    )
    with pytest.warns(UserWarning, match=re.escape(said)):
        assert not cache.keep(file, b"mine")
    with pytest.warns(UserWarning, match=re.escape(said)), pytest.raises(PermissionError):
        cache.recall(file, 100)
    assert Path(file).read_bytes() == b"theirs"


@pytest.mark.parametrize("level", ["fastload/seek", "fastload/seek/0"])
def test_a_link_within_the_cache_is_not_followed(base: Path, tmp_path: Path, level: str) -> None:
    (tmp_path / "else").mkdir()
    (base / level).parent.mkdir(parents=True)
    (base / level).symlink_to(tmp_path / "else")
    folder = str(base / "fastload" / "seek" / "0")
    assert cache.trouble(folder) == f"{base}/{level}: is a link (want a folder)"
    with pytest.raises(OSError):
        cache.make(folder)
    assert os.listdir(tmp_path / "else") == []


def test_the_whole_cache_may_lie_elsewhere(base: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    base.mkdir()
    (base / "fastload").symlink_to(tmp_path / "scratch")
    assert cache.keep(cache.path("backends", "x.json"), b"mine")
    assert (tmp_path / "scratch" / "backends" / "x.json").read_bytes() == b"mine"


@pytest.mark.skipif(os.getuid() != 0, reason="gives a file to another user, which needs root")
def test_a_file_of_another_user_in_it_spoils_a_folder(base: Path) -> None:
    folder = base / "fastload" / "seek" / "0"
    folder.mkdir(parents=True)
    (folder / "fastload.seek").write_bytes(b"theirs")
    os.chown(folder / "fastload.seek", OTHER, OTHER)
    assert cache.trouble(str(folder)) == f"{folder}/fastload.seek: belongs to another user"


def test_the_users_own_list_is_a_file(tmp_path: Path, base: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OSError, match="Not a regular file"),
        cache.appending(str(tmp_path / "pipe")),
    ):
        pass
    with cache.appending(str(tmp_path / "new" / "list.jsonl")) as listed:
        listed.write(b"x")
    assert (tmp_path / "new" / "list.jsonl").read_bytes() == b"x"
    assert not base.exists()
