"""The user's cache: `$XDG_CACHE_HOME/fastload`, else `~/.cache/fastload`. Nobody else reads it or
writes to it.

A file that another user put there is never used: no seek index, measurement or list of somebody
else decides anything here.
"""

import contextlib
import errno
import os
import stat
import warnings
from collections.abc import Iterator
from typing import IO

from fastload.files.below import PRIVATE, Folder, opened, temporary
from fastload.files.names import Inner
from fastload.files.opening import no_wait

OURS = "fastload"
MODE = 0o700


def base() -> str:
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


@contextlib.contextmanager
def nowhere() -> Iterator[None]:
    """Meanwhile there is no cache: nothing is taken from it, and nothing can be written there."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = os.devnull
    try:
        yield
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


def path(*parts: str) -> str:
    """Where something of ours lies."""
    return os.path.join(base(), OURS, *parts)


def trouble(folder: str, top: str = "") -> str:
    """Why the folder of the cache is not to be used, or nothing.

    It need not be there yet; what others may enter is closed to them. top: `path()` of another
    process, whose folder it is.
    """
    try:
        return _strange(folder, top)
    except OSError as error:
        return f"{top or path()}: cannot be read ({error.strerror})"


def _strange(folder: str, top: str = "") -> str:
    """What is not the user's own in the folder of the cache, or nothing. Raises OSError."""
    top = top or path()
    if not inside(os.path.join(folder, "x"), top):
        return ""
    inner = os.path.relpath(folder, top)
    at = top
    for part in ("", *(() if inner == "." else inner.split(os.sep))):
        at = os.path.join(at, part) if part else at
        try:
            if wrong := _wrong(at, top):
                return f"{at}: {wrong}"
        except FileNotFoundError:
            return ""
    return _foreign(folder)


def make(folder: str, top: str = "") -> Folder:
    """The folder of the cache, open. top: as in `trouble`. Raises OSError."""
    top = top or path()
    os.makedirs(os.path.dirname(top), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(top, MODE)
    with opened(top) as held:
        return held.folder(Inner(os.path.relpath(folder, top)), make=True, mode=MODE)


@contextlib.contextmanager
def appending(file: str) -> Iterator[IO[bytes]]:
    """A list, to be read and added to: the user's own path, or one in the cache. Raises OSError."""
    folder, name = os.path.split(file)
    if not inside(file):
        os.makedirs(folder or ".", exist_ok=True)
        with open(file, "a+b", opener=no_wait) as plain:
            yield plain
        return
    if wrong := trouble(folder):
        raise OSError(errno.EPERM, wrong)
    with make(folder) as held:
        flags = os.O_RDWR | os.O_APPEND
        with contextlib.suppress(FileExistsError):
            os.close(held.create(Inner(name)))
        with os.fdopen(held.open(Inner(name), flags), "a+b") as own:
            yield own


def keep(file: str, content: bytes) -> bool:
    """Put a small file into the cache, whole or not at all; whether that went well."""
    folder, name = os.path.split(file)
    try:
        if said(_strange(folder)):
            return False
        with make(folder) as held:
            held.replace(Inner(name), content, PRIVATE, sync=False)
    except OSError:
        return False
    return True


def begun(file: str) -> tuple[Folder, Inner, int]:
    """A new file that is to get this name in the cache by `Folder.rename`: its open folder, its
    name now, and its descriptor.

    Raises OSError, also where the cache is not to be used.
    """
    folder, name = os.path.split(file)
    if wrong := said(_strange(folder)):
        raise OSError(errno.EPERM, wrong)
    held = make(folder)
    try:
        new = temporary(name)
        return held, new, held.create(new, PRIVATE, os.O_RDWR)
    except BaseException:
        held.close()
        raise


def recalled(file: str) -> int:
    """The descriptor of a file in the cache. Raises OSError, also where it is not to be trusted."""
    folder, name = os.path.split(file)
    with opened(folder) as held:
        if wrong := said(_strange(folder)):
            raise OSError(errno.EPERM, wrong)
        return held.open(Inner(name))


def recall(file: str, most: int) -> bytes:
    """Up to `most` bytes of a file in the cache.

    Raises OSError, also where it is not to be trusted.
    """
    with os.fdopen(recalled(file), "rb") as whole:
        return whole.read(most)


def forget(file: str, descriptor: int) -> None:
    """Remove a file that this process has open, unless another one has its name by now."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.lstat(file), os.fstat(descriptor)):
            os.unlink(file)


def said(wrong: str) -> str:
    """The same text, after a warning."""
    if wrong:
        warnings.warn(
            f"{wrong}; nothing is kept there or taken from there; set XDG_CACHE_HOME to a folder "
            "of your own",
            stacklevel=4,
        )
    return wrong


def inside(file: str, top: str = "") -> bool:
    """Whether a path lies in the cache."""
    return os.path.abspath(file).startswith(os.path.join(os.path.abspath(top or path()), ""))


def user() -> int:
    """The number of whoever runs this process."""
    return os.geteuid() if hasattr(os, "geteuid") else 0  # whom Windows says all files are of


def _wrong(at: str, top: str) -> str:
    """Why a folder of ours is none, or nothing.

    Only the whole cache may be a link, of the user's own, to a folder of the user's own.
    """
    mine, link = user(), os.lstat(at)
    if stat.S_ISLNK(link.st_mode) and at != top:
        return "is a link (want a folder)"
    facts = os.stat(at)
    for owner in (link.st_uid, facts.st_uid):
        if owner != mine:
            return f"belongs to user {owner} (want {mine})"
    if not stat.S_ISDIR(facts.st_mode):
        return "is no folder"
    if stat.S_IMODE(facts.st_mode) & 0o077:
        with contextlib.suppress(OSError):
            os.chmod(at, MODE)
    return ""


def _foreign(folder: str) -> str:
    """What another user put into a folder that was open to them once, or nothing."""
    mine = user()
    with os.scandir(folder) as entries:
        other = next(
            (entry.name for entry in entries if entry.stat(follow_symlinks=False).st_uid != mine),
            None,
        )
    return "" if other is None else f"{os.path.join(folder, other)}: belongs to another user"
