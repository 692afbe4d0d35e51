"""A zip archive of a folder of classes."""

import io
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload import _native
from fastload.conversion.keys import unique_keys
from fastload.conversion.readers.base import (
    Choice,
    Listing,
    stamp_of,
    told,
)  # fmt: skip
from fastload.conversion.readers.unpacking import unpacked
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError, listed
from fastload.files.guarded import Guarded
from fastload.files.names import is_apple_double, is_pickled, outside, readable
from fastload.sources import labels as labelling
from fastload.sources.folder import EXTENSIONS
from fastload.system import limits

# What zipfile raises of a damaged member, and (a RuntimeError) of a compression or a version that
# it does not know. Each becomes a BadSampleError with the member's name.
ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
)
LINK = 0xA000  # of the mode, S_IFLNK


@dataclass(frozen=True, eq=False)
class ZipReader(Listing):
    """Members of one archive."""

    members: Sequence[zipfile.ZipInfo]
    files: _native.Files
    length: int  # bytes of the archive

    def read(self, sample: int) -> bytes:
        try:
            with told("restore the archive"):
                return unpacked(self.files, self.length, self.members[sample])
        except ERRORS as error:
            raise BadSampleError(
                f"cannot be unpacked ({' '.join(str(error).split())}); restore the archive"
            ) from error


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> ZipReader:
    """The images of an archive, sorted by name. Raises SourceError with every problem."""
    status, infos = _directory(where)
    _check(where, infos)
    images = sorted(
        (
            info
            for info in infos
            if info.filename.lower().endswith(EXTENSIONS) and not is_apple_double(info.filename)
        ),
        key=lambda info: info.filename,
    )
    if not images:
        raise SourceError(
            f"{where}: no images (got {len(infos)} other files); give another archive"
        )
    paths = [readable(info.filename) for info in images]
    lacking = choice.optional and not any("/" in path for path in paths)
    labels, classes, below = (
        labelling.of_folders(where, paths)
        if choice.labelled and not lacking
        else (*labelling.none(len(paths)), paths)
    )
    sizes = np.array([info.file_size for info in images], np.int64)
    stamp, files = (
        stamp_of([status.st_size, status.st_mtime_ns]),
        _native.Files([where], keep_open=True),
    )
    return ZipReader(
        where, unique_keys(below), sizes, labels, classes, stamp, images, files, status.st_size
    )


def _directory(where: str) -> tuple[os.stat_result, list[zipfile.ZipInfo]]:
    """The archive's facts, and its members but folders. Raises SourceError."""
    try:
        status = os.stat(where)
        with (
            Guarded(io.FileIO(where), limits.ZIP_DIRECTORY) as file,
            zipfile.ZipFile(file) as archive,
        ):
            # is_dir fails for a member without a name
            return status, [info for info in archive.infolist() if not info.filename.endswith("/")]
    except OSError as error:
        raise SourceError(
            f"{where}: cannot be read ({error.strerror or error}); make it readable"
        ) from error
    except ERRORS as error:
        raise SourceError(
            f"{where}: is no zip archive, or damaged ({' '.join(str(error).split())}); restore it"
        ) from error


def _check(where: str, infos: Sequence[zipfile.ZipInfo]) -> None:
    """Raise SourceError with every member that is not taken."""
    problems, names = list[str](), set[str]()
    for info in infos:
        if text := _refused(info, names):
            problems.append(f"{where}: member {readable(info.filename)!r} {text}")
        names.add(info.filename)
    if problems:
        raise SourceError(listed(problems))


def _refused(info: zipfile.ZipInfo, names: set[str]) -> str:
    """Why this member is not taken, or nothing."""
    name = info.filename
    if not name:
        return "has no name; make the archive again"
    if wrong := outside(name):
        return (
            f"{wrong}; make the archive again "
            f"{'with relative ones' if name.startswith('/') else 'without'}"
        )
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) == LINK:
        return "is a link; make the archive again with files"
    if info.flag_bits & 1:
        return "is encrypted; make the archive again without a password"
    if is_pickled(name):
        return "is pickled, and fastload never unpickles; write it as JSON, text or an image"
    return "is there twice; make the archive again with one name for each" if name in names else ""
