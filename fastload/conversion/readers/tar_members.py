"""The regular files in a tar archive, and everything about it that is not allowed.

An archive may come from anywhere: what would leave it (absolute paths, "..", links, devices) is
refused, all of it at once.
"""

import io
import tarfile
from collections.abc import Mapping

from fastload.conversion.keys import readable
from fastload.conversion.readers.base import Guarded, is_pickled
from fastload.conversion.readers.spans import Span
from fastload.files import names as outer
from fastload.system import limits

TWICE = "is there twice; make the archive again with one name for each"
PAX_GLOBALS = 64  # attributes that hold for a whole archive


def members(raw: io.RawIOBase, number: int, length: int) -> tuple[list[Span], list[str]]:
    """The regular files in an archive, and everything about it that is not allowed.

    Raises DAMAGED, OSError.
    """
    with Guarded(raw, limits.TAR_HEADER) as file:
        return _members(file, number, length)


def _members(file: Guarded, number: int, length: int) -> tuple[list[Span], list[str]]:
    spans, problems, names = list[Span](), list[str](), set[str]()
    with tarfile.open(fileobj=file, mode="r:", errorlevel=0) as archive:
        while (member := archive.next()) is not None:
            # A million of them would fill the memory.
            archive.members.clear()  # type: ignore[attr-defined]
            file.again()
            _check_globals(archive.pax_headers)
            name = readable(member.name)
            if member.isdir():
                continue
            if text := _refused(member, name, length) or (TWICE if name in names else ""):
                problems.append(f"member {name!r} {text}")
                continue
            names.add(name)
            spans.append(Span(name.removeprefix("./"), number, member.offset_data, member.size))
        end = archive.offset
    file.seek(end)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        problems.append(f"is damaged or cut off at byte {end} of {length}; restore it")
    return spans, problems


def _check_globals(said: Mapping[str, str]) -> None:
    """Attributes for the whole archive are kept while it is read. Raises ValueError."""
    if len(said) > PAX_GLOBALS:
        raise ValueError(f"{len(said)} global attributes, want at most {PAX_GLOBALS}")
    if problem := limits.too_many(sum(map(len, said.values())), limits.TAR_HEADER):
        raise ValueError(f"global attributes are too large: {problem}")


def _refused(member: tarfile.TarInfo, name: str, length: int) -> str:
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
    if is_pickled(name):
        return "is pickled, and fastload never unpickles; write it as JSON, text or an image"
    if member.offset_data + member.size > length:
        return (
            f"is cut off (ends at byte {member.offset_data + member.size} of {length}); "
            "restore the archive"
        )
    return ""
