"""New data sets out of converted ones, by their indexes: filter, split, merge. The shards are
linked, not read and not copied.

A link is the same file under a second name: no room is taken, and either data set may be removed.
fastload never writes into a shard.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from fastload import rng
from fastload.conversion import commits, index_writer, target
from fastload.conversion.index_file import Staged
from fastload.conversion.index_writer import Extras
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.subset_columns import NewFiles, Part, columns, new_files, transcoded
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.files import below, formats
from fastload.files.below import Folder
from fastload.files.names import Inner, check_keys
from fastload.files.opening import no_wait
from fastload.sources import open_source
from fastload.sources.arrow import import_arrow
from fastload.sources.shard_index import Index
from fastload.sources.shards import TEMPORARY, ShardSource
from fastload.sources.staging import local_only
from fastload.spec import Longs

NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
INDEX_ROW = 512  # bytes per sample of an index, ample


class SubsetSummary(NamedTuple):
    """What was written."""

    where: str
    samples: int
    classes: int
    shards: int
    copied: int  # bytes that could not be linked


def open_shards(where: str) -> ShardSource:
    """Converted shards. Raises SourceError."""
    source = open_source(local_only(where))
    if not isinstance(source, ShardSource):
        raise SourceError(
            f"{where}: is no converted data set (got {formats.seen_at(where)}); run fastload "
            "convert first"
        )
    return source


def open_index(where: str) -> Index:
    """Their index, in memory. Raises SourceError."""
    source = open_shards(where)
    check_keys(
        where, [key for batch in source.index.batches for key in batch.column("key").to_pylist()]
    )
    return source.index


def merged_classes(indexes: Sequence[Index]) -> tuple[str, ...]:
    """The classes of all, whose numbers stay: one list begins with the others.

    Raises ConversionError.
    """
    longest = max((index.classes for index in indexes), key=len)
    for index in indexes:
        if index.classes != longest[: len(index.classes)]:
            at = next(
                number
                for number, pair in enumerate(zip(index.classes, longest, strict=False))
                if pair[0] != pair[1]
            )
            text = f"class {at} is {index.classes[at]!r} there and {longest[at]!r} in another"
            raise ConversionError(
                f"{index.where}: has other classes ({text}), and the shards hold their numbers; "
                "convert the sources together"
            )
    return longest


def drawn(
    index: Index, shares: Sequence[float], seed: int, *, by_class: bool = True
) -> list[Longs]:
    """The rows cut into parts of these shares, drawn by `seed`, each in order; by_class: each class
    alike. Raises UsageError.
    """
    if not shares or not min(shares) > 0 or not sum(shares) <= 1 + 1e-9:  # NaN is neither
        raise UsageError(
            f"split: shares {', '.join(f'{share:g}' for share in shares)} (want some above 0, 1 in "
            "all at most); correct them"
        )
    labels = index.columns["label"].all()
    order = rng.permute(np.arange(len(index), dtype=np.int64), len(index), seed, 0)
    groups = [order[labels[order] == label] for label in np.unique(labels)] if by_class else [order]
    parts: list[list[Longs]] = [[] for _ in shares]
    edges = np.concatenate([[0.0], np.cumsum(shares)])
    for group in groups:
        cuts = np.round(edges * len(group)).astype(np.int64)
        for part, low, high in zip(parts, cuts[:-1], cuts[1:], strict=True):
            part.append(group[low:high])
    return [np.sort(np.concatenate(part)) for part in parts]


def check_filled(
    index: Index, names: Iterable[str], chosen: Iterable[Longs], *, by_class: bool
) -> None:
    """Raise UsageError where a part of `drawn` has no sample."""
    if empty := [name for name, rows in zip(names, chosen, strict=True) if not len(rows)]:
        way = "pass --by-sample, or give larger shares" if by_class else "give larger shares"
        what = "samples of each class" if by_class else "samples"
        raise UsageError(
            f"split: {', '.join(empty)} would be empty ({len(index):,} samples in "
            f"{len(index.classes):,} classes are too few {what} for these shares); {way}"
        )


def write(
    where: str, parts: Sequence[Part], *, overwrite: bool = False, committing: Committing = delayed
) -> SubsetSummary:
    """A data set at `where` with these rows, in this order of data sets and their shards.

    Raises ConversionError.
    """
    return write_all([(where, parts)], overwrite=overwrite, committing=committing)[0]


def write_all(
    wanted: Sequence[tuple[str, Sequence[Part]]],
    *,
    overwrite: bool = False,
    inside: bool = False,
    committing: Committing = delayed,
) -> list[SubsetSummary]:
    """A data set at each target, all or none: none is committed before all are prepared. Raises
    ConversionError.

    inside: no link is followed in their places; committing: as in job.run.
    """
    for where, _ in wanted:
        local_only(where)
    with ExitStack() as at_the_end, ExitStack() as held:
        ready = [
            held.enter_context(_prepared(where, parts, overwrite=overwrite, inside=inside))
            for where, parts in wanted
        ]
        at_the_end.enter_context(committing())
        done: list[Ready] = []
        try:
            for each in ready:
                commits.commit(each.folder, each.files, each.content, b"", linked=True)
                done.append(each)
        except BaseException:
            for each in done:
                commits.uncommit(each.folder)
            raise
    return [each.summary for each in ready]


class Ready(NamedTuple):
    """A data set of which only the commit is left. files: temporary name, final name."""

    folder: Folder
    files: Sequence[tuple[str, str]]
    content: memoryview | Staged  # of the index
    summary: SubsetSummary


@contextmanager
def _prepared(
    where: str, parts: Sequence[Part], *, overwrite: bool, inside: bool
) -> Iterator[Ready]:
    """The target is held meanwhile; what is not committed then is removed."""
    classes = merged_classes([part.index for part in parts])
    parts = [part for part in parts if len(part.rows)]
    if not parts:
        raise ConversionError(f"{where}: no sample is left; give other conditions")
    for part in parts:
        if os.path.realpath(part.index.where) == os.path.realpath(where):
            raise ConversionError(f"{where}: is the data set itself; give another folder")
    pa = import_arrow(where, ConversionError)
    files = new_files(parts)
    arrays = columns(pa, where, parts, files)
    count = len(arrays["size"])
    needed = sum(len(part.rows) for part in parts) * INDEX_ROW
    with target.being_written(
        target.Hold(where, inside=inside), needed, overwrite=overwrite
    ) as hold:
        pairs, copied = linked(files, hold.into)
        text = index_writer.metadata(
            count, classes, files.shards, Extras(files.sidecars, transcoded(parts))
        )
        index = index_writer.encode(pa, arrays, text)
        summary = SubsetSummary(where, count, len(classes), len(files.shards), copied)
        yield Ready(hold.into, pairs, index, summary)


def linked(files: NewFiles, folder: Folder) -> tuple[list[tuple[Inner, str]], int]:
    """The files under temporary names, each with its final one, and the bytes that were copied.

    Raises OSError.
    """
    pairs, copied = list[tuple[Inner, str]](), 0
    for source, name in files.links:
        temporary = below.temporary(name.removeprefix("shard-"), TEMPORARY)
        copied += link(source, folder, temporary)
        pairs.append((temporary, name))
    return pairs, copied


def link(source: str, folder: Folder, name: Inner) -> int:
    """Give a file a second name, or copy it where that cannot be; the bytes that were copied.

    Raises OSError.
    """
    try:
        # Of what a link in the source's place leads to
        os.link(source, name, dst_dir_fd=folder.descriptor)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        target.check_room(folder.path, os.stat(source).st_size)
        with (
            open(source, "rb", opener=no_wait) as whole,
            os.fdopen(folder.create(name), "wb") as copy,
        ):
            shutil.copyfileobj(whole, copy)
            copy.flush()
            os.fsync(copy.fileno())
            size = copy.tell()
        folder.allow(name)
        return size
    return 0
