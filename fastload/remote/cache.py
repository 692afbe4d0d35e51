"""The cache on the local disk: one folder for all data sets, shared by all processes of a user.

lock        who makes, removes or counts entries has it
used        8 bytes: how many bytes of the disk all entries take, about
DIGEST/     one entry: see entry.py
"""

import errno
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fastload.errors import CacheError
from fastload.files import cache as own_cache
from fastload.remote.entry import ABOUT, CELLS, EACH, GROUPS, HEADER, Entry, header, write_at
from fastload.remote.layout import Layout, folders_of
from fastload.remote.locks import Locks
from fastload.remote.spare import Spare

DEFAULT_BYTES = 100 << 30
MARGIN = 256 << 20  # bytes of the disk that are left to others
COUNT_EVERY = 60.0  # s between two looks at what the files really take
SHARE = 64  # of the limit: what is dropped at once
MODE, FOLDER_MODE = 0o600, 0o700
NEW = ".new"


class Cache:
    """The folder; thread-safe. Used bytes stay below the limit but for what batches need now."""

    def __init__(self, folder: str | None, limit: int = DEFAULT_BYTES) -> None:
        """folder: of the user's choice; None: in the user's own cache. Raises CacheError."""
        self.limit, self._counted_at = limit, -COUNT_EVERY
        self.chosen = own_cache.path("remote") if folder is None else os.path.abspath(folder)
        try:
            self.root = _own_folder(folder)
            self._open()
        except OSError as error:
            raise CacheError(
                f"{self.chosen}: cannot be a cache ({error.strerror or error}); give another "
                "folder as cache="
            ) from error
        self._mutex = threading.Lock()

    def _open(self) -> None:
        os.makedirs(self.root, FOLDER_MODE, exist_ok=True)
        self._lock = Locks(_file(self.root, "lock"))
        self._used = Locks(_file(self.root, "used"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread or process makes, removes or counts meanwhile."""
        with self._mutex:
            if _other(os.path.join(self.root, "lock"), self._lock.descriptor):
                self._open()  # somebody has removed the folder
            self._lock.wait(0)
            try:
                yield
            finally:
                self._lock.drop(0)

    def entry(self, digest: str, url: str, layout: Layout, small: Mapping[str, bytes]) -> Entry:
        """The entry of a data set, made where it is not there or not whole.

        small: files that lie there complete from the beginning. Raises CacheError.
        """
        folder = os.path.join(self.root, digest)
        try:
            with self._alone():
                self._tidy()
                if os.path.lexists(folder) and not _whole(folder, layout, small):
                    self._remove(folder)
                if not os.path.lexists(folder):
                    self._make(folder, url, layout, small)
                return Entry(folder, layout)
        except OSError as error:
            raise self.error(error) from error

    def _make(self, folder: str, url: str, layout: Layout, small: Mapping[str, bytes]) -> None:
        new = f"{folder}.{secrets.token_hex(8)}{NEW}"
        os.mkdir(new, FOLDER_MODE)
        names = [*layout.paths, *small]
        for below in folders_of(names):
            os.mkdir(os.path.join(new, below), FOLDER_MODE)
        for name, size in zip(layout.paths, layout.sizes.tolist(), strict=True):
            file = _file(new, name)
            os.ftruncate(file, size)
            os.close(file)
        about = {"url": url, "names": names, "bytes": layout.bytes}
        groups = header() + layout.table().tobytes()
        contents = {**small, ABOUT: json.dumps(about).encode(), GROUPS: groups}
        for name, content in contents.items():
            file = _file(new, name)
            write_at(file, content, 0)
            os.close(file)
        file = _file(new, CELLS)
        # It is mapped: a page that finds no room later would end the process
        os.posix_fallocate(file, 0, HEADER + layout.cells)
        write_at(file, header(), 0)
        os.close(file)
        os.rename(new, folder)

    def reserve(self, size: int, *, needed: bool) -> bool:
        """Whether so many bytes may be written; others are dropped for them.

        needed: a batch waits for them, so they may go beyond the limit, but not the disk's.
        Raises CacheError where the disk is full.
        """
        try:
            with self._alone():
                used = self._count()
                most = min(self.limit, used + self._free() - MARGIN)
                if used + size > most:
                    used -= self._drop(max(used + size - most, self.limit // SHARE))
                    most = min(self.limit, used + self._free() - MARGIN)
                fits = used + size <= most
                if fits or (needed and self._free() > size):
                    os.pwrite(self._used.descriptor, (used + size).to_bytes(8, "little"), 0)
                    return True
                os.pwrite(self._used.descriptor, max(0, used).to_bytes(8, "little"), 0)
        except OSError as error:
            raise self.error(error) from error
        if needed:
            raise self.error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return False

    def unused(self, size: int) -> None:
        """Bytes that were reserved, and not written."""
        with self._alone():
            used = int.from_bytes(os.pread(self._used.descriptor, 8, 0), "little")
            os.pwrite(self._used.descriptor, max(0, used - size).to_bytes(8, "little"), 0)

    def _count(self) -> int:
        """Bytes in use; now and then the files are looked at, since processes may be killed."""
        if time.monotonic() - self._counted_at < COUNT_EVERY:
            return int.from_bytes(os.pread(self._used.descriptor, 8, 0), "little")
        self._counted_at = time.monotonic()
        return sum(_blocks(folder) for folder in self._folders())

    def _free(self) -> int:
        facts = os.statvfs(self.root)
        return facts.f_bavail * facts.f_frsize

    def _folders(self) -> list[str]:
        try:
            return [entry.path for entry in os.scandir(self.root) if entry.is_dir()]
        except OSError:
            return []

    def _drop(self, size: int) -> int:
        """Drop so many bytes of what can be spared; how many it were."""
        spares, freed = [], 0
        for folder in self._folders():
            try:
                spares.append(Spare(folder))
            except (OSError, ValueError, KeyError):
                continue
        try:
            # What is idle first, the longest unused before others
            spares.sort(key=lambda spare: (not spare.idle(), spare.used_at()))
            for spare in spares:
                groups, records = spare.present()
                for group in groups:
                    if freed >= size:
                        return freed
                    freed += spare.drop(group, records[group])
        finally:
            for spare in spares:
                spare.close()
        return freed

    def _tidy(self) -> None:
        """Remove what was never finished, by whoever was killed; with the lock, nobody makes it."""
        for folder in self._folders():
            if folder.endswith(NEW):
                self._remove(folder)

    def _remove(self, folder: str) -> None:
        """An entry that is not whole. Raises CacheError where somebody has it open."""
        try:
            spare = Spare(folder)
        except (OSError, ValueError, KeyError) as error:
            if not folder.endswith(NEW):
                raise CacheError(f"{folder}: is damaged; remove it") from error
            _remove_unfinished(folder)
            return
        try:
            if not spare.idle():
                raise CacheError(
                    f"{folder}: is damaged, and in use; end the programs that use it, and remove it"
                )
            spare.remove()
        finally:
            spare.close()

    def error(self, error: OSError) -> CacheError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return CacheError(
                f"{self.root}: has no room for what a batch needs (the disk is full); free some, "
                "or give another folder as cache="
            )
        return CacheError(
            f"{self.root}: cannot be written ({error.strerror or error}); give another folder as "
            "cache="
        )


def _own_folder(folder: str | None) -> str:
    """The cache's folder, which is the user's alone. Raises OSError."""
    if folder is None:
        root = own_cache.path("remote")
        if wrong := own_cache.trouble(root):
            raise OSError(errno.EPERM, wrong)
        own_cache.make(root).close()
        return root
    os.makedirs(folder, exist_ok=True)
    root = os.path.join(os.path.abspath(folder), f"fastload-{os.geteuid()}")
    try:
        os.mkdir(root, FOLDER_MODE)
    except FileExistsError:
        facts = os.lstat(root)
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid():
            raise OSError(errno.EPERM, f"{root} is no folder of this user's") from None
    return root


def _file(folder: str, name: str) -> int:
    """A file of ours, made where it is not there."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(os.path.join(folder, name), flags, MODE)


def _other(path: str, descriptor: int) -> bool:
    """Whether the file there is not the one that is open."""
    try:
        return not os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return True


def _whole(folder: str, layout: Layout, small: Mapping[str, bytes]) -> bool:
    """Whether all files of an entry are there, in their sizes."""
    sizes = dict(zip(layout.paths, layout.sizes.tolist(), strict=True))
    sizes |= {name: len(content) for name, content in small.items()}
    sizes |= {CELLS: HEADER + layout.cells, GROUPS: HEADER + EACH * layout.groups}
    try:
        return all(
            os.stat(os.path.join(folder, name), follow_symlinks=False).st_size == size
            for name, size in sizes.items()
        )
    except OSError:
        return False


def _blocks(folder: str) -> int:
    """Bytes of the disk that all files below a folder take."""
    return sum(
        512 * os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_blocks
        for _, _, names, descriptor in os.fwalk(folder)
        for name in names
    )


def _remove_unfinished(folder: str) -> None:
    """What the cache began to make: nothing of others lies in it."""
    for _, folders, names, descriptor in os.fwalk(folder, topdown=False):
        for name in names:
            os.unlink(name, dir_fd=descriptor)
        for name in folders:
            os.rmdir(name, dir_fd=descriptor)
    os.rmdir(folder)
