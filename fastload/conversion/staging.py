"""A target that appears all at once: written in a hidden folder beside it, renamed when it is whole.

PARENT/.fastload-NAME/ holds the journal, a lock and `data`, a folder or a file. Renaming `data` to PARENT/NAME is the commit.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence

from fastload.conversion import journal, target
from fastload.errors import ConversionError
from fastload.sources.shards import TEMPORARY

DATA, OLD = "data", "old"


class Stage(target.Hold):
    """Where the parts are written. data: what becomes the target."""

    def __init__(self, where: str) -> None:
        self.where, self.final = where, os.path.abspath(where)
        parent, name = os.path.split(self.final)
        super().__init__(os.path.join(parent, TEMPORARY + name))
        self.data, self.old = os.path.join(self.folder, DATA), os.path.join(self.folder, OLD)

    def rename(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Final names of files in the data folder, where they differ."""
        for temporary, final in pairs:
            if temporary != final:
                os.rename(os.path.join(self.data, temporary), os.path.join(self.data, final))

    def commit(self) -> None:
        """Put the data in the target's place."""
        if os.path.isdir(self.data):
            target.sync_folder(self.data)
        target.sync_folder(self.folder)
        if os.path.isdir(self.final) and not os.listdir(self.final):
            os.rmdir(self.final)
        if os.path.lexists(self.final) and os.path.isdir(self.data):
            os.rename(self.final, self.old)  # a folder cannot be renamed over one that is not empty
        os.rename(self.data, self.final)
        target.sync_folder(os.path.dirname(self.final))


@contextlib.contextmanager
def being_staged(stage: Stage, needed: int, check: Callable[[str], None], *, resume: bool) -> Iterator[Stage]:
    """Hold the stage for a conversion of `needed` bytes. check: raises ConversionError if what stands at the target may not be replaced.

    Raises ConversionError as target.being_written does; on an error the target is as it was.
    """
    made: list[str] = []
    where = stage.where
    try:
        with target.translated(where, needed, stage):
            check(where)
            target.make_folders(os.path.dirname(stage.final), made)
            target.make_folders(stage.folder, [])
            with target.locked(stage.folder):
                with _prepared(stage, where, needed, check, resume=resume):
                    yield stage
                shutil.rmtree(stage.folder, ignore_errors=True)
    except BaseException:
        if not stage.keep:
            with contextlib.suppress(OSError):
                os.rmdir(stage.folder)
            target.remove_folders(made)
        raise


@contextlib.contextmanager
def _prepared(stage: Stage, where: str, needed: int, check: Callable[[str], None], *, resume: bool) -> Iterator[None]:
    restore(stage)
    check(where)
    if not resume:
        clear(stage)
    else:
        take_back(stage)
    target.check_room(stage.folder, needed - taken(stage.folder))
    try:
        yield
    except BaseException as error:
        if not stage.stays(error):
            with contextlib.suppress(OSError):
                clear(stage)
        raise


def restore(stage: Stage) -> None:
    """Put back what a commit had moved away when it was killed."""
    if not os.path.lexists(stage.old):
        return
    if os.path.lexists(stage.final):
        shutil.rmtree(stage.old)
        return
    os.rename(stage.old, stage.final)
    target.sync_folder(os.path.dirname(stage.final))


def take_back(stage: Stage) -> None:
    """Temporary names again for files that a killed commit had renamed, by what the journal says."""
    for record in journal.read(stage.journal)[0]:
        for temporary, final in record.get("commit", ()):
            first, second = os.path.join(stage.data, temporary), os.path.join(stage.data, final)
            if not os.path.lexists(first) and os.path.lexists(second):
                os.rename(second, first)


def clear(stage: Stage) -> None:
    """Remove everything but the folder itself."""
    for name in os.listdir(stage.folder):
        path = os.path.join(stage.folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def taken(folder: str) -> int:
    """Bytes of the files in a folder and below."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def replaceable(belongs: Callable[[str], bool], *, overwrite: bool) -> Callable[[str], None]:
    """A check for being_staged: a new or empty folder, or with `overwrite` one that holds only files that `belongs`."""

    def check(where: str) -> None:
        if os.path.lexists(where) and not os.path.isdir(where):
            raise ConversionError(f"{where}: is a file, want a folder; give another path")
        names = sorted(os.listdir(where)) if os.path.isdir(where) else []
        foreign = [name for name in names if not belongs(name)]
        if foreign:
            more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
            raise ConversionError(f"{where}: is not empty (holds {', '.join(map(repr, foreign[:3]))}{more}); give a new or empty folder")
        if names and not overwrite:
            raise ConversionError(f"{where}: holds a data set already; give another folder, or --overwrite to replace it")

    return check
