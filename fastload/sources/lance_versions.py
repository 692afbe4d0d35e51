"""Versions of a Lance data set: each has a manifest in `_versions`. Without that library.

A manifest is called after its version, or after 2**64 - 1 less it, so that the newest one is listed
first. Source: Lance's table format, "Manifest naming schemes".
"""

import os
import re
from typing import NamedTuple

from fastload.errors import SourceError
from fastload.sources.span_index import Stamp

VERSIONS = "_versions"
MANIFEST = re.compile(r"([0-9]{1,20})\.manifest")
DIGITS, NEWEST = 20, (1 << 64) - 1  # of names that are counted down, and from where
REMEDY = "give the folder of a Lance data set, such as train.lance"


class Version(NamedTuple):
    """One that is there.

    Args:
        number: 1 or more.
        stamp: Of its manifest.
    """

    number: int
    stamp: Stamp


def newest(where: str) -> Version:
    """The latest version in the folder `where`. Raises SourceError."""
    folder = os.path.join(where, VERSIONS)
    try:
        found = [(number_of(name), name) for name in os.listdir(folder)]
        number, name = max(found, default=(0, ""))
        if not number:
            raise SourceError(f"{where}: has no versions in {VERSIONS}; {REMEDY}")
        return Version(number, Stamp.of(os.stat(os.path.join(folder, name))))
    except OSError as error:
        raise SourceError(
            f"{folder}: cannot be read ({error.strerror or error}); {REMEDY}"
        ) from error


def number_of(name: str) -> int:
    """Of the version whose manifest is called so; 0: it is none's, or detached."""
    found = MANIFEST.fullmatch(name)
    if not found:
        return 0
    number = int(found[1])
    return NEWEST - number if len(found[1]) == DIGITS else number
