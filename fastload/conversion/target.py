"""The folder that a conversion writes, held while it does so: locked, cleaned, with room enough.

What lies in it and how it becomes visible: commits.py.
"""

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence

from fastload.conversion.commits import (
    DROP,
    JOURNAL,
    UNFINISHED,
    discard,
    is_part,
    take_back,
)
from fastload.conversion.parents import inner, make_folders, remove_folders
from fastload.conversion.parts import Written
from fastload.conversion.units import human
from fastload.errors import ConversionError
from fastload.files.below import DirEntry, Folder, opened
from fastload.files.names import Inner
from fastload.sources.shard_index import INDEX
from fastload.sources.shards import TEMPORARY
from fastload.system import locks


class Hold:
    """A path that a conversion holds.

    keep: what is done stays on an error, for --resume; strange: it is another job's, and stays.
    """

    def __init__(self, folder: str, *, inside: bool = False) -> None:
        """inside: its name is not the user's own path's last part, so that no link is followed
        there.
        """
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

    @contextlib.contextmanager
    def lent(self, folder: Folder) -> Iterator[None]:
        """Parts are written into `folder` inside the block, by a process that holds nothing else:
        the conversion takes them from there.
        """
        with self.holding(folder):
            yield

    @property
    def into(self) -> Folder:
        """Where parts are written."""
        return self.at

    @property
    def journal(self) -> DirEntry:
        return DirEntry(self.at, JOURNAL)

    def whole(
        self,
        number: int,
        part: Written,
        note: Callable[[Written], None],
        check: Callable[[], None],
    ) -> None:
        """Part `number` is on the disk: `note` it, from any thread, once it is where it stays.

        check: asked while this waits; raises to give up.
        """
        note(part)

    @contextlib.contextmanager
    def settling(self) -> Iterator[None]:
        """Around all calls of `whole`: all parts are noted when this ends, or given up."""
        yield

    def stays(self, error: BaseException) -> bool:
        """Whether to leave the parts where they are.

        A refusal (bad samples, say) leaves nothing; what broke off may go on.
        """
        self.keep = self.strange or (self.keep and not isinstance(error, ConversionError))
        return self.keep


@contextlib.contextmanager
def being_written(
    hold: Hold, needed: int, *, overwrite: bool, resume: bool = False
) -> Iterator[Hold]:
    """Hold its folder for a conversion of `needed` bytes; on an error nothing is left in it but
    what `resume` needs.

    Raises ConversionError if it may not be written, is in use or has too little room, and for every
    OSError inside.
    """
    created: list[str] = []
    where = hold.folder
    try:
        with translated(where, needed, hold):
            make_folders(where, created)
            with (
                inner(where) if hold.inside else opened(where) as folder,
                lock(folder),
                hold.holding(folder),
            ):
                check_empty(where, overwrite=overwrite)
                with marked(hold, needed, resume=resume):
                    yield hold
    except BaseException:
        remove_folders([] if hold.keep else created)
        raise


@contextlib.contextmanager
def being_extended(where: str, needed: int) -> Iterator[Folder]:
    """Hold a committed data set to add `needed` bytes; on any error it stays as it was.

    Raises ConversionError as above.
    """
    with translated(where, needed), locked(where) as folder, extending(where, folder, needed):
        yield folder


@contextlib.contextmanager
def extending(where: str, folder: Folder, needed: int) -> Iterator[None]:
    """The same of one that is locked already."""
    hold = Hold(where)
    with translated(where, needed), hold.holding(folder), marked(hold, needed):
        yield


@contextlib.contextmanager
def marked(hold: Hold, needed: int, *, resume: bool = False) -> Iterator[None]:
    """UNFINISHED stands in the folder meanwhile, so that what a kill leaves is known and removed,
    or used, by the next run.
    """
    folder = hold.at
    if not (resume and take_back(folder)):
        discard(folder)
    check_room(hold.folder, needed - sum(_taken(folder, name) for name in folder.names()))
    try:
        _mark(folder)
        yield
    except BaseException as error:
        if not hold.stays(error):
            with contextlib.suppress(OSError):  # the first error is the one to tell
                discard(folder)
        raise


def _taken(folder: Folder, name: Inner) -> int:
    """Bytes of what a conversion has under a temporary name."""
    if not name.startswith(DROP):
        return folder.size(name) if name.startswith(TEMPORARY) else 0
    with folder.folder(name) as units:
        return sum(below.size(each) for below, _, names in units.files() for each in names)


def _mark(folder: Folder) -> None:
    """Made in place: nothing else of ours may lie there before the mark does."""
    if not folder.is_plain(UNFINISHED):
        if folder.has(UNFINISHED):
            folder.remove(UNFINISHED)
        folder.write(UNFINISHED, b"")
    folder.sync()


def check_empty(where: str, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything but an unfinished conversion or, with `overwrite`, a data
    set.
    """
    check_names(where, os.listdir(where), overwrite=overwrite)


def check_names(where: str, names: Sequence[str], *, overwrite: bool, kind: str = "folder") -> None:
    """The same of what lies there. kind: what `where` is."""
    if INDEX in names and not overwrite:
        raise ConversionError(
            f"{where}: holds a data set already; give another {kind}, or --overwrite to replace it"
        )
    ours = INDEX in names or UNFINISHED in names
    foreign = sorted(
        name
        for name in names
        if not (ours and (name == INDEX or name.startswith(TEMPORARY) or is_part(name)))
    )
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise ConversionError(
            f"{where}: is not empty (holds {', '.join(map(repr, foreign[:3]))}{more}); give a new "
            f"or empty {kind}"
        )


def check_room(where: str, needed: int) -> None:
    free = shutil.disk_usage(where).free
    if free < needed:
        raise ConversionError(
            f"{where}: too little room (needs up to {human(needed)}, {human(free)} free); free "
            "some or give another folder"
        )


@contextlib.contextmanager
def locked(where: str, patience: float = 0) -> Iterator[Folder]:
    """The folder, open and locked. patience: s to wait for another."""
    with opened(where) as folder, lock(folder, patience):
        yield folder


@contextlib.contextmanager
def lock(
    folder: Folder, patience: float = 0, *, where: str = "", kind: str = "folder"
) -> Iterator[None]:
    """One conversion at a time; the lock goes with the process, so a killed one leaves none.

    where: what the user calls it, and kind: what that is, if not the folder.
    """
    until = time.monotonic() + patience
    try:
        while not locks.try_lock(folder.descriptor):
            if time.monotonic() >= until:
                raise BlockingIOError
            time.sleep(0.01)
    except BlockingIOError:
        raise ConversionError(
            f"{where or folder.path}: another conversion is writing there; wait for it or give "
            f"another {kind}"
        ) from None
    except OSError:  # a file system without locks
        pass
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            locks.unlock(folder.descriptor)


@contextlib.contextmanager
def translated(where: str, needed: int, hold: Hold | None = None) -> Iterator[None]:
    """Every OSError as one line of what happened and what to do."""
    try:
        yield
    except OSError as error:
        what = f"{where}: cannot be written ({error.strerror or error}"
        left = (
            "what is done is kept: go on with --resume"
            if hold and hold.keep
            else "nothing was left there"
        )
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = (
                f"{what}; needs up to {human(needed)}); free some room or give another folder; "
                f"{left}"
            )
        else:
            text = f"{what}); check the folder's permissions and its disk; {left}"
        raise ConversionError(text) from error
