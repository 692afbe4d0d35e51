"""The folder of a target and those above it: the user's own path, in which links are followed."""

import contextlib
import os
from collections.abc import Sequence

from fastload.errors import ConversionError
from fastload.files.below import opened


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
    with opened(parent) as above:
        above.sync()


def remove_folders(made: Sequence[str]) -> None:
    """Those of make_folders, as far as they are empty."""
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
