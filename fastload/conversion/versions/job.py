"""A data set gets what it lacks of a source, loses samples, or both: one new version.

The new shards are made as a data set of their own in a hidden folder beside it, as any conversion
makes them, and that can be resumed. Then they become a part of the data set (changing.py). It is
locked all the while; whoever reads it needs no lock.
"""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from fastload.conversion import job, preparing, readers, seek_writer, subsets, workers
from fastload.conversion.cluster.on import On
from fastload.conversion.interrupts import Committing, delayed
from fastload.conversion.job import ConversionSummary
from fastload.conversion.options import Options
from fastload.conversion.parts import Bad, NothingLeftError
from fastload.conversion.parts_writer import Job, Origin
from fastload.conversion.readers import ANYTHING, Choice, Reader, fresh
from fastload.conversion.readers.fresh import Fresh
from fastload.conversion.versions import changing, left_out
from fastload.conversion.versions.changing import Change
from fastload.conversion.versions.local import LocalPlace
from fastload.conversion.versions.place import Place, place_of
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError, UsageError
from fastload.files.below import opened
from fastload.files.names import Inner
from fastload.sources.shard_index import Index
from fastload.spec import Longs

SHOWN = 3  # keys in a message
# Around the making of new shards: what shows their progress, of so many samples and bytes
Meter = Callable[[Job], AbstractContextManager[Advance]]


@dataclass(frozen=True)
class AppendSummary:
    """What became of a data set.

    Args:
        version: The newest; the one that there was, where nothing changed.
        added: Samples.
        deleted: Samples.
        there: Samples of the source that it had, and that stay as they are.
        changed: Of these, files that have another size in the source now.
        gone: Samples of the source that were deleted before, and stay deleted.
        samples, classes, shards: That there are now.
        bad: Samples of the source that were left out.
        conversion: What the making of the new shards said; None: none were made.
    """

    version: int
    added: int
    deleted: int
    there: int
    changed: int
    gone: int
    samples: int
    classes: int
    shards: int
    bad: tuple[Bad, ...] = ()
    conversion: ConversionSummary | None = None


@contextlib.contextmanager
def _silent(prepared: Job) -> Iterator[Advance]:
    yield workers.ignore


def append(
    source: str | Reader,
    where: str,
    options: Options,
    choice: Choice = ANYTHING,
    delete: Collection[str] = (),
    meter: Meter = _silent,
    committing: Committing = delayed,
    on: On | None = None,
) -> AppendSummary:
    """Add what the data set at `where` lacks of a source; its keys tell.

    source: A path, a URL, or `readers.from_iterable`. delete: Keys that go, so that the source's
    samples of these keys come in their place. on: What runs the units; None: threads.

    Raises SourceError, ConversionError, UsageError, StoreError; then the data set is as it was.
    """
    place = place_of(where, options)
    if on is not None and place.lacking is None:
        raise UsageError("append: what goes to a store is made by threads; leave --on out")
    with place.held(resume=options.resume):
        looked = look(source, where, options, choice, delete, place)
        old, found, rows = looked.index, looked.found, looked.staying
        made, bad = _made(looked.prepared, meter, on) if looked.prepared else (None, [])
        more = subsets.open_index(place.stage) if made else None
        now, version = _changed(place, Change(old, more, rows), committing)
        place.leave_out(bad)
        remove(place.stage)
    return AppendSummary(
        version, 0 if more is None else len(more), len(old) - len(rows), found.there,
        found.changed, found.deleted, len(now), len(now.classes), len(now.shards), tuple(bad), made,
    )  # fmt: skip


@dataclass(frozen=True)
class Looked:
    """What an append will do.

    staying: rows of the index; prepared: the making of the new shards; None: none are needed.
    """

    index: Index
    staying: Longs
    found: Fresh
    prepared: Job | None


def look(
    source: str | Reader,
    where: str,
    options: Options,
    choice: Choice = ANYTHING,
    delete: Collection[str] = (),
    place: Place | None = None,
) -> Looked:
    """The same arguments as of `append`; writes nothing. Raises as it does."""
    place, keys = place or place_of(where, options), frozenset(delete)
    if isinstance(source, str):
        preparing.refuse_nesting(source, place.where)
        reader: Reader = readers.open_reader(source, choice)
    else:
        reader = source
    index = place.index()
    deleted = place.deleted(place.versions(index))
    rows = staying(index, keys, deleted)
    as_they_are = options.edits.none and not options.transcode
    found = fresh.fresh(reader, fresh.has(index, deleted, keys), kept=as_they_are)
    if not len(found.reader):
        return Looked(index, rows, found, None)
    prepared = preparing.prepare_reader(found.reader, place.stage, _like(place, index, options))
    if isinstance(source, str) and place.lacking:
        chosen = replace(choice, lacking=place.lacking, renewed=tuple(sorted(keys)))
        prepared = replace(prepared, origin=Origin(source, place.stage, chosen))
    return Looked(index, rows, found, prepared)


def delete(
    where: str,
    keys: Collection[str],
    committing: Committing = delayed,
    options: Options | None = None,
) -> AppendSummary:
    """Take samples out of the data set at `where`; the shards stay as they are.

    options: of these resume, scratch, storage_options and deadline. Raises SourceError,
    ConversionError, StoreError; then the data set is as it was.
    """
    place = place_of(where, options)
    with place.held(resume=options is not None and options.resume):
        index = place.index()
        rows = staying(index, frozenset(keys))
        now, version = _changed(place, Change(index, None, rows), committing)
    return AppendSummary(
        version, 0, len(index) - len(rows), 0, 0, 0, len(now), len(now.classes), len(now.shards)
    )


def add(where: str, more: str) -> Index:
    """The shards of the data set in the folder `more` become a part of the one at `where`.

    Its new index. Raises ConversionError, SourceError; then the data set is as it was.
    """
    place = LocalPlace(where)
    with place.held(resume=False):
        old, new = place.index(), subsets.open_index(more)
        every = np.arange(len(old), dtype=np.int64)
        return _changed(place, Change(old, new, every), contextlib.nullcontext)[0]


def _changed(place: Place, change: Change, committing: Committing) -> tuple[Index, int]:
    """The index after the change, and its version; of no change those that there are."""
    old = change.old
    if not change.added and len(change.kept) == len(old):
        return old, place.versions(old)[-1].number
    with place.changed(change):
        new = changing.following(change)
        with committing():
            said = place.commit(change, new, time.time())
    return place.index(), said[-1].number


def _like(place: Place, index: Index, options: Options) -> Options:
    """A whole stage that was left is used or replaced."""
    return replace(
        options, seek_step=_step(place, index, options.seek_step), overwrite=True, scratch=None,
        storage_options=None, deadline=None,
    )  # fmt: skip


def _step(place: Place, index: Index, given: int | None) -> int | None:
    """The data set decides whether there are seek indexes, or coefficient layers. Raises UsageError
    where the other kind was asked for.
    """
    there = place.seek_step(index)
    if there in (None, seek_writer.COEFFICIENTS) or given in (None, seek_writer.STEP):
        return there
    if given == seek_writer.COEFFICIENTS:
        raise UsageError(
            f"append: {place.where} has seek indexes (got --layer coefficients); leave --layer "
            f"out, or run fastload index {place.where} --layer coefficients first"
        )
    return given


def _made(prepared: Job, meter: Meter, on: On | None) -> tuple[ConversionSummary | None, list[Bad]]:
    """The hidden data set, and what was left out of it."""
    try:
        with meter(prepared) as advance:
            done = job.run(prepared, advance, on=on)
    except NothingLeftError as error:
        if prepared.options.on_error != "skip":
            raise
        return None, list(error.bad)
    return done, left_out.read(prepared.where) if done.whole else list(done.bad)


def staying(index: Index, keys: Collection[str], deleted: Collection[str] = ()) -> Longs:
    """int64 [K]: the rows without these keys. deleted: those that are allowed to be missing.

    Raises ConversionError for keys that it does not have.
    """
    every = np.arange(len(index), dtype=np.int64)
    if not keys:
        return every
    have = fresh.keys_of(index)
    if unknown := sorted(set(keys) - set(have) - set(deleted)):
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        raise ConversionError(
            f"{index.where}: has no sample {', '.join(map(repr, unknown[:SHOWN]))}{more}; give "
            "keys of its index, without an extension"
        )
    return every[np.fromiter((key not in keys for key in have), np.bool_, len(have))]


def remove(stage: str) -> None:
    """The hidden data set; its shards have their second names by now."""
    with contextlib.suppress(OSError), opened(os.path.dirname(stage)) as parent:
        parent.remove_tree(Inner(os.path.basename(stage)))


def keys_in(said: Sequence[str]) -> list[str]:
    """Of what a user names: keys, or files with a key per line. Raises UsageError."""
    keys = list[str]()
    for each in said:
        if not os.path.isfile(each):
            keys.append(each)
            continue
        try:
            with open(each, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
                lines = file.read().split("\n")
            if any("\0" in line for line in lines):
                raise UsageError(
                    f"{each}: holds no keys (got zero bytes, want a key per line); give a key as "
                    "the index has it, without an extension"
                )
            keys += [key for line in lines if (key := line.removesuffix("\r"))]
        except OSError as error:
            raise UsageError(
                f"{each}: cannot be read ({error.strerror}); give a file with a key per line"
            ) from error
    return keys
