"""What the sources share whose samples are spans of a few large files.

A data set may come from anywhere, so every number is checked before anything is read by it.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from reprlib import repr as short
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastload.errors import SHOWN, SourceError
from fastload.files import arrivals
from fastload.files.opening import no_wait
from fastload.sources.columns import bounds
from fastload.sources.labels import nameless
from fastload.sources.mapped import SpanSource
from fastload.sources.span_index import Spans
from fastload.spec import Array, Longs
from fastload.system import limits

READERS = 8  # threads: many small reads, which a network's file system makes slow
READABLE = "restore it, or make it readable"
Found = TypeVar("Found")


def opened(path: str, read: Callable[[int], Found], remedy: str = READABLE) -> Found:
    """What `read` gives for the open file. Raises SourceError."""
    with readable(path, remedy) as file:
        return read(file.fileno())


@contextlib.contextmanager
def readable(path: str, remedy: str = READABLE) -> Iterator[IO[bytes]]:
    """The open file. Raises SourceError."""
    try:
        with arrivals.present(path), open(path, "rb", opener=no_wait) as file:
            yield file
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read ({error.strerror or error}); {remedy}"
        ) from error


def joined(
    where: str, paths: Sequence[str], spans: Spans, classes: tuple[str, ...] | None = None
) -> SpanSource:
    """The samples of all files, of which there is one at least."""
    file, (offset, size, labels) = spans.parts(), map(spans.column, ("offset", "size", "label"))
    if classes is None:
        classes = nameless(*bounds(labels))
    return SpanSource(where, tuple(paths), file, offset, size, labels, classes, spans=spans)


class Fields(NamedTuple):
    """Numbers of the image's and the label's place among a sample's values."""

    image: int
    label: int | None  # None: there is none


def chosen(
    where: str,
    words: tuple[str, str],
    has: Sequence[tuple[str, str, str]],
    kinds: Mapping[str, Sequence[str]],
    names: tuple[str, str] | None,
) -> Fields:
    """The values that are read: of these names, or the first of each kind. Raises SourceError.

    words: what the format calls one, and several. has: their names, their types, and what of a
    type counts. kinds: of the image and of the label what will do, the best one first.
    """
    (what, several), found = words, list[int | None]()
    for position, (kind, types) in enumerate(kinds.items()):
        want = names[position] if names else None
        fitting = [
            number
            for one in types
            for number, (name, _, counts) in enumerate(has)
            if counts == one and want in (None, name)
        ]
        if not fitting and (kind != "label" or names):
            shown = ", ".join(f"{short(name)} ({short(type_)})" for name, type_, _ in has[:SHOWN])
            missing = f"no {kind} {what}" + (f" {want!r}" if want else "")
            raise SourceError(
                f"{where}: has {missing} (has {shown}; {kind}s are {', '.join(types)}); name the "
                f"{several} with images and labels: fields=(IMAGE, LABEL)"
            )
        found.append(fitting[0] if fitting else None)
    image, label = found
    assert image is not None
    return Fields(image, label)


def json_of(path: str, remedy: str, lacking: str) -> Any:
    """What the JSON in a data set's index says. lacking: the remedy where it cannot be read.

    Raises SourceError.
    """

    def read(file: int) -> Any:
        size = os.fstat(file).st_size
        if wrong := limits.too_many(size, limits.METADATA):
            raise SourceError(f"{path}: is too large ({wrong}); {remedy}")
        return json_in(path, os.pread(file, size, 0), remedy)

    return opened(path, read, lacking)


def json_in(path: str, data: bytes, remedy: str) -> Any:
    """The same of bytes that were read. Raises SourceError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: is no JSON; {remedy}") from error


def gathered(path: str, file: int, offsets: Longs, size: int) -> NDArray[np.uint8]:
    """uint8 [N, size]: so many bytes from each offset. Raises SourceError."""
    data = b"".join([os.pread(file, size, offset) for offset in offsets.tolist()])
    if len(data) != size * len(offsets):
        raise SourceError(f"{path}: was cut off while it was read; open it again")
    rows: Array = np.frombuffer(data, np.uint8).reshape(len(offsets), size)
    return rows
