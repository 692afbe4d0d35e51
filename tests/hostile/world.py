"""A folder with things around a target that nobody may change, and a look at all of them before and
after.
"""

import contextlib
import hashlib
import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fastload.errors import FastloadError
from tests.conftest import encoded, textured

SECONDS = 60  # that one attack may take before it counts as hanging
UP = 4  # folders between the root and the target's folder


class Entry(NamedTuple):
    """What is seen of a file, folder or link."""

    mode: int
    size: int
    changed: int  # ns; 0 for folders that may change
    content: str  # checksum, or a link's text


class World:
    """ROOT/victim/… and files beside it; the target is ROOT/a/b/c/d/OUT, so that few `..` lead to
    the victims.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "a" / "b" / "c" / "d"
        self.work.mkdir(parents=True)
        self.source, self.out, self.cache = self.work / "src", self.work / "OUT", root / "cache"
        self.victim = root / "victim"
        for path in (
            root / ".bashrc",
            self.victim / "file",
            self.victim / "deep" / "file",
            root / "a" / "index.arrow",
            root / "x",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"do not touch " + path.name.encode())
        (self.victim / "empty").mkdir()

    def seen(self, *apart: Path) -> dict[str, Entry]:
        """All that lies below the root, but the user's cache and the folders `apart`, whose own
        entries do not count either.
        """
        left, found = {str(self.cache), *map(str, apart)}, dict[str, Entry]()
        pending = [str(self.root)]
        while pending:
            folder = pending.pop()
            for entry in os.scandir(folder):
                if entry.path in left:
                    continue
                facts = entry.stat(follow_symlinks=False)
                found[entry.path] = _entry(entry, facts)
                if stat.S_ISDIR(facts.st_mode):
                    pending.append(entry.path)
        return found

    @property
    def written(self) -> tuple[Path, ...]:
        """What a conversion may write."""
        return (
            self.out,
            self.work / f".fastload-{self.out.name}",
            self.work / f".fastload-{self.out.name}.beton",
            self.work / "OUT.beton",
        )


def _entry(entry: os.DirEntry[str], facts: os.stat_result) -> Entry:
    content = ""
    if stat.S_ISLNK(facts.st_mode):
        content = os.readlink(entry.path)
    elif stat.S_ISREG(facts.st_mode):
        content = hashlib.md5(Path(entry.path).read_bytes(), usedforsecurity=False).hexdigest()
    folder = stat.S_ISDIR(facts.st_mode)
    return Entry(
        facts.st_mode, 0 if folder else facts.st_size, 0 if folder else facts.st_mtime_ns, content
    )


def differences(before: dict[str, Entry], after: dict[str, Entry]) -> list[str]:
    return [
        f"{path}: {before.get(path, 'was not there')} became {after.get(path, 'gone')}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


@contextlib.contextmanager
def untouched(world: World, *apart: Path) -> Iterator[None]:
    """Nothing but what lies in `apart` changes inside the block. Raises AssertionError."""
    before = world.seen(*apart)
    yield
    if wrong := differences(before, world.seen(*apart)):
        raise AssertionError("\n".join(["changed:", *wrong]))


@contextlib.contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """Raise AssertionError if it takes longer: something waits for a pipe."""

    def late(*_: object) -> None:
        raise AssertionError(f"still running after {seconds} s")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def outcome(work: Callable[[], object]) -> str:
    """What came of it:

    `done`, or the name of a typed error of one line for each problem. Raises all else.
    """
    with in_time():
        try:
            work()
        except FastloadError as error:
            if not str(error).strip():
                raise AssertionError("an error without text") from error
            return type(error).__name__
    return "done"


def an_image(number: int = 0) -> bytes:
    return encoded(textured(5 + number % 3, 9, number))
