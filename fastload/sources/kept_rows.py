"""Files of rows in the user's cache, or in memory where nothing can be kept there."""

import contextlib
import os
import struct
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fastload.errors import SourceError
from fastload.files import cache
from fastload.files.below import Folder
from fastload.files.names import Inner
from fastload.files.opening import write_all
from fastload.sources import arrow
from fastload.sources.row_blocks import fill
from fastload.sources.row_file import Rows
from fastload.sources.row_writer import Writer
from fastload.spec import Json


class DamagedRowsError(SourceError):
    """Such a file is damaged. It was removed, so opening the data set makes it anew."""


class KeptRows(Rows):
    """Such an open file.

    Args:
        where: Its path in the cache.
        file: Its descriptor.
        kept: Whether it lies there; else it is in memory only.

    Raises ValueError, and others of arrow.PARSE_ERRORS, for what no fastload wrote.
    """

    def __init__(self, where: str, file: int, *, kept: bool) -> None:
        super().__init__(where, file)
        self.kept = kept

    def __reduce__(self) -> tuple[Any, ...]:
        if self.kept:
            return reopened, (type(self), self.where, self.checksum)
        content = bytearray(os.fstat(self.file).st_size)
        fill(self.file, 0, memoryview(content))
        return in_a_copy, (type(self), self.where, bytes(content))

    def damaged(self, at: int, what: str) -> SourceError:
        if self.kept:
            cache.forget(self.where, self.file)
        return DamagedRowsError(
            f"{self.where}: is damaged ({what}, at byte {at}), and was removed; open the data set "
            "again, which makes it anew"
        )


Kept = TypeVar("Kept", bound=KeptRows)
Result = TypeVar("Result")


def repaired(make: Callable[[], Result]) -> Result:
    """What `make` gives. Once more, where it came upon a damaged file: that was removed then."""
    try:
        return make()
    except DamagedRowsError:
        return make()


def recall(kind: type[Kept], file: str) -> Kept | None:
    """What lies in the cache; None where that is not to be trusted."""
    try:
        return kind(file, cache.recalled(file), kept=True)
    except (OSError, struct.error, RecursionError, *arrow.PARSE_ERRORS):
        return None


def reopened(kind: type[Kept], file: str, checksum: int) -> Kept:
    """The same in another process. Raises SourceError."""
    found = recall(kind, file)
    if found is None or found.checksum != checksum:
        raise SourceError(f"{file}: was replaced while in use; open the data set again")
    return found


def in_a_copy(kind: type[Kept], where: str, content: bytes) -> Kept:
    """The same of one that lies nowhere."""
    return kind(where, in_memory(content), kept=False)


def in_memory(content: bytes = b"") -> int:
    """The descriptor of a file that has no name, where the system has such in memory. Raises
    OSError.
    """
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("fastload-rows", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as nameless:
            file = os.dup(nameless.fileno())
    write_all(file, content)
    return file


class KeptWriter:
    """Writes such a file.

    Args:
        index: Its path in the cache; nothing: it is wanted in memory only.
        columns: Their names.
    """

    def __init__(self, index: str, columns: Sequence[str]) -> None:
        self.index = index
        self.folder: Folder | None = None
        with contextlib.suppress(OSError):
            if index:  # a new file with a name that nobody knows
                self.folder, self.new, self.file = cache.begun(index)
        if self.folder is None:
            self.file = in_memory()
        self.named = False  # whether it has its name in the cache
        self.writer = Writer(self.file, columns)

    def write(self, write: Callable[[], None]) -> None:
        """Do so with `writer`; in memory, where the cache has no room any more. Raises OSError."""
        try:
            write()
        except OSError:
            if self.folder is None:
                raise
            self._leave()
            write()

    def finish(self, told: Json) -> None:
        """All parts are there, in their order. told: as `Writer.finish` has it. Raises OSError."""
        self.write(lambda: self.writer.finish(told, range(len(self.writer.table))))
        self.name()

    def name(self) -> bool:
        """Give what was finished its name; whether it lies in the cache."""
        if self.folder is not None and not self.named:
            try:
                self.folder.rename(self.new, Inner(os.path.basename(self.index)))
                self.named = True
            except OSError:
                self._leave()
        return self.folder is not None

    def opened(self, kind: type[Kept], where: str = "") -> Kept:
        """All of it, after `name`. where: its path, for messages, where it has none."""
        return kind(self.index or where, os.dup(self.file), kept=self.folder is not None)

    def close(self) -> None:
        """What has no name yet is removed."""
        os.close(self.file)
        if self.folder is not None:
            if not self.named:
                self._remove()
            self.folder.close()

    def _leave(self) -> None:
        """Go on in memory."""
        assert self.folder is not None
        file = in_memory()
        self.writer.into(file)
        os.close(self.file)
        self.file = file
        if not self.named:
            self._remove()
        self.folder.close()
        self.folder = None

    def _remove(self) -> None:
        assert self.folder is not None
        with contextlib.suppress(OSError):
            self.folder.remove(self.new)
