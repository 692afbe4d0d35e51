"""The folder of a target and those above it: the user's own path, in which links are followed, and
what is made in it.
"""

import contextlib
import errno
import os
from collections.abc import Sequence

from fastload.errors import ConversionError
from fastload.files.below import Folder, opened, own

NO_FOLDER = (errno.ELOOP, errno.ENOTDIR)


def make_folders(where: str, created: list[str]) -> None:
    """Create the folder and its parents; appends to `made` those that were not there, outermost
    first.
    """
    if os.path.isdir(where):
        return
    if os.path.lexists(where):
        raise ConversionError(f"{where}: is a file, want a folder; give another path")
    parent = os.path.dirname(where.rstrip("/"))
    if parent:
        make_folders(parent, created)
    os.mkdir(where)
    created.append(where)
    with opened(parent) as above:
        above.sync()


def inner(where: str, mode: int = 0o777) -> Folder:
    """The folder, made where there is none: one whose name is ours and not the user's, so that
    whoever made what lies beside it may have put a link there. Raises ConversionError for that;
    OSError.
    """
    parent, name = os.path.split(where)
    with opened(parent) as above:
        try:
            folder = above.folder(own(name), make=True, mode=mode)
        except OSError as error:
            if error.errno not in NO_FOLDER:
                raise
            raise ConversionError(
                f"{where}: is a link or a file, want a folder; remove it"
            ) from error
        try:
            above.sync()
        except BaseException:
            folder.close()
            raise
        return folder


def remove_folders(created: Sequence[str]) -> None:
    """Those of make_folders, as far as they are empty."""
    for folder in reversed(created):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
