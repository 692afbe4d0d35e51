"""The folder that a conversion writes: locked, cleaned, and committed by one rename.

While `.fastload-index.arrow` lies in the folder, it is an unfinished conversion and all shards in it may be removed.
Renaming that file to `index.arrow` is the commit; everything else is on disk by then.
"""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Iterator, Sequence

from fastload import _native
from fastload.conversion import journal
from fastload.conversion.units import human
from fastload.errors import ConversionError
from fastload.sources import sums
from fastload.sources.seek_merge import try_lock
from fastload.sources.shards import BAD, INDEX, SHARD_NAME, SIDECAR_NAME, SUM, TEMPORARY

UNFINISHED = TEMPORARY + INDEX
JOURNAL = TEMPORARY + "journal"  # what is done so far; docs/formats.md
CHUNK = 1 << 24  # bytes per write


class Hold:
    """A place that a conversion holds. keep: what is done stays on an error, for --resume; strange: it is another job's, and stays."""

    def __init__(self, folder: str) -> None:
        self.folder, self.keep, self.strange = folder, False, False

    @property
    def journal(self) -> str:
        return os.path.join(self.folder, JOURNAL)

    def stays(self, error: BaseException) -> bool:
        """Whether to leave the parts where they are. A refusal (bad samples, say) leaves nothing; what broke off may go on."""
        self.keep = self.strange or (self.keep and not isinstance(error, ConversionError))
        return self.keep


@contextlib.contextmanager
def being_written(where: str, needed: int, *, overwrite: bool, resume: bool = False) -> Iterator[Hold]:
    """Hold the folder `where` for a conversion of `needed` bytes; on an error nothing is left in it but what `resume` needs.

    Raises ConversionError if it may not be written, is in use or has too little room, and for every OSError inside.
    """
    made: list[str] = []
    hold = Hold(where)
    try:
        with translated(where, needed, hold):
            make_folders(where, made)
            with locked(where):
                check_empty(where, overwrite=overwrite)
                with marked(where, needed, hold, resume=resume):
                    yield hold
    except BaseException:
        remove_folders([] if hold.keep else made)
        raise


@contextlib.contextmanager
def being_extended(where: str, needed: int) -> Iterator[None]:
    """Hold a committed data set to add `needed` bytes; on any error it stays as it was. Raises ConversionError as above."""
    with translated(where, needed), locked(where), marked(where, needed, Hold(where)):
        yield


@contextlib.contextmanager
def marked(where: str, needed: int, hold: Hold, *, resume: bool = False) -> Iterator[None]:
    """UNFINISHED stands in the folder meanwhile, so that what a kill leaves is known and removed, or used, by the next run."""
    if not (resume and take_back(where)):
        discard(where)
    check_room(where, needed - sum(_size(where, name) for name in os.listdir(where) if name.startswith(TEMPORARY)))
    try:
        write(os.path.join(where, UNFINISHED), b"")
        sync_folder(where)
        yield
    except BaseException as error:
        if not hold.stays(error):
            with contextlib.suppress(OSError):  # the first error is the one to tell
                discard(where)
        raise


def take_back(where: str) -> bool:
    """Undo a commit that was interrupted, by what the journal says; whether there is a conversion to go on with."""
    names = set(os.listdir(where))
    if not {UNFINISHED, JOURNAL} <= names:
        return False
    if INDEX not in names:
        for record in journal.read(os.path.join(where, JOURNAL))[0]:
            for temporary, final in record.get("commit", ()):
                if temporary not in names and final in names:
                    os.rename(os.path.join(where, final), os.path.join(where, temporary))
        sync_folder(where)
    return True


def _size(where: str, name: str) -> int:
    with contextlib.suppress(OSError):
        return os.stat(os.path.join(where, name)).st_size
    return 0


def replace_index(where: str, sidecars: Sequence[tuple[str, str]], index: memoryview, old: int) -> None:
    """Put sidecars (temporary name, final name) beside the shards and the new index in the old one's place.

    old: the old index's checksum. SUM names both while the index is renamed, so the data set opens all the time.
    """
    new, both = sums.text(index), sums.line(old) + sums.line(_native.xxh3(index))
    for temporary, final in sidecars:
        os.rename(os.path.join(where, temporary), os.path.join(where, final))
    write(os.path.join(where, UNFINISHED), index)
    for content in (both, new):
        write(os.path.join(where, TEMPORARY + SUM), content)
        os.rename(os.path.join(where, TEMPORARY + SUM), os.path.join(where, SUM))
        sync_folder(where)
        if content != new:
            os.rename(os.path.join(where, UNFINISHED), os.path.join(where, INDEX))
            sync_folder(where)


def commit(where: str, parts: Sequence[tuple[str, str]], index: memoryview, bad: bytes) -> None:
    """Make the data set visible. parts: (temporary name, final name); bad: the content of BAD, if any."""
    names = list(parts)
    for final, content in ((SUM, sums.text(index)), (BAD, bad)):
        if content:
            write(os.path.join(where, TEMPORARY + final), content)
            names.append((TEMPORARY + final, final))
    write(os.path.join(where, UNFINISHED), index)
    remove_old(where)
    for temporary, final in names:
        os.rename(os.path.join(where, temporary), os.path.join(where, final))
    sync_folder(where)
    os.rename(os.path.join(where, UNFINISHED), os.path.join(where, INDEX))
    try:
        sync_folder(where)
    except OSError:  # not known to be on disk: take it back
        os.rename(os.path.join(where, INDEX), os.path.join(where, UNFINISHED))
        raise
    with contextlib.suppress(OSError):  # the data set is whole; the next conversion removes it
        os.unlink(os.path.join(where, JOURNAL))


def remove_old(where: str) -> None:
    """The data set that is being replaced: the index first, for good, so that no old index meets a new shard."""
    if os.path.exists(os.path.join(where, INDEX)):
        os.unlink(os.path.join(where, INDEX))
        sync_folder(where)
    for name in os.listdir(where):
        if is_part(name):
            os.unlink(os.path.join(where, name))


def discard(where: str) -> None:
    """Remove what an unfinished conversion left; a committed data set is not touched."""
    names = os.listdir(where)
    if UNFINISHED not in names:
        if JOURNAL in names:  # killed right behind its commit
            os.unlink(os.path.join(where, JOURNAL))
        return
    mine = [name for name in names if name.startswith(TEMPORARY) and name != UNFINISHED]
    if INDEX not in names:
        mine += [name for name in names if is_part(name)]
    for name in (*mine, UNFINISHED):  # the mark goes last: a kill in between leaves it to the next run
        os.unlink(os.path.join(where, name))


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


def make_folders(where: str, made: list[str]) -> None:
    """Create the folder and its parents; appends to `made` those that were not there, outermost first."""
    if os.path.isdir(where):
        return
    if os.path.lexists(where):
        raise ConversionError(f"{where}: is a file, want a folder; give another path")
    parent = os.path.dirname(where)
    if parent:
        make_folders(parent, made)
    os.mkdir(where)
    made.append(where)
    sync_folder(parent or ".")


def remove_folders(made: Sequence[str]) -> None:
    """Those of make_folders, as far as they are empty."""
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


@contextlib.contextmanager
def locked(where: str, patience: float = 0) -> Iterator[None]:
    """One conversion at a time; the lock goes with the process, so a killed one leaves none. patience: s to wait for another."""
    folder, until = os.open(where, os.O_RDONLY | os.O_DIRECTORY), time.monotonic() + patience
    try:
        while not try_lock(folder):
            if time.monotonic() >= until:
                raise BlockingIOError
            time.sleep(0.01)
    except BlockingIOError:
        os.close(folder)
        raise ConversionError(f"{where}: another conversion is writing there; wait for it or give another folder") from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        os.close(folder)


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


def write(path: str, content: bytes | memoryview) -> None:
    """A file with this content, on disk when this returns."""
    view = memoryview(content)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        while view:
            view = view[os.write(file, view[:CHUNK]) :]
        os.fsync(file)
    finally:
        os.close(file)


def sync_folder(where: str) -> None:
    """Names in the folder are on disk when this returns."""
    folder = os.open(where, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
