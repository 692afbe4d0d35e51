"""What a source is: where encoded samples lie. Reading is random access; nothing is unpickled."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fastload import _native
from fastload._native import Files as Files  # noqa: PLC0414 - handed out to sources of others
from fastload.sources.columns import Numbers
from fastload.spec import Longs, Pixels, repeated
from fastload.system import machine

if TYPE_CHECKING:
    from fastload.remote.access import Access


def open_files(paths: Sequence[str]) -> Files:
    """Files that stay open, where the system allows as many; else each is opened for each read."""
    return Files(paths, keep_open=2 * len(paths) <= machine.open_files())


class Seek(NamedTuple):
    """Where the seek indexes of N samples lie: arrays [N]."""

    files: Files
    file: Longs
    offset: Longs  # bytes
    size: Longs  # bytes; 0: this sample has none


class SeekFile(Protocol):
    """Seek indexes that lie beside a data set. Picklable."""

    def locate(self, samples: Longs) -> Seek: ...


class Location(NamedTuple):
    """Where N samples lie.

    Args:
        file: int64 [N], numbers of the source's files.
        offset: int64 [N], bytes.
        size: int64 [N], bytes; -1 reads to the end of the file.
        checksum: uint64 [N], XXH3-64 of the bytes; None where it is not known.
        seek: Where their seek indexes lie; None: there are none.
        raw: int32 [N, 2], height and width in px of samples that are uint8 [H, W, 3] and not
            encoded; 0, 0: it is encoded. None: all are.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import Location
        >>> file = np.array([0, 0])
        >>> Location(file, np.array([0, 100]), np.array([100, 50]), None).is_raw
        array([False, False])
    """

    file: Longs
    offset: Longs
    size: Longs
    checksum: NDArray[np.uint64] | None
    seek: Seek | None = None
    raw: NDArray[np.int32] | None = None

    @property
    def is_raw(self) -> NDArray[np.bool_]:
        """bool [N]: whether a sample is pixels, not an encoded image."""
        return np.zeros(len(self.file), np.bool_) if self.raw is None else self.raw[:, 0] > 0


class Source(Protocol):
    """A data set's samples: where the bytes of each lie.

    Immutable and picklable: loaders send it to other processes, where `files` is opened anew.
    Methods are called from any thread. The samples and their order never change.

    A source may also have `pixels(sample) -> uint8 [H, W, 3] | None`, of a sample that is not
    encoded, `most_pixels() -> int`, height times width of the largest image, and
    `sizes(samples) -> int32 [K, 2]`, heights and widths in px, where these are known.

    Example:
        >>> import numpy as np
        >>> import fastload
        >>> from fastload.extending import Source
        >>> source: Source = fastload.open("train").pipeline.source
        >>> source.name(0), source.labels[:5].tolist()
        ('train/cat/0.jpg', [0, 0, 0, 0, 1])
        >>> source.locate(np.array([3, 0])).file
        array([3, 0])
    """

    @property
    def where(self) -> str:
        """The path that the user gave, for messages."""

    @property
    def labels(self) -> Numbers:
        """int64 [N]; of classes 0 to len(classes) - 1. An array, or a Column, which is indexed like
        one and read where it is used.
        """

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""

    @property
    def files(self) -> Files:
        """The files that `locate` numbers."""

    def __len__(self) -> int: ...

    def locate(self, samples: Longs) -> Location:
        """Where `samples` lie: int64 [K] of 0 to N - 1, in any order, some perhaps twice."""

    def name(self, sample: int) -> str:
        """For messages: its path, or its file and key."""


class Parts(NamedTuple):
    """What samples take of cells: arrays [P]."""

    owner: Longs  # which of the samples
    cell: Longs
    size: Longs  # bytes


class StoreOrder(NamedTuple):
    """Samples in the order in which they lie in a store."""

    first: Longs  # int64 [groups + 1]: the first sample of each group of cells, and all
    samples: Callable[[Longs], Longs]  # from places in that order to numbers of samples


class Remote(Protocol):
    """Samples that lie in a store, and have to be brought before they are read."""

    def __len__(self) -> int:
        """All that lie there, also where only some of them are meant."""

    @property
    def access(self) -> "Access": ...
    def cells(self, samples: Longs) -> Longs:
        """The cells that they lie in, in any order."""

    def parts(self, samples: Longs) -> Parts:
        """The same cells, sample by sample."""

    def order(self) -> StoreOrder | None:
        """None of samples that are some of what lies there."""


def remote(source: Source) -> Remote | None:
    """How the source's samples come; None: they are there."""
    found: Remote | None = getattr(source, "remote", None)
    return found


def reading(source: Source, samples: Longs) -> AbstractContextManager[None]:
    """Samples are there meanwhile, wherever they lie. Raises StoreError and CacheError."""
    if (far := remote(source)) is None:
        return nullcontext()
    return far.access.read(far.cells(samples))


def read(source: Source, sample: int) -> bytes:
    """One sample's encoded bytes, compared with their checksum where the source has one.

    Raises OSError, and of a source in a store StoreError and CacheError.
    """
    with reading(source, np.array([sample], np.int64)):
        return _read(source, sample)


def _read(source: Source, sample: int) -> bytes:
    at = source.locate(np.array([sample], np.int64))
    data = source.files.read(int(at.file[0]), int(at.offset[0]), int(at.size[0]))
    if at.checksum is not None and (got := _native.xxh3(data)) != (want := int(at.checksum[0])):
        # As the native engine says it
        raise OSError(f"checksum mismatch (got {got:016x}, want {want:016x})")
    return data


def raw_pixels(source: Source, sample: int) -> Pixels | None:
    """uint8 [H, W, 3] of a sample that is not encoded but pixels; None where there are encoded
    bytes.
    """
    find = getattr(source, "pixels", None)
    pixels: Pixels | None = find(sample) if find else None
    return pixels


@dataclass(frozen=True)
class FileSource:
    """Samples that are whole files, one each: a folder of images.

    Args:
        where: The path that the user gave, for messages.
        paths: [N], of the files.
        labels: int64 [N], 0 to len(classes) - 1.
        classes: The names of the classes.
        seek: Their seek indexes, where they lie beside the data set.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import FileSource
        >>> source = FileSource("train", ("train/cat/0.jpg",), np.array([0]), ("cat",))
        >>> len(source), source.name(0)
        (1, 'train/cat/0.jpg')
    """

    where: str
    paths: tuple[str, ...]
    labels: Longs
    classes: tuple[str, ...]
    seek: SeekFile | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "files"}

    @cached_property
    def files(self) -> Files:
        return Files(self.paths, keep_open=False)

    def locate(self, samples: Longs) -> Location:
        seek, count = self.seek.locate(samples) if self.seek else None, len(samples)
        return Location(samples, repeated(0, count), repeated(-1, count), None, seek)

    def name(self, sample: int) -> str:
        return self.paths[sample]


class NumberedFiles(FileSource):
    """Files that a program names by the sample's number: a negative number is another name, not the
    sample from the end.
    """
