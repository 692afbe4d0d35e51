"""What the sources share whose samples are spans of a few large files: many files are read at once,
and the problems of all come together.

A data set may come from anywhere, so every number is checked before anything is read by it.
"""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SourceError, listed
from fastload.files.opening import no_wait
from fastload.sources.labels import nameless
from fastload.sources.mapped import SpanSource
from fastload.spec import Array, Longs
from fastload.system import limits

READERS = 8  # threads: many small reads, which a network's file system makes slow
Found = TypeVar("Found")


class Spans(NamedTuple):
    """The samples of one file: int64 [N] each."""

    offset: Longs  # of the image, bytes
    size: Longs  # bytes
    labels: Longs


def each(paths: Sequence[str], read: Callable[[int, int], Found]) -> list[Found]:
    """What `read(number of the path, open file)` gives for each file.

    Raises SourceError with the first problem of each.
    """

    def attempt(number: int) -> Found | SourceError:
        try:
            return opened(paths[number], lambda file: read(number, file))
        except SourceError as error:
            return error

    with ThreadPoolExecutor(READERS, "fastload-spans") as threads:
        found = list(threads.map(attempt, range(len(paths))))
    if problems := [str(one) for one in found if isinstance(one, SourceError)]:
        raise SourceError(listed("\n".join(problems).split("\n")))
    return [one for one in found if not isinstance(one, SourceError)]


def opened(
    path: str,
    read: Callable[[int], Found],
    remedy: str = "restore it, or make it readable",
) -> Found:
    """What `read` gives for the open file. Raises SourceError."""
    try:
        with open(path, "rb", buffering=0, opener=no_wait) as file:
            return read(file.fileno())
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror or error}); {remedy}"
        ) from error


def joined(
    where: str,
    paths: Sequence[str],
    spans: Sequence[Spans],
    classes: tuple[str, ...] | None = None,
) -> SpanSource:
    """The samples of all files, of which there is one at least."""
    labels = np.concatenate([one.labels for one in spans])
    return SpanSource(
        where,
        tuple(paths),
        np.repeat(np.arange(len(paths)), [len(one.labels) for one in spans]),
        np.concatenate([one.offset for one in spans]),
        np.concatenate([one.size for one in spans]),
        labels,
        nameless(labels) if classes is None else classes,
    )


def json_of(path: str, remedy: str, lacking: str) -> Any:
    """What the JSON in a data set's index says. lacking: the remedy where it cannot be read.

    Raises SourceError.
    """

    def read(file: int) -> Any:
        size = os.fstat(file).st_size
        if wrong := limits.too_many(size, limits.METADATA):
            raise SourceError(f"{path}: is too large ({wrong}); {remedy}")
        try:
            return json.loads(os.pread(file, size, 0))
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{path}: is no JSON; {remedy}") from error

    return opened(path, read, lacking)


def gathered(path: str, file: int, offsets: Longs, size: int) -> NDArray[np.uint8]:
    """uint8 [N, size]: so many bytes from each offset. Raises SourceError."""
    data = b"".join([os.pread(file, size, offset) for offset in offsets.tolist()])
    if len(data) != size * len(offsets):
        raise SourceError(f"{path}: was cut off while it was read; open it again")
    rows: Array = np.frombuffer(data, np.uint8).reshape(len(offsets), size)
    return rows
