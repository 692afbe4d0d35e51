"""One change of a data set as a new version: shards are added, samples are deleted, or both.

Nothing that was written is rewritten. New shards get names that no version has; the index that was
is kept under a name of its own; then the new one takes its place (local.py, stored.py).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.conversion import index_writer, subsets
from fastload.conversion.index_writer import Extras
from fastload.conversion.subset_columns import NewFiles, Part, columns, transcoded
from fastload.errors import ConversionError
from fastload.sources import shard_versions
from fastload.sources.arrow import import_arrow
from fastload.sources.shard_index import Index, Shard
from fastload.sources.shard_versions import Version
from fastload.spec import Longs

DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Change:
    """What becomes of a data set.

    Args:
        old: Its newest index.
        more: That of another data set, which has no key that stays in the old one; or None.
        kept: int64 [K], the rows of the old one that stay, going up.
    """

    old: Index
    more: Index | None
    kept: Longs

    @property
    def deleted(self) -> list[str]:
        """The keys of the other rows."""
        gone = np.setdiff1d(np.arange(len(self.old), dtype=np.int64), self.kept)
        return [self.old.key(row) for row in gone.tolist()]

    @property
    def added(self) -> int:
        return 0 if self.more is None else len(self.more)

    @property
    def parts(self) -> list[Part]:
        new = [] if self.more is None else [Part(self.more, np.arange(self.added, dtype=np.int64))]
        return [Part(self.old, self.kept), *new]


class Next(NamedTuple):
    """The version that a change makes. files: existing path, new name."""

    content: memoryview  # of its index
    files: list[tuple[str, str]]


class Listed(NamedTuple):
    """What is told of versions. keys: the file with those that the last one lacks; or empty."""

    versions: tuple[Version, ...]
    keys: bytes

    @property
    def text(self) -> bytes:
        return b"".join(one.line() for one in self.versions)


def following(change: Change) -> Next:
    """Raises ConversionError."""
    where, parts = change.old.where, change.parts
    if not sum(len(part.rows) for part in parts):
        raise ConversionError(
            f"{where}: no sample would be left; remove the folder, if that is what you want"
        )
    pa, files = import_arrow(where, ConversionError), new_files(change)
    classes = subsets.merged_classes([part.index for part in parts])
    arrays = columns(pa, where, parts, files)
    extras = Extras(files.sidecars, transcoded(parts))
    text = index_writer.metadata(len(arrays["size"]), classes, files.shards, extras)
    return Next(index_writer.encode(pa, arrays, text), files.links)


def new_files(change: Change) -> NewFiles:
    """The old shards as they are, also those that no sample is left of; then the new ones.

    Raises ConversionError where only one of both has seek indexes.
    """
    old, more = change.old, change.more
    numbers = np.arange(len(old.shards), dtype=np.int64)
    files = NewFiles([], list(old.shards), list(old.sidecars), [numbers])
    if more is None:
        return files
    if bool(more.sidecars) != bool(old.sidecars):
        raise ConversionError(
            f"{old.where}: has {'' if old.sidecars else 'no '}seek indexes, and what is added has "
            f"{'' if more.sidecars else 'none'}; run fastload index {old.where} first"
        )
    first = 1 + max(int(DIGITS.findall(shard.name)[0]) for shard in old.shards)
    for kind, into in ((more.shards, files.shards), (more.sidecars, files.sidecars)):
        for number, file in enumerate(kind, start=first):
            name = f"shard-{number:06d}{os.path.splitext(file.name)[1]}"
            files.links.append((os.path.join(more.where, file.name), name))
            into.append(Shard(name, file.bytes, file.checksum))
    files.numbers.append(len(old.shards) + np.arange(len(more.shards), dtype=np.int64))
    return files


def versions_then(change: Change, said: Sequence[Version], new: Next, at: float) -> Listed:
    """What is told of all versions once it is done. said: those before; at: when that is, s since
    1970.
    """
    gone, number = change.deleted, said[-1].number + 1
    keys = "".join(f"{key}\n" for key in gone).encode("utf-8", "surrogateescape")
    last = Version(
        number, shard_versions.time_of(at), _native.xxh3(new.content),
        len(change.kept) + change.added, change.added, len(gone),
        _native.xxh3(keys) if gone else None,
    )  # fmt: skip
    return Listed((*said, last), keys)
