"""A folder by its descriptor. What is created, renamed and removed below it passes no link and
never leaves it.

The user's own path to the folder is followed as the system does. Below it every name is an `Inner`,
folders are opened by openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), step by step where the kernel
has no such call, and files are always new (O_EXCL).
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple

from fastload.files.names import Inner
from fastload.files.opening import umask, write_all
from fastload.files.steps import CLOSED, DIRECTORY, NO_LINK, open_folder

NO_MODES = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # of a file system without them
PRIVATE, PLAIN = 0o600, 0o644  # modes: of what is not committed; of what is, less the umask
NEW = os.O_CREAT | os.O_EXCL | NO_LINK | CLOSED


class DirEntry(NamedTuple):
    """Where a file lies or goes."""

    folder: "Folder"
    name: Inner

    @property
    def path(self) -> str:
        return self.folder.at(self.name)


class Folder:
    """An open folder.

    `path` is for messages and for readers; every OSError is as the system says it.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self.descriptor, self.path = descriptor, path

    def __enter__(self) -> "Folder":  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def at(self, name: str) -> str:
        """The path of a file in it."""
        return os.path.join(self.path, name)

    def folder(self, name: Inner, *, make: bool = False, mode: int = 0o777) -> "Folder":
        """A folder below it. make: create those that are missing, with `mode`, less the umask."""
        try:
            return Folder(open_folder(self.descriptor, name), self.at(name))
        except FileNotFoundError:
            if not make:
                raise
        parent, _, last = name.rpartition("/")
        with (
            self._parent(parent, make=True, mode=mode) as above,
            contextlib.suppress(FileExistsError),
        ):
            os.mkdir(last, mode, dir_fd=above.descriptor)
        return Folder(open_folder(self.descriptor, name), self.at(name))

    def _parent(self, parent: str, *, make: bool, mode: int = 0o777) -> "Folder":
        return (
            self.folder(Inner(parent), make=make, mode=mode)
            if parent
            else Folder(os.dup(self.descriptor), self.path)
        )

    def create(self, name: Inner, mode: int = PRIVATE, flags: int = os.O_WRONLY) -> int:
        """The descriptor of a new file; its folder is there.

        Raises FileExistsError for anything of that name, links too.
        """
        parent, _, last = name.rpartition("/")
        if not parent:
            return os.open(last, flags | NEW, mode, dir_fd=self.descriptor)
        with self._parent(parent, make=False) as above:
            return os.open(last, flags | NEW, mode, dir_fd=above.descriptor)

    def open(self, name: Inner, flags: int = os.O_RDONLY, *, alone: bool = True) -> int:
        """The descriptor of a file that lies there: no link and no pipe; to write to it, if
        `alone`, no second name of another file.
        """
        parent, _, last = name.rpartition("/")
        with self._parent(parent, make=False) as above:
            file = os.open(
                last, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above.descriptor
            )
        try:
            facts = os.fstat(file)
            if not stat.S_ISREG(facts.st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", self.at(name))
            if alone and flags & (os.O_WRONLY | os.O_RDWR) and facts.st_nlink > 1:
                raise OSError(errno.EPERM, "Has a second name", self.at(name))
        except BaseException:
            os.close(file)
            raise
        return file

    def read(self, name: Inner) -> bytes:
        with os.fdopen(self.open(name), "rb") as file:
            return file.read()

    def write(
        self, name: Inner, content: bytes | memoryview, mode: int = PRIVATE, *, sync: bool = True
    ) -> None:
        """A new file with this content, with `sync` on disk when this returns."""
        file = self.create(name, mode)
        try:
            write_all(file, content)
            if sync:
                os.fsync(file)
        finally:
            os.close(file)

    def replace(
        self,
        name: Inner,
        content: bytes | memoryview,
        mode: int = PLAIN,
        *,
        prefix: str = ".",
        sync: bool = True,
    ) -> None:
        """The content in the place of whatever has this name, at once; on an error the old one
        stays. prefix: of the temporary name.
        """
        new = temporary(name, prefix)
        try:
            self.write(new, content, sync=sync)
            self.put(new, name, mode)
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove(new)
            raise

    def put(self, new: Inner, final: Inner, mode: int = PLAIN) -> None:
        """Rename a file that was written here to its final name, with its final mode.

        A link in the final name's place is replaced.
        """
        self.allow(new, mode)
        self.rename(new, final)

    def allow(self, name: Inner, mode: int = PLAIN) -> None:
        """Give a file that was written here its final mode, less the umask; some file systems have
        none.
        """
        file = self.open(name)
        try:
            if os.fstat(file).st_nlink > 1:
                raise OSError(errno.EPERM, "Has a second name", self.at(name))
            try:
                os.fchmod(file, mode & ~umask())
            except OSError as error:
                if error.errno not in NO_MODES:
                    raise
        finally:
            os.close(file)

    def rename(self, old: Inner, new: Inner, to: "Folder | None" = None) -> None:
        """Of names directly in it; to: another folder.

        What has the new name is replaced, a link itself.
        """
        there = self.descriptor if to is None else to.descriptor
        os.rename(_single(old), _single(new), src_dir_fd=self.descriptor, dst_dir_fd=there)

    def remove(self, name: Inner) -> None:
        """A file, link or pipe, not what a link leads to."""
        parent, _, last = name.rpartition("/")
        with self._parent(parent, make=False) as above:
            os.unlink(last, dir_fd=above.descriptor)

    def remove_tree(self, name: Inner) -> None:
        """Whatever has this name directly in it, with all that lies below; links are removed, not
        followed.
        """
        if not self.is_folder(_single(name)):
            os.unlink(name, dir_fd=self.descriptor)
            return
        with self.folder(name) as folder:
            folder.clear()
        os.rmdir(name, dir_fd=self.descriptor)

    def clear(self) -> None:
        """Remove everything in it."""
        for name in self.names():
            self.remove_tree(name)

    def names(self) -> list[Inner]:
        """What lies directly in it."""
        return [own(name) for name in os.listdir(self.descriptor)]

    def has(self, name: Inner) -> bool:
        """Whether anything has this name, a link that leads nowhere too."""
        return self.facts(name) is not None

    def size(self, name: Inner) -> int:
        """Bytes of what has this name; 0 for nothing."""
        facts = self.facts(name)
        return facts.st_size if facts else 0

    def is_plain(self, name: Inner) -> bool:
        """Whether a file of its own has this name: no link, and no second name of another file."""
        facts = self.facts(name)
        return facts is not None and stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1

    def is_folder(self, name: Inner) -> bool:
        """Whether a folder has this name; a link to one is none."""
        facts = self.facts(name)
        return facts is not None and stat.S_ISDIR(facts.st_mode)

    def facts(self, name: Inner) -> os.stat_result | None:
        parent, _, last = name.rpartition("/")
        try:
            with self._parent(parent, make=False) as above:
                return os.lstat(last, dir_fd=above.descriptor)
        except FileNotFoundError:
            return None

    def files(self) -> Iterator[tuple["Folder", str, list[Inner]]]:
        """Each folder in it and below, the last ones first: open until the next, its path below
        this one and a slash, its files.
        """
        for parent, folders, names, descriptor in os.fwalk(
            ".", topdown=False, follow_symlinks=False, dir_fd=self.descriptor
        ):
            below = Folder(descriptor, os.path.normpath(self.at(parent)))
            path = parent.removeprefix(".").removeprefix("/")
            links = [
                name for name in folders if stat.S_ISLNK(os.lstat(name, dir_fd=descriptor).st_mode)
            ]
            yield below, path and f"{path}/", [own(name) for name in (*names, *links)]

    def sync(self) -> None:
        """Names in it are on disk when this returns."""
        os.fsync(self.descriptor)


def temporary(name: str, prefix: str = ".") -> Inner:
    """A name that nobody can guess, for what becomes `name` in the same folder."""
    return Inner(f"{prefix}{name.removeprefix(prefix)}.{secrets.token_hex(8)}.new")


def own(name: str) -> Inner:
    """A name directly in a folder that the user gave, or that the system lists: a control character
    in it does no harm.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r}: is no name directly in a folder")
    return str.__new__(Inner, name)


def _single(name: Inner) -> Inner:
    if "/" in name:
        raise ValueError(f"{name}: is no name directly in a folder")
    return name


def opened(path: str) -> Folder:
    """The folder at the user's own path. Raises OSError."""
    return Folder(os.open(path or ".", DIRECTORY), path)


def replace_file(path: str, content: bytes) -> None:
    """A file at the user's own path, whole or not at all. Raises OSError."""
    with opened(os.path.dirname(path)) as folder:
        folder.replace(own(os.path.basename(path)), content, 0o666)
