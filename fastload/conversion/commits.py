"""How a data set becomes visible: one rename commits it.

What an interrupted commit left is undone or removed.

While `.fastload-index.arrow` lies in the folder, it is an unfinished conversion and all shards in
it may be removed.
Renaming that file to `index.arrow` is the commit; everything else is on disk by then.
"""

import contextlib
import re
from collections.abc import Container, Sequence

from fastload import _native
from fastload.conversion import journal
from fastload.conversion.index_file import Staged
from fastload.files.below import PLAIN, PRIVATE, DirEntry, Folder
from fastload.files.names import Inner
from fastload.sources import sums
from fastload.sources.shard_index import BAD, INDEX, SHARD_NAME, SIDECAR_NAME, SUM
from fastload.sources.shard_versions import NAMES as VERSION_NAME
from fastload.sources.shards import TEMPORARY

UNFINISHED = Inner(TEMPORARY + INDEX)


JOURNAL = Inner(TEMPORARY + "journal")  # what is done so far; docs/formats.md


# Folders of units that other processes have made: conversion/cluster/drop.py
DROP = TEMPORARY + "units-"


LEFT = re.compile(re.escape(TEMPORARY) + r".*\.[0-9a-f]{16}\.new")  # of files that are replaced


FINAL, FINAL_SUM = Inner(INDEX), Inner(SUM)


def take_back(folder: Folder) -> bool:
    """Undo a commit that was interrupted, by what the journal says; whether there is a conversion
    to go on with.
    """
    names = set(folder.names())
    if not {UNFINISHED, JOURNAL} <= names:
        return False
    records = journal.read(DirEntry(folder, JOURNAL))[0]
    if INDEX not in names:
        undo(folder, records)
        folder.sync()
    known = {*journal.files(records), UNFINISHED, JOURNAL}
    remove_temporary(folder, known)  # of a part that was cut off
    return True


def remove_temporary(folder: Folder, known: Container[str]) -> None:
    """Files under temporary names, but those that are `known`; a folder is another conversion's."""
    for name in folder.names():
        if name.startswith(TEMPORARY) and name not in known and not folder.is_folder(name):
            folder.remove(name)


def undo(folder: Folder, records: Sequence[journal.Record]) -> None:
    """Temporary names again for files that a killed commit had renamed."""
    for temporary, final in journal.committed(records):
        if not folder.has(temporary) and folder.is_plain(final):
            folder.rename(final, temporary)


def replace_index(
    folder: Folder, sidecars: Sequence[tuple[str, str]], index: memoryview, old: int
) -> None:
    """Put sidecars (temporary name, final name) beside the shards and the new index in the old
    one's place.

    old: the old index's checksum. SUM names both while the index is renamed, so the data set opens
        all the time.
    """
    new, both = sums.text(index), sums.line(old) + sums.line(_native.xxh3(index))
    for temporary, final in sidecars:
        folder.put(Inner(temporary), Inner(final))
    folder.replace(UNFINISHED, index, PRIVATE, prefix=TEMPORARY)
    for content in (both, new):
        folder.replace(FINAL_SUM, content, PLAIN, prefix=TEMPORARY)
        folder.sync()
        if content != new:
            folder.put(UNFINISHED, FINAL)
            folder.sync()


def commit(
    folder: Folder,
    parts: Sequence[tuple[str, str]],
    index: memoryview | Staged,
    bad: bytes,
    *,
    linked: bool = False,
) -> None:
    """Make the data set visible. parts: (temporary name, final name); bad: the content of BAD, if
    any.

    linked: the parts are second names of others' files, whose modes stay.
    """
    written = [
        (Inner(TEMPORARY + name), Inner(name), content)
        for name, content in ((SUM, sums_of(index)), (BAD, bad))
        if content
    ]
    for temporary, _, content in written:
        folder.replace(temporary, content, PRIVATE, prefix=TEMPORARY)
    if isinstance(index, Staged):
        folder.rename(index.name, UNFINISHED)
    else:
        folder.replace(UNFINISHED, index, PRIVATE, prefix=TEMPORARY)
    remove_old(folder)
    put = folder.rename if linked else folder.put
    for first, final in parts:
        put(Inner(first), Inner(final))
    for temporary, name, _ in written:
        folder.put(temporary, name)
    # Of parts that were found damaged, and made again under other names
    remove_temporary(folder, (UNFINISHED, JOURNAL))
    folder.sync()
    folder.put(UNFINISHED, FINAL)
    try:
        folder.sync()
    except OSError:  # not known to be on disk: take it back
        folder.rename(FINAL, UNFINISHED)
        raise
    with contextlib.suppress(OSError):  # the data set is whole; the next conversion removes it
        folder.remove(JOURNAL)


def sums_of(index: memoryview | Staged) -> bytes:
    """The file with its checksums."""
    return index.sums if isinstance(index, Staged) else sums.text(index)


def uncommit(folder: Folder) -> None:
    """Make a data set that was just committed unfinished again; it goes with its folder's hold."""
    with contextlib.suppress(OSError):
        if folder.has(FINAL):
            folder.rename(FINAL, UNFINISHED)


def remove_old(folder: Folder) -> None:
    """The data set that is being replaced: the index first, for good, so that no old index meets a
    new shard.
    """
    if folder.has(FINAL):
        folder.remove(FINAL)
        folder.sync()
    for name in folder.names():
        if is_part(name):
            folder.remove(name)


def discard(folder: Folder) -> None:
    """Remove what an unfinished conversion left; a committed data set is not touched."""
    names = folder.names()
    if UNFINISHED not in names:
        for name in names:  # killed right behind its commit
            if name == JOURNAL or (LEFT.fullmatch(name) and not folder.is_folder(name)):
                folder.remove(name)
        return
    mine = [name for name in names if name.startswith(TEMPORARY) and name != UNFINISHED]
    if INDEX not in names:
        mine += [name for name in names if is_part(name)]
    # The mark goes last: a kill in between leaves it to the next run.
    for name in (*mine, UNFINISHED):
        if name.startswith(DROP):
            folder.remove_tree(name)
        else:
            folder.remove(name)


def is_part(name: str) -> bool:
    """Whether a file name belongs to a data set, beside the index."""
    return name in (SUM, BAD) or any(
        pattern.fullmatch(name) for pattern in (SHARD_NAME, SIDECAR_NAME, VERSION_NAME)
    )
