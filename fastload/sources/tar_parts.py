"""What is known of one tar archive that is opened in place: where its images lie, and their labels.

Headers are read, and the files with labels; nothing else.
"""

import io
import os
from typing import NamedTuple

import numpy as np

from fastload.errors import SourceError, listed
from fastload.files.names import CONTROL
from fastload.files.opening import no_wait
from fastload.sources.tar_members import Span, Walk
from fastload.sources.tar_samples import (
    all_in_folders,
    folder_images,
    has_labels,
    of_samples,
    samples,
)
from fastload.spec import Longs
from fastload.system import limits


class Stamp(NamedTuple):
    """Another one where an archive has changed, as far as its facts tell."""

    size: int  # bytes
    time: int  # ns
    inode: int


class Part(NamedTuple):
    """One archive; arrays [N] in the order of its images."""

    stamp: Stamp
    ambiguous: bool  # no label, and all in folders: classes, if the other archives are so, too
    folders: bool  # each image is a sample, its folder a class; else WebDataset's samples
    names: bytes  # of the images, UTF-8, a line each
    offset: Longs  # bytes
    size: Longs  # bytes
    label: Longs  # of `texts`; -1: none
    texts: tuple[str, ...]

    def name(self, row: int) -> str:
        return self.names.split(b"\n")[row].decode()


class _Open:
    """An open archive, for the files with labels."""

    def __init__(self, file: int) -> None:
        self.file = file

    def read(self, file: int, offset: int, size: int) -> bytes:
        return os.pread(self.file, size, offset)


def stamp_of(path: str) -> Stamp:
    """Raises SourceError."""
    try:
        return _stamp(os.stat(path))
    except OSError as error:
        raise _unreadable(path, error) from error


def scan(path: str, folders: bool | None = None) -> Part:
    """What is in an archive. Raises SourceError with every problem.

    folders: how its samples are found; None: as its own names tell.
    """
    try:
        with open(path, "rb", opener=no_wait) as file:
            before = _stamp(os.fstat(file.fileno()))
            walk = Walk(0, before.size, pickled=True)
            walk.over(io.FileIO(file.fileno(), closefd=False))
            part = _part(path, before, walk, _Open(file.fileno()), folders)
            after = _stamp(os.fstat(file.fileno()))
    except OSError as error:
        raise _unreadable(path, error) from error
    if after != before:
        raise SourceError(
            f"{path}: changed while its headers were read (got {after.size} bytes, want "
            f"{before.size}); open it when nothing writes to it"
        )
    return part


def _stamp(facts: os.stat_result) -> Stamp:
    return Stamp(facts.st_size, facts.st_mtime_ns, facts.st_ino)


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError(f"{path}: cannot be read ({error.strerror or error}); check the path")


def _part(path: str, stamp: Stamp, walk: Walk, files: _Open, folders: bool | None) -> Part:
    """Raises SourceError."""
    ambiguous = not has_labels(walk.spans) and all_in_folders(walk.spans)
    folders = ambiguous if folders is None else folders
    problems = list(walk.problems)
    images, texts = list[Span](), list[str | None]()
    if folders:
        images = folder_images(walk.spans)
        texts = [None] * len(images)
    else:
        for sample in samples(files, of_samples(walk.spans)):
            if sample.problem:
                problems.append(f"sample {sample.key!r} {sample.problem}")
            else:
                images.append(sample.image)
                texts.append(sample.label)
    problems += [
        f"member {image.name!r} is too large ({wrong}); remove it"
        for image in images
        if (wrong := limits.too_many(image.size, limits.SAMPLE))
    ]
    if problems:
        raise SourceError(listed([f"{path}: {problem}" for problem in problems]))
    numbers = {text: number for number, text in enumerate(dict.fromkeys(filter(None, texts)))}
    return Part(
        stamp,
        ambiguous,
        folders,
        "\n".join(CONTROL.sub("_", image.name) for image in images).encode(),
        np.array([image.offset for image in images], np.int64),
        np.array([image.size for image in images], np.int64),
        np.array([numbers[text] if text else -1 for text in texts], np.int64),
        tuple(numbers),
    )
