"""Whole files: their bytes, sizes and times."""

import os
import stat
from collections.abc import Sequence

import numpy as np

from fastload.conversion.readers.base import FATAL, LARGEST
from fastload.conversion.samples import BadSampleError
from fastload.spec import Longs
from fastload.system import limits

SPECIAL = -1  # the size of a pipe or a device


def read_file(path: str, size: int) -> bytes:
    """A whole file of `size` bytes. Raises BadSampleError."""
    if size == SPECIAL:  # opening a pipe would wait for ever
        raise BadSampleError("is no regular file; remove it")
    if size > LARGEST:
        raise BadSampleError(f"is too large (got {size} bytes, want at most {LARGEST}); remove it")
    try:
        data = _bytes_of(path, size)
    except OSError as error:
        if error.errno in FATAL:
            raise
        raise BadSampleError(
            f"cannot be read ({error.strerror}); make it readable or remove it"
        ) from error
    if data and len(data) != size:
        raise BadSampleError(
            "changed its size during the conversion; convert again when nothing writes to it"
        )
    return data


def _bytes_of(path: str, size: int) -> bytes:
    """Up to `size` bytes, and one more; with fewer system calls than Python's own files take.

    Raises BadSampleError, OSError.
    """
    file, most = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), size + 1
    try:
        if problem := limits.hollow(file, 0, size):
            raise BadSampleError(f"is too large ({problem}); remove it")
        data = os.read(file, most)
        while len(data) < most and (more := os.read(file, most - len(data))):
            data += more
        return data
    finally:
        os.close(file)


def file_sizes(paths: Sequence[str]) -> Longs:
    """int64 [N], bytes, or SPECIAL; 0 for a file that cannot be asked: reading it will tell why."""
    return np.fromiter((_size(path) for path in paths), np.int64, len(paths))


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else SPECIAL


def file_times(paths: Sequence[str]) -> Longs:
    """int64 [N]: when each file was changed, ns; 0 where that cannot be asked."""
    return np.fromiter((_time(path) for path in paths), np.int64, len(paths))


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
