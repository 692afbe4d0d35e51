"""The regular files in a tar archive, and everything about it that is not allowed.

Only headers are read. An archive may come from anywhere: what would leave it (absolute paths, "..",
links, devices) is refused, all of it at once.
"""

import io
import tarfile
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from fastload.files import names as outer
from fastload.files.guarded import Guarded
from fastload.files.names import is_apple_double, is_pickled, readable
from fastload.system import limits

TWICE = "is there twice; make the archive again with one name for each"
PAX_GLOBALS = 64  # attributes that hold for a whole archive
# What the standard library raises on an archive that is none; IndexError: a cut off sparse map
DAMAGED = (tarfile.TarError, EOFError, ValueError, OverflowError, IndexError)


class Files(Protocol):
    """Files that are read at any offset."""

    def read(self, file: int, offset: int, size: int) -> bytes: ...


class Span(NamedTuple):
    """A file within a file."""

    name: str
    file: int
    offset: int
    size: int


class Walk:
    """One archive, member by member.

    With `pickled`, pickled files are listed as others are: for who never opens them.
    """

    def __init__(self, number: int, length: int, *, pickled: bool = False) -> None:
        self.number, self.length, self.pickled = number, length, pickled
        self.spans, self.problems, self.names = list[Span](), list[str](), set[str]()
        self.at = 0  # byte of the header that is read

    def over(self, raw: io.RawIOBase) -> None:
        """All headers. Raises OSError."""
        try:
            with Guarded(raw, limits.TAR_HEADER) as file:
                self._over(file)
        except RecursionError:
            self._damaged("one member has thousands of headers")
        except DAMAGED as error:
            self._damaged(" ".join(str(error).split()))

    def _over(self, file: Guarded) -> None:
        with tarfile.open(fileobj=file, mode="r:", errorlevel=0) as archive:
            while (member := archive.next()) is not None:
                # A million of them would fill the memory.
                archive.members.clear()  # type: ignore[attr-defined]
                # A negative size leads back to a header that was read, for ever.
                if member.size < 0 or archive.offset <= self.at:
                    raise ValueError(f"a member of {member.size} bytes")
                self.at = archive.offset
                file.again()
                _check_globals(archive.pax_headers)
                if not member.isdir():
                    self._take(member, readable(member.name))
            end = archive.offset
        file.seek(end)
        if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            self.problems.append(
                f"is damaged or cut off at byte {end} of {self.length}; restore it"
            )

    def _take(self, member: tarfile.TarInfo, name: str) -> None:
        inner = name.removeprefix("./")  # ".//etc" is absolute without it
        if text := self._refused(member, inner) or (TWICE if inner in self.names else ""):
            self.problems.append(f"member {name!r} {text}")
            return
        self.names.add(inner)
        if not is_apple_double(name):
            self.spans.append(Span(inner, self.number, member.offset_data, member.size))

    def _damaged(self, why: str) -> None:
        """What cannot be gone over to its end has no members."""
        self.spans = []
        self.problems = [
            f"is no tar archive, or damaged at byte {self.at} of {self.length} ({why}); restore it"
        ]

    def _refused(self, member: tarfile.TarInfo, name: str) -> str:
        """Why this member is not taken, or nothing."""
        if wrong := outer.outside(name):
            return (
                f"{wrong}; make the archive again "
                f"{'with relative ones' if name.startswith('/') else 'without'}"
            )
        if member.issym() or member.islnk():
            return (
                f"is a link to {readable(member.linkname)!r}; make the archive again with files "
                "(tar --dereference --hard-dereference)"
            )
        if not member.isreg() or member.issparse():
            return "is no regular file; make the archive again without"
        if is_pickled(name) and not self.pickled:
            return "is pickled, and fastload never unpickles; write it as JSON, text or an image"
        if member.offset_data + member.size > self.length:
            return (
                f"is cut off (ends at byte {member.offset_data + member.size} of {self.length}); "
                "restore the archive"
            )
        return ""


def members(raw: io.RawIOBase, number: int, length: int) -> tuple[list[Span], list[str]]:
    """The regular files in an archive, and everything about it that is not allowed.

    Raises OSError.
    """
    walk = Walk(number, length)
    walk.over(raw)
    return walk.spans, walk.problems


def _check_globals(said: Mapping[str, str]) -> None:
    """Attributes for the whole archive are kept while it is read. Raises ValueError."""
    if len(said) > PAX_GLOBALS:
        raise ValueError(f"{len(said)} global attributes, want at most {PAX_GLOBALS}")
    if problem := limits.too_many(sum(map(len, said.values())), limits.TAR_HEADER):
        raise ValueError(f"global attributes are too large: {problem}")
