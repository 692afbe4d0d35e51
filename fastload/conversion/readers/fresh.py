"""Of a reader, the samples that a data set of shards lacks, with that data set's class numbers."""

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastload import _native
from fastload.conversion.keys import tidy_key
from fastload.conversion.readers import select
from fastload.conversion.readers.base import Choice, Reader
from fastload.conversion.readers.folder import FolderReader
from fastload.conversion.readers.select import Selected
from fastload.conversion.samples import BadSampleError
from fastload.errors import SourceError
from fastload.files.names import readable
from fastload.sources import shard_versions, shards
from fastload.sources.labels import NO_CLASS, NUMBER
from fastload.sources.shard_index import Index
from fastload.spec import Longs

SHOWN = 3  # classes in a message
LOOKED_AT = 8  # images that are compared
ROW = re.compile(r"([0-9]{4,})/[0-9]{8,}")  # keys that readers make of labels and numbers


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


def fresh(reader: Reader, known: Has, *, kept: bool = True) -> Fresh:
    """kept: whether images are written as they are, so that bytes can be compared.

    Raises SourceError where its labels are of another kind than those of the data set, or where its
    samples have no names and are others than those of the same numbers.
    """
    by_rows = _are_rows(reader)
    if by_rows:
        reader = _with_numbers_of(reader, known.index)
    here = np.fromiter((key in known.sizes for key in reader.keys), np.bool_, len(reader))
    gone = np.fromiter((key in known.deleted for key in reader.keys), np.bool_, len(reader)) & ~here
    changed, kept = 0, kept and known.index.transcoded is None
    if by_rows and kept:
        _check_same(reader, known, np.flatnonzero(here))
    if isinstance(reader, FolderReader) and kept:
        rows = np.flatnonzero(here)
        sizes = np.array([known.sizes[reader.keys[row]] for row in rows.tolist()], np.int64)
        others = rows[reader.sizes[rows] != sizes]
        changed = len(others)
        if changed:
            _check_twins(reader, others)
    rows = np.flatnonzero(~(here | gone)).astype(np.int64)
    numbered = _numbered(reader, known.index) if len(rows) else reader
    new = select.rows(numbered, rows)
    return Fresh(new, int(here.sum()), changed, int(gone.sum()))


def _are_rows(reader: Reader) -> bool:
    """Whether its samples are known by nothing else than labels and numbers of rows."""
    pairs = zip(map(ROW.fullmatch, reader.keys), reader.labels.tolist(), strict=True)
    return not isinstance(reader, FolderReader) and all(
        found and int(found[1]) == label for found, label in pairs
    )


def _with_numbers_of(reader: Reader, index: Index) -> Selected:
    """The same with the data set's numbers of classes in its keys: those of the source may have
    changed since then.
    """
    numbered = _numbered(reader, index)
    rows = (key.rpartition("/")[2] for key in reader.keys)
    keys = [f"{label:04d}/{row}" for label, row in zip(numbered.labels.tolist(), rows, strict=True)]
    return replace(numbered, keys=keys)


def _check_twins(reader: FolderReader, changed: Longs) -> None:
    """Raise SourceError where one of these files has a twin: names that differ by their extensions
    alone get numbers in their order, so a new file may have the key that another one had.
    """
    prefix = os.path.join(reader.where, "")
    stems = [tidy_key(path[len(prefix) :]) for path in reader.source.paths]
    count = Counter(stems)
    for sample in [sample for sample in changed.tolist() if count[stems[sample]] > 1]:
        raise SourceError(
            f"{reader.name(sample)}: its key {reader.keys[sample]!r} may be that of another file "
            f"before ({count[stems[sample]]} files differ by their extensions alone); rename the "
            "new ones"
        )


def _check_same(reader: Reader, known: Has, here: Longs) -> None:
    """Raise SourceError where some of the samples that the data set has are other images there."""
    some = here[np.unique(np.linspace(0, len(here) - 1, LOOKED_AT).astype(np.int64))[: len(here)]]
    samples = {reader.keys[sample]: sample for sample in some.tolist()}
    for row, key in enumerate(keys_of(known.index) if samples else ()):
        if key not in samples:
            continue
        try:
            got = _native.xxh3(reader.read(samples[key]))
        except BadSampleError:  # which is said where it is written
            continue
        if got != int(known.index.columns["checksum"][np.array([row])][0]):
            raise SourceError(
                f"{reader.where}: its samples have no names but the numbers of their rows, and "
                f"{key!r} is another image than in {known.index.where}; give it a column 'key', or "
                "convert it by itself and mix both (fastload.mix)"
            )


def of_choice(reader: Reader, choice: Choice) -> Reader:
    """The same by what was chosen: another process finds the samples that this one has found."""
    if choice.lacking is None:
        return reader
    index = shards.load(choice.lacking).index
    said = shard_versions.of(choice.lacking, len(index), index.checksum)
    deleted = shard_versions.deleted_keys(choice.lacking, said)
    return fresh(reader, has(index, deleted, choice.renewed), kept=False).reader


def _numbered(reader: Reader, index: Index) -> Selected:
    classes, numbers = joined(reader.where, index, reader.classes)
    return select.labelled(reader, numbers[reader.labels], classes)


def joined(where: str, index: Index, classes: Sequence[str]) -> tuple[tuple[str, ...], Longs]:
    """The data set's classes and behind them those that it lacks; the number there of each of
    `classes`. Raises SourceError where one has names and the other has none.
    """
    old, classes = index.classes, [readable(name) for name in classes]  # as indexes have them
    if _kind(old) != _kind(classes):
        raise SourceError(
            f"{where}: its classes are {_shown(classes)}, those of {index.where} {_shown(old)}; "
            "pass --labels with a file of names or of labels, or --labels none"
        )
    known = set(old)
    new = [name for name in classes if name not in known]
    number_of = {name: number for number, name in enumerate((*old, *new))}
    return (*old, *new), np.array([number_of[name] for name in classes], np.int64)


def _kind(classes: Sequence[str]) -> str:
    if tuple(classes) == (NO_CLASS,):
        return "none"
    return "numbers" if all(NUMBER.fullmatch(name) for name in classes) else "names"


def _shown(classes: Sequence[str]) -> str:
    more = f" and {len(classes) - SHOWN} more" if len(classes) > SHOWN else ""
    return f"{', '.join(map(repr, classes[:SHOWN]))}{more}"
