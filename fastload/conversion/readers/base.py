"""What a conversion reads.

A reader knows nothing of what is written, nor of the job between them.
"""

import errno
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fastload import _native
from fastload.conversion.samples import BadSampleError
from fastload.files.names import Suffix, readable
from fastload.spec import Longs
from fastload.system import limits

LARGEST = limits.SAMPLE  # bytes of one encoded image
# Not the sample's fault: the machine has run out of something
FATAL = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class _Extra(NamedTuple):
    name: str
    data: bytes


class Extra(_Extra):
    """A file that belongs to a sample beside its image: a mask, a text.

    Args:
        name: Its extension, which follows the sample's key: "mask.png", "json".
        data: Its bytes.

    Raises:
        SourceError: The name may not follow a key: it would lead out of a folder.

    Example:
        >>> from fastload.extending import Extra
        >>> Extra("json", b"{}").name
        'json'
    """

    __slots__ = ()

    def __new__(cls, name: str, data: bytes) -> "Extra":  # noqa: PYI034 - Self needs Python 3.11
        return super().__new__(cls, Suffix(name), data)


class Record(NamedTuple):
    """One sample as it is read."""

    key: str
    data: bytes  # the encoded image
    label: int
    extras: tuple[Extra, ...]


@dataclass(frozen=True)
class Choice:
    """What of a source is read, and how.

    Args:
        split: Its folder SPLIT, or its files SPLIT-….
        labels: "none", or a file with the names of the classes or a label per key.
        root: The folder that the paths in a CSV or JSONL file begin at.
        masks: A folder with a mask for each image.
        subset: How many samples: "1000", "10%".
        seed: What a subset is drawn by.
        format: A name of files.formats.READERS or SOURCES; None: what names tell.
        optional: Of tars, whether all samples may lack a label, for verbs that need none.
        lacking: A folder of converted shards: only the samples that it lacks.
        renewed: Keys that count as lacking there.
        boxes: What is known of the objects of each image: "yolo", "coco:FILE.json".

    Example:
        >>> from fastload.extending import Choice
        >>> Choice(labels="none").labelled
        False
    """

    split: str | None = None
    labels: str | None = None
    root: str | None = None
    masks: str | None = None
    subset: str | None = None
    seed: int = 0
    format: str | None = None
    optional: bool = False
    lacking: str | None = None
    renewed: tuple[str, ...] = ()
    boxes: str | None = None

    @property
    def labelled(self) -> bool:
        return self.labels != "none"


ANYTHING = Choice()
TO_LOOK = Choice(optional=True)  # for verbs that only look at what is there


class Reader(Protocol):
    r"""Samples of a data set by number, in an order that is always the same.

    Its facts are known before a sample is read. It is used from many threads at once. The module
    of a format (of files.formats.READERS) has `open_reader(where, paths, choice) -> Reader`, which
    raises SourceError; `paths` are the files of the data set, or the folder.

    Example:
        >>> from fastload.conversion.readers import open_reader
        >>> from fastload.extending import Choice, Reader
        >>> reader: Reader = open_reader("train", Choice())
        >>> len(reader), reader.classes, reader.keys[0]
        (8, ('cat', 'dog'), 'cat/0')
        >>> reader.read(0)[:2]  # as every JPEG begins
        b'\xff\xd8'
    """

    @property
    def where(self) -> str:
        """What the user gave, for messages."""

    @property
    def keys(self) -> Sequence[str]:
        """[N]: a name of each sample, unique; `/` between folders, no dot in the last part."""

    @property
    def sizes(self) -> Longs:
        """int64 [N], bytes of each image; at most."""

    @property
    def beside(self) -> Longs:
        """int64 [N], bytes of each sample's extras."""

    @property
    def labels(self) -> Longs:
        """int64 [N], 0 to len(classes) - 1."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""

    @property
    def stamp(self) -> int:
        """Another number where the source has changed, as far as names, sizes and times tell."""

    @property
    def in_order(self) -> bool:
        """Whether reading in another order than the source's is slow."""

    def __len__(self) -> int: ...

    def name(self, sample: int) -> str:
        """For messages: its path, or its file and key."""

    def read(self, sample: int) -> bytes:
        """The encoded image. Raises BadSampleError."""

    def extras(self, sample: int) -> tuple[Extra, ...]:
        """The files beside it. Raises BadSampleError."""


@dataclass(frozen=True, eq=False)
class Listing:
    """What most readers know before they read a sample.

    A base class of readers that lacks `read` alone.

    Args:
        where: What the user gave, for messages.
        keys: [N], a name of each sample, unique.
        sizes: int64 [N], bytes of each image; at most.
        labels: int64 [N], 0 to len(classes) - 1.
        classes: The names of the classes.
        stamp: Another number where the source has changed, as far as names, sizes and times tell.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import Listing
        >>> one = Listing("toys", ["a"], np.array([7]), np.array([0]), ("toy",), stamp=1)
        >>> len(one), one.name(0)
        (1, 'toys:a')
    """

    where: str
    keys: Sequence[str]
    sizes: Longs
    labels: Longs
    classes: tuple[str, ...]
    stamp: int

    @property
    def beside(self) -> Longs:
        return np.zeros(len(self.sizes), np.int64)

    @property
    def in_order(self) -> bool:
        return False

    def __len__(self) -> int:
        return len(self.sizes)

    def name(self, sample: int) -> str:
        return f"{self.where}:{self.keys[sample]}"

    def extras(self, sample: int) -> tuple[Extra, ...]:
        return ()


@runtime_checkable
class Ahead(Protocol):
    """A reader that has to know which samples are read next: it fetches them meanwhile."""

    def ahead(
        self, chosen: Sequence[int], check: Callable[[], None]
    ) -> AbstractContextManager[None]:
        """Around the reading of `chosen`, by one thread. check: raises to give up."""


def ahead(
    reader: Reader, chosen: Sequence[int], check: Callable[[], None]
) -> AbstractContextManager[None]:
    """The same for any reader."""
    return reader.ahead(chosen, check) if isinstance(reader, Ahead) else nullcontext()


def record(reader: Reader, sample: int) -> Record:
    """One sample. Raises BadSampleError."""
    return Record(
        reader.keys[sample], reader.read(sample), int(reader.labels[sample]), reader.extras(sample)
    )


def records(reader: Reader) -> Iterator[Record]:
    """All samples in their order. Raises BadSampleError."""
    return (record(reader, sample) for sample in range(len(reader)))


@contextmanager
def told(remedy: str) -> Iterator[None]:
    """An OSError of one sample as BadSampleError, unless the machine is out of something."""
    try:
        yield
    except OSError as error:
        if error.errno in FATAL:
            raise
        raise BadSampleError(f"cannot be read ({error.strerror or error}); {remedy}") from error


def samples_stamp(reader: Reader) -> int:
    """Another number where any of its facts differs."""
    keys = stamp_of(list(map(readable, reader.keys)), list(map(readable, reader.classes)))
    return stamp_of([keys, reader.stamp, len(reader)], reader.sizes, reader.labels)


def stamp_of(*parts: object) -> int:
    """XXH3 of anything that JSON can hold, and of arrays."""
    whole = b"\0".join(
        part.tobytes() if isinstance(part, np.ndarray) else json.dumps(part).encode()
        for part in parts
    )
    return _native.xxh3(whole)
