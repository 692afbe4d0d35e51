"""What a conversion writes: one class per format.

A writer knows nothing of what is read, nor of the job between them. The module of a format (of
files.formats.WRITERS) has `open_writer(where, reader, options) -> Writer`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, Item, Written
from fastload.conversion.readers.base import Reader
from fastload.conversion.target import Hold
from fastload.conversion.transcoding import Tally
from fastload.files.formats import WRITERS
from fastload.spec import Longs

# Asked when a part is complete: whether to write it; false if the conversion fails anyway
Wanted = Callable[["Samples"], bool]


class Samples(Protocol):
    """The samples of a part, made while they are asked for."""

    @property
    def bad(self) -> Sequence[Bad]: ...
    @property
    def tally(self) -> Tally: ...
    def __iter__(self) -> Iterator[Item]: ...


class Catalog(NamedTuple):
    """All samples of a data set, by their numbers in the source.

    Args:
        keys: [N], a name of each sample, unique.
        labels: int64 [N], 0 to len(classes) - 1.
        classes: The names of the classes.

    Example:
        >>> import numpy as np
        >>> from fastload.extending import Catalog
        >>> catalog = Catalog(["cat/0", "dog/1"], np.array([0, 1]), ("cat", "dog"))
        >>> catalog.classes[catalog.labels[1]]
        'dog'
    """

    keys: Sequence[str]
    labels: Longs
    classes: tuple[str, ...]


class Committed(NamedTuple):
    """What stands under the final names."""

    files: int
    bytes: int
    notes: tuple[str, ...] = ()  # what a user should know


class Writer(Protocol):
    """One format, at one target; StagedWriter is a base class that does most of it.

    A conversion holds the target, writes its parts from several threads, and commits them. What
    stays after an error or a kill is nothing, or what `--resume` goes on with.

    Example:
        >>> from fastload.conversion.readers import open_reader
        >>> from fastload.conversion.writers import open_writer
        >>> from fastload.extending import Choice, Options, Writer
        >>> reader = open_reader("train", Choice())
        >>> writer: Writer = open_writer("copy", reader, Options(to="folder"))
        >>> writer.seek_step is None
        True
    """

    @property
    def seek_step(self) -> int | None:
        """MCUs per entry of the seek indexes that it stores; None: it stores none."""

    @property
    def copies(self) -> int:
        """How often a part lies in memory while it is written; 0: sample by sample."""

    def holding(
        self, needed: int, *, overwrite: bool, resume: bool
    ) -> AbstractContextManager[Hold]:
        """The target, locked, with room for `needed` bytes. Raises ConversionError."""

    def write(self, number: int, samples: Samples, wanted: Wanted) -> Written:
        """One part under temporary names, on disk when this returns; from any thread.

        Raises OSError.
        """

    def intact(self, part: Written) -> bool:
        """Whether the files of a part that an earlier run wrote are there as they were."""

    def commit(
        self,
        parts: Sequence[Written],
        catalog: Catalog,
        announce: Callable[[Sequence[tuple[str, str]]], None],
    ) -> Committed:
        """Put all parts in their place at once.

        announce: is told (temporary name, final name) before the first is renamed.
        """


def open_writer(where: str, reader: Reader, options: Options) -> Writer:
    """The writer of the format `options.to`. Raises ConversionError, UsageError."""
    writer: Writer = WRITERS.function(options.to, "open_writer")(where, reader, options)
    return writer
