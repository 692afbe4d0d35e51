"""Files that have their full size but not all of their bytes, which come from a store: who is about
to read one says so first.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol
from weakref import WeakSet


class Arrivals(Protocol):
    """The files below one folder."""

    def present(self, path: str) -> AbstractContextManager[None]:
        """All of the file's bytes are there meanwhile. Raises StoreError and CacheError."""

    def shown(self, path: str) -> str:
        """What messages call the file."""


# A data set may be open several times: as long as one of them is, its files are not there yet
_by_folder: dict[str, WeakSet[Arrivals]] = {}


def expect(folder: str, arrivals: Arrivals) -> None:
    """Files below this folder come by `arrivals`, as long as somebody has it."""
    _by_folder.setdefault(folder, WeakSet()).add(arrivals)


def of(path: str) -> Arrivals | None:
    """How the file comes; None: it lies there."""
    folder = os.path.abspath(path) if _by_folder else ""
    while len(folder) > 1:
        for found in _by_folder.get(folder, ()):
            return found
        folder = os.path.dirname(folder)
    return None


def present(path: str) -> AbstractContextManager[None]:
    """The file can be read meanwhile. Raises StoreError and CacheError."""
    found = of(path)
    return nullcontext() if found is None else found.present(os.path.abspath(path))


def shown(path: str) -> str:
    """What messages call a file, or a folder."""
    found = of(path)
    return path if found is None else found.shown(os.path.abspath(path))
