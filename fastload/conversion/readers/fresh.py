"""Of a reader, the samples that a data set of shards lacks, with that data set's class numbers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastload.conversion.readers import select
from fastload.conversion.readers.base import Choice, Reader
from fastload.conversion.readers.folder import FolderReader
from fastload.conversion.readers.select import Selected
from fastload.errors import SourceError
from fastload.sources import shard_versions, shards
from fastload.sources.labels import NO_CLASS, NUMBER
from fastload.sources.shard_index import Index
from fastload.spec import Longs

SHOWN = 3  # classes in a message


@dataclass(frozen=True)
class Has:
    """What a data set has, and what it had.

    Args:
        index: Of its newest version.
        sizes: Bytes of each image, by its key.
        deleted: Keys that are to stay deleted.
    """

    index: Index
    sizes: Mapping[str, int]
    deleted: Collection[str]


@dataclass(frozen=True)
class Fresh:
    """What a data set lacks of a reader.

    Args:
        reader: These samples; maybe none.
        there: How many others it has already.
        changed: How many of those are files of another size now.
        deleted: How many it had, and are to stay deleted.
    """

    reader: Selected
    there: int
    changed: int
    deleted: int


def has(index: Index, deleted: Collection[str], renewed: Collection[str] = ()) -> Has:
    """deleted: keys that were deleted once; renewed: those that count as never there."""
    renewed = frozenset(renewed)
    pairs = zip(keys_of(index), index.columns["size"].all().tolist(), strict=True)
    kept = {key: size for key, size in pairs if key not in renewed}
    return Has(index, kept, frozenset(deleted) - renewed)


def keys_of(index: Index) -> list[str]:
    """[N]: of all samples."""
    return [key for batch in index.batches for key in batch.column("key").to_pylist()]


def fresh(reader: Reader, known: Has) -> Fresh:
    """Raises SourceError where its labels are of another kind than those of the data set."""
    here = np.fromiter((key in known.sizes for key in reader.keys), np.bool_, len(reader))
    gone = np.fromiter((key in known.deleted for key in reader.keys), np.bool_, len(reader)) & ~here
    changed = 0
    if isinstance(reader, FolderReader) and known.index.transcoded is None:
        rows = np.flatnonzero(here)
        sizes = np.array([known.sizes[reader.keys[row]] for row in rows.tolist()], np.int64)
        changed = int(np.count_nonzero(reader.sizes[rows] != sizes))
    rows = np.flatnonzero(~(here | gone)).astype(np.int64)
    numbered = _numbered(reader, known.index) if len(rows) else reader
    new = select.rows(numbered, rows)
    return Fresh(new, int(here.sum()), changed, int(gone.sum()))


def of_choice(reader: Reader, choice: Choice) -> Reader:
    """The same by what was chosen: another process finds the samples that this one has found."""
    if choice.lacking is None:
        return reader
    index = shards.load(choice.lacking).index
    said = shard_versions.of(choice.lacking, len(index), index.checksum)
    deleted = shard_versions.deleted_keys(choice.lacking, said)
    return fresh(reader, has(index, deleted, choice.renewed)).reader


def _numbered(reader: Reader, index: Index) -> Selected:
    classes, numbers = joined(reader.where, index, reader.classes)
    return select.labelled(reader, numbers[reader.labels], classes)


def joined(where: str, index: Index, classes: Sequence[str]) -> tuple[tuple[str, ...], Longs]:
    """The data set's classes and behind them those that it lacks; the number there of each of
    `classes`. Raises SourceError where one has names and the other has none.
    """
    old = index.classes
    if _kind(old) != _kind(classes):
        raise SourceError(
            f"{where}: its classes are {_shown(classes)}, those of {index.where} {_shown(old)}; "
            "pass --labels with a file of names or of labels, or --labels none"
        )
    new = [name for name in classes if name not in set(old)]
    number_of = {name: number for number, name in enumerate((*old, *new))}
    return (*old, *new), np.array([number_of[name] for name in classes], np.int64)


def _kind(classes: Sequence[str]) -> str:
    if tuple(classes) == (NO_CLASS,):
        return "none"
    return "numbers" if all(NUMBER.fullmatch(name) for name in classes) else "names"


def _shown(classes: Sequence[str]) -> str:
    more = f" and {len(classes) - SHOWN} more" if len(classes) > SHOWN else ""
    return f"{', '.join(map(repr, classes[:SHOWN]))}{more}"
