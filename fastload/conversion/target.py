"""The folder that a conversion writes: locked, cleaned, and committed by one rename.

While `.fastload-index.arrow` lies in the folder, it is an unfinished conversion and all shards in it may be removed.
Renaming that file to `index.arrow` is the commit; everything else is on disk by then.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Container, Iterator, Sequence

from fastload import _native
from fastload.conversion import journal
from fastload.conversion.parents import inner, make_folders, remove_folders
from fastload.conversion.units import human
from fastload.errors import ConversionError
from fastload.files.below import PLAIN, PRIVATE, Folder, Place, opened
from fastload.files.names import Inner
from fastload.sources import sums
from fastload.sources.seek_merge import try_lock
from fastload.sources.shards import BAD, INDEX, SHARD_NAME, SIDECAR_NAME, SUM, TEMPORARY

UNFINISHED = Inner(TEMPORARY + INDEX)
JOURNAL = Inner(TEMPORARY + "journal")  # what is done so far; docs/formats.md
LEFT = re.compile(re.escape(TEMPORARY) + r".*\.[0-9a-f]{16}\.new")  # of files that are replaced
FINAL, FINAL_SUM = Inner(INDEX), Inner(SUM)


class Hold:
    """A place that a conversion holds. keep: what is done stays on an error, for --resume; strange: it is another job's, and stays."""

    def __init__(self, folder: str, *, inside: bool = False) -> None:
        """inside: its name is not the user's own path's last part, so that no link is followed there."""
        self.folder, self.inside, self.keep, self.strange = folder, inside, False, False
        self._open: Folder | None = None

    @property
    def at(self) -> Folder:
        """The folder, open while it is held."""
        if self._open is None:
            raise ValueError(f"{self.folder}: is not held")
        return self._open

    @contextlib.contextmanager
    def holding(self, folder: Folder) -> Iterator[None]:
        """`folder` is the open one inside the block."""
        self._open = folder
        try:
            yield
        finally:
            self._open = None

    @property
    def into(self) -> Folder:
        """Where parts are written."""
        return self.at

    @property
    def journal(self) -> Place:
        return Place(self.at, JOURNAL)

    def stays(self, error: BaseException) -> bool:
        """Whether to leave the parts where they are. A refusal (bad samples, say) leaves nothing; what broke off may go on."""
        self.keep = self.strange or (self.keep and not isinstance(error, ConversionError))
        return self.keep


@contextlib.contextmanager
def being_written(hold: Hold, needed: int, *, overwrite: bool, resume: bool = False) -> Iterator[Hold]:
    """Hold its folder for a conversion of `needed` bytes; on an error nothing is left in it but what `resume` needs.

    Raises ConversionError if it may not be written, is in use or has too little room, and for every OSError inside.
    """
    made: list[str] = []
    where = hold.folder
    try:
        with translated(where, needed, hold):
            make_folders(where, made)
            with inner(where) if hold.inside else opened(where) as folder, lock(folder), hold.holding(folder):
                check_empty(where, overwrite=overwrite)
                with marked(hold, needed, resume=resume):
                    yield hold
    except BaseException:
        remove_folders([] if hold.keep else made)
        raise


@contextlib.contextmanager
def being_extended(where: str, needed: int) -> Iterator[Folder]:
    """Hold a committed data set to add `needed` bytes; on any error it stays as it was. Raises ConversionError as above."""
    hold = Hold(where)
    with translated(where, needed), locked(where) as folder, hold.holding(folder), marked(hold, needed):
        yield folder


@contextlib.contextmanager
def marked(hold: Hold, needed: int, *, resume: bool = False) -> Iterator[None]:
    """UNFINISHED stands in the folder meanwhile, so that what a kill leaves is known and removed, or used, by the next run."""
    folder = hold.at
    if not (resume and take_back(folder)):
        discard(folder)
    check_room(hold.folder, needed - sum(folder.size(name) for name in folder.names() if name.startswith(TEMPORARY)))
    try:
        _mark(folder)
        yield
    except BaseException as error:
        if not hold.stays(error):
            with contextlib.suppress(OSError):  # the first error is the one to tell
                discard(folder)
        raise


def _mark(folder: Folder) -> None:
    """Made in place: nothing else of ours may lie there before the mark does."""
    if not folder.is_plain(UNFINISHED):
        if folder.has(UNFINISHED):
            folder.remove(UNFINISHED)
        folder.write(UNFINISHED, b"")
    folder.sync()


def take_back(folder: Folder) -> bool:
    """Undo a commit that was interrupted, by what the journal says; whether there is a conversion to go on with."""
    names = set(folder.names())
    if not {UNFINISHED, JOURNAL} <= names:
        return False
    records = journal.read(Place(folder, JOURNAL))[0]
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


def replace_index(folder: Folder, sidecars: Sequence[tuple[str, str]], index: memoryview, old: int) -> None:
    """Put sidecars (temporary name, final name) beside the shards and the new index in the old one's place.

    old: the old index's checksum. SUM names both while the index is renamed, so the data set opens all the time.
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


def commit(folder: Folder, parts: Sequence[tuple[str, str]], index: memoryview, bad: bytes, *, linked: bool = False) -> None:
    """Make the data set visible. parts: (temporary name, final name); bad: the content of BAD, if any.

    linked: the parts are second names of others' files, whose modes stay.
    """
    written = [(Inner(TEMPORARY + name), Inner(name), content) for name, content in ((SUM, sums.text(index)), (BAD, bad)) if content]
    for temporary, _, content in written:
        folder.replace(temporary, content, PRIVATE, prefix=TEMPORARY)
    folder.replace(UNFINISHED, index, PRIVATE, prefix=TEMPORARY)
    remove_old(folder)
    put = folder.rename if linked else folder.put
    for first, final in parts:
        put(Inner(first), Inner(final))
    for temporary, name, _ in written:
        folder.put(temporary, name)
    remove_temporary(folder, (UNFINISHED, JOURNAL))  # of parts that were found damaged, and made again under other names
    folder.sync()
    folder.put(UNFINISHED, FINAL)
    try:
        folder.sync()
    except OSError:  # not known to be on disk: take it back
        folder.rename(FINAL, UNFINISHED)
        raise
    with contextlib.suppress(OSError):  # the data set is whole; the next conversion removes it
        folder.remove(JOURNAL)


def uncommit(folder: Folder) -> None:
    """A data set that was just committed is unfinished again, and goes with what holds its folder."""
    with contextlib.suppress(OSError):
        if folder.has(FINAL):
            folder.rename(FINAL, UNFINISHED)


def remove_old(folder: Folder) -> None:
    """The data set that is being replaced: the index first, for good, so that no old index meets a new shard."""
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
    for name in (*mine, UNFINISHED):  # the mark goes last: a kill in between leaves it to the next run
        folder.remove(name)


def is_part(name: str) -> bool:
    """Whether a file name belongs to a data set, beside the index."""
    return name in (SUM, BAD) or any(pattern.fullmatch(name) for pattern in (SHARD_NAME, SIDECAR_NAME))


def check_empty(where: str, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an unfinished conversion or, with `overwrite`, a data set."""
    names = os.listdir(where)
    if INDEX in names and not overwrite:
        raise ConversionError(f"{where}: holds a data set already; give another folder, or --overwrite to replace it")
    ours = INDEX in names or UNFINISHED in names
    foreign = sorted(name for name in names if not (ours and (name == INDEX or name.startswith(TEMPORARY) or is_part(name))))
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise ConversionError(f"{where}: is not empty (holds {', '.join(map(repr, foreign[:3]))}{more}); give a new or empty folder")


def check_room(where: str, needed: int) -> None:
    free = shutil.disk_usage(where).free
    if free < needed:
        raise ConversionError(
            f"{where}: too little room (needs up to {human(needed)}, {human(free)} free); free some or give another folder"
        )


@contextlib.contextmanager
def locked(where: str, patience: float = 0) -> Iterator[Folder]:
    """The folder, open and locked. patience: s to wait for another."""
    with opened(where) as folder, lock(folder, patience):
        yield folder


@contextlib.contextmanager
def lock(folder: Folder, patience: float = 0) -> Iterator[None]:
    """One conversion at a time; the lock goes with the process, so a killed one leaves none."""
    until = time.monotonic() + patience
    try:
        while not try_lock(folder.descriptor):
            if time.monotonic() >= until:
                raise BlockingIOError
            time.sleep(0.01)
    except BlockingIOError:
        raise ConversionError(f"{folder.path}: another conversion is writing there; wait for it or give another folder") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(folder.descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def translated(where: str, needed: int, hold: Hold | None = None) -> Iterator[None]:
    """Every OSError as one line of what happened and what to do."""
    try:
        yield
    except OSError as error:
        what = f"{where}: cannot be written ({error.strerror or error}"
        left = "what is done is kept: go on with --resume" if hold and hold.keep else "nothing was left there"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = f"{what}; needs up to {human(needed)}); free some room or give another folder; {left}"
        else:
            text = f"{what}); check the folder's permissions and its disk; {left}"
        raise ConversionError(text) from error
