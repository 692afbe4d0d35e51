"""seek_index with a cache that is broken, locked, full, or cannot be made."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from fastload.sources import collect, seek, seek_merge
from tests.loader.seek_helpers import MERGED, cached, indexed, logs, make, same, ways


@pytest.mark.parametrize("which", MERGED)
def test_garbage_in_the_cache(folder, which):
    auto = make(folder)
    want = list(auto)
    list(auto)
    del auto
    where = Path(seek.cache_folder(folder))
    content = (where / which).read_bytes()
    rng = np.random.default_rng(1)
    for garbage in (b"", content[: len(content) // 2], rng.bytes(len(content)), rng.bytes(17)):
        (where / which).write_bytes(garbage)
        loader = make(folder)
        assert same(list(loader), want)
        list(loader)
        assert ways(loader)[0] >= 40
        del loader
        later = make(folder)
        assert same(list(later), want)
        del later
        content = (where / which).read_bytes()
    (where / "fastload.seek.1-2-3.log").write_bytes(rng.bytes(500))
    (where / "fastload.seek.1-2-4.log").mkdir()
    os.mkfifo(where / "fastload.seek.1-2-5.log")
    os.symlink(where / "fastload.seek", where / "fastload.seek.1-2-6.log")
    loader = make(folder)
    assert same(list(loader), want)


def test_a_cache_that_cannot_be_made(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    where = seek.cache_folder(folder)
    auto = make(folder)
    text = (
        f"{os.path.dirname(os.path.dirname(where))}: cannot be read (Not a directory); new "
        "seek indexes serve this run only; "
    )
    text += 'set XDG_CACHE_HOME to a folder that can be written, or pass seek_index="use"'
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as said:
        first = list(auto)
    assert len(said) == 1
    off = make(folder, "off")
    assert same(first, list(off))
    assert same(list(auto), list(off))
    assert ways(auto) == (40, 40, 0)
    assert auto.explain().splitlines()[-1] == "  seek index: 40 of 40 images"


def test_no_home(folder, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    auto = make(folder)
    with pytest.warns(
        UserWarning,
        match=r"^no cache folder \(HOME and XDG_CACHE_HOME are not set\); new seek indexes serve "
        r"this run only; set",
    ):
        list(auto)
    list(auto)
    assert ways(auto) == (40, 40, 0)
    assert not os.path.exists("~")
    assert (
        "others are collected in memory (no cache folder (HOME and XDG_CACHE_HOME are not set))"
        in make(folder).explain()
    )


def test_a_cache_with_an_odd_name(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    auto = make(folder)
    with pytest.warns(
        UserWarning,
        match=r"/\\xff/fastload/seek/[0-9a-f]{16}': is no text that can be shown; new seek indexes "
        r"serve this run only; ",
    ):
        list(auto)
    list(auto)
    assert ways(auto) == (40, 40, 0)


def test_without_pyarrow(folder, monkeypatch):
    monkeypatch.setattr(collect, "has_arrow", lambda: False)
    auto = make(folder)
    list(auto), list(auto)
    assert (ways(auto), cached(folder)) == ((40, 40, 0), [])
    assert (
        make(folder).explain().endswith("others are collected in memory (pyarrow is not installed)")
    )


def test_a_merge_that_fails_loses_nothing(folder, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    auto = make(folder)
    want = list(make(folder, "off"))
    with monkeypatch.context() as patch:
        patch.setattr(seek_merge, "_commit", full)
        assert same(list(auto), want)
        with pytest.warns(
            UserWarning,
            match=r": cannot be written \(No space left on device\); new seek indexes serve this "
            r"run only; ",
        ):
            list(auto)
    list(auto)
    assert ways(auto) == (80, 40, 0)
    assert len(logs(folder)) == 1
    del auto
    later = make(folder)
    assert same(list(later), want)
    assert (ways(later), cached(folder)) == ((40, 0, 0), MERGED)


def test_a_locked_cache_costs_no_epoch(folder, monkeypatch):
    monkeypatch.setattr(collect, "WAIT", 0.05)
    auto = make(folder)
    list(auto)
    with seek_merge.locked(seek.cache_folder(folder), 1) as held:
        assert held
        list(auto)
    assert ways(auto) == (40, 40, 0)
    assert indexed(folder) == 0
    list(auto)
    assert indexed(folder) == 40
