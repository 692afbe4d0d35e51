"""A target that appears all at once: written in a hidden folder beside it, renamed when it is
whole.

PARENT/.fastload-NAME/ holds the journal, a lock and `data`, a folder or a file. Renaming `data` to
PARENT/NAME is the commit. The hidden folder is the user's alone: nobody else can put anything
there.
"""

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence

from fastload.conversion import commits, journal, target
from fastload.conversion.parents import inner, make_folders, remove_folders
from fastload.errors import ConversionError
from fastload.files.below import Folder, opened, own
from fastload.files.names import Inner
from fastload.sources.shards import TEMPORARY

DATA, OLD = Inner("data"), Inner("old")
MODE = 0o700


class Stage(target.Hold):
    """Where the parts are written. data: what becomes the target."""

    def __init__(self, where: str) -> None:
        self.where, self.final = where, os.path.abspath(where)
        parent, self.name = os.path.split(self.final)
        super().__init__(os.path.join(parent, TEMPORARY + self.name))
        self.data = os.path.join(self.folder, DATA)
        self._lock = threading.Lock()
        self._into: Folder | None = None
        self._made: tuple[int, int] | None = None  # device and inode of what becomes the target

    def writes(self, descriptor: int) -> None:
        """This open file or folder is what becomes the target, and nothing that is put in its place
        meanwhile.
        """
        facts = os.fstat(descriptor)
        self._made = facts.st_dev, facts.st_ino

    @property
    def into(self) -> Folder:
        """The folder `data`, made when it is first asked for."""
        with self._lock:
            if self._into is None:
                self._into = self.at.folder(DATA, make=True)
                self.writes(self._into.descriptor)
            return self._into

    @contextlib.contextmanager
    def lent(self, folder: Folder) -> Iterator[None]:
        before, self._into = self._into, folder
        try:
            yield
        finally:
            self._into = before

    def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Final names of files in the data folder, where they differ, and their final modes."""
        for temporary, final in pairs:
            if temporary != final:
                self.into.put(Inner(temporary), Inner(final))

    def commit(self) -> None:
        """Put the data in the target's place."""
        name = own(self.name)
        with opened(os.path.dirname(self.final)) as parent:
            is_folder = self.at.is_folder(DATA)
            if is_folder:
                self.into.sync()
            self.at.sync()
            self._require_ours(self.at, DATA)
            if os.path.isdir(self.final) and not os.listdir(self.final):
                os.rmdir(name, dir_fd=parent.descriptor)
            if moved := parent.has(name) and is_folder:
                # A folder cannot be renamed over one that is not empty
                parent.rename(name, OLD, self.at)
            try:
                self.at.rename(DATA, name, parent)
                self._require_ours(parent, name)
            except OSError:
                with contextlib.suppress(OSError):
                    if parent.has(name):
                        parent.remove(name)
                    if moved:
                        self.at.rename(OLD, name, parent)
                raise
            parent.sync()

    def _require_ours(self, folder: Folder, name: Inner) -> None:
        """Raises OSError for anything that was put in the place of what was written."""
        facts = folder.facts(name)
        if facts is None or (facts.st_dev, facts.st_ino) != self._made:
            raise OSError(errno.ESTALE, "Was replaced while it was written", self.data)

    def close(self) -> None:
        """The stage is not written any more."""
        if self._into is not None:
            self._into.close()
            self._into = None


@contextlib.contextmanager
def being_staged(
    stage: Stage, needed: int, check: Callable[[str], None], *, resume: bool
) -> Iterator[Stage]:
    """Hold the stage for a conversion of `needed` bytes. check: raises ConversionError if what
    stands at the target may not be replaced.

    Raises ConversionError as target.being_written does; on an error the target is as it was.
    """
    created: list[str] = []
    where = stage.where
    with leaving_nothing(stage, created), target.translated(where, needed, stage):
        check(where)
        make_folders(os.path.dirname(stage.final), created)
        with (
            private(stage.folder) as folder,
            target.lock(folder),
            stage.holding(folder),
            contextlib.closing(stage),
        ):
            with _prepared(stage, where, needed, check, resume=resume):
                yield stage
            cleared(stage)


@contextlib.contextmanager
def leaving_nothing(hold: target.Hold, created: list[str]) -> Iterator[None]:
    """After an error what is held goes, empty, with the folders that were created above it; unless
    something is kept.
    """
    try:
        yield
    except BaseException:
        if not hold.keep:
            with contextlib.suppress(OSError):
                os.rmdir(hold.folder)
            remove_folders(created)
        raise


def cleared(hold: target.Hold) -> None:
    """All is done: the folder that is held goes, with what is left in it."""
    with contextlib.suppress(OSError):
        hold.at.clear()
        os.rmdir(hold.folder)


def private(where: str) -> Folder:
    """The hidden folder, which nobody else can enter.

    Raises ConversionError for what another user, or a link, has put in its place.
    """
    folder = inner(where, MODE)
    try:
        facts, mine = os.fstat(folder.descriptor), os.geteuid()
        if facts.st_uid != mine:
            raise ConversionError(
                f"{where}: belongs to user {facts.st_uid} (want {mine}); remove it, or give "
                "another target"
            )
        if facts.st_mode & 0o077:
            with contextlib.suppress(PermissionError):  # a file system without modes
                os.fchmod(folder.descriptor, MODE)
    except BaseException:
        folder.close()
        raise
    return folder


@contextlib.contextmanager
def _prepared(
    stage: Stage, where: str, needed: int, check: Callable[[str], None], *, resume: bool
) -> Iterator[None]:
    restore(stage)
    check(where)
    if not resume:
        stage.at.clear()
    else:
        take_back(stage)
    target.check_room(stage.folder, needed - taken(stage.at))
    try:
        yield
    except BaseException as error:
        if not stage.stays(error):
            with contextlib.suppress(OSError):
                stage.at.clear()
        raise


def restore(stage: Stage) -> None:
    """Put back what a commit had moved away when it was killed."""
    if not stage.at.has(OLD):
        return
    with opened(os.path.dirname(stage.final)) as parent:
        if parent.has(own(stage.name)) or not stage.at.is_folder(OLD):
            stage.at.remove_tree(OLD)
            return
        stage.at.rename(OLD, own(stage.name), parent)
        parent.sync()


def take_back(stage: Stage) -> None:
    """Temporary names again for files that a killed commit had renamed, by what the journal says;
    parts that were cut off are removed.
    """
    records = journal.read(stage.journal)[0]
    if not stage.at.is_folder(DATA):
        return
    commits.undo(stage.into, records)
    known = set(journal.files(records))
    for folder, path, names in stage.into.files():
        for name in names:
            if f"{path}{name}" not in known:
                folder.remove(name)


def taken(whole: Folder) -> int:
    """Bytes of the files in a folder and below."""
    return sum(folder.size(name) for folder, _, names in whole.files() for name in names)


def replaceable(belongs: Callable[[str], bool], *, overwrite: bool) -> Callable[[str], None]:
    """A check for being_staged: a new or empty folder, or with `overwrite` one that holds only
    files that `belongs`.
    """

    def check(where: str) -> None:
        if os.path.lexists(where) and not os.path.isdir(where):
            raise ConversionError(f"{where}: is a file, want a folder; give another path")
        names = sorted(os.listdir(where)) if os.path.isdir(where) else []
        foreign = [name for name in names if not belongs(name)]
        if foreign:
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise ConversionError(
                f"{where}: is not empty (holds {', '.join(map(repr, foreign[:3]))}{more}); give a "
                "new or empty folder"
            )
        if names and not overwrite:
            raise ConversionError(
                f"{where}: holds a data set already; give another folder, or --overwrite to "
                "replace it"
            )

    return check
