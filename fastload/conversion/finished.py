"""What was asked of the conversion that made a target, kept in the user's cache: so that --resume
knows a finished one.

Not in the target, whose bytes depend on nothing but the images and the options: the source's times
are part of what was asked.
"""

import contextlib
import json
import os
import stat
from typing import Protocol

from fastload import _native
from fastload.conversion.journal import different
from fastload.conversion.readers.base import stamp_of
from fastload.errors import ConversionError, StoreError
from fastload.files import cache
from fastload.spec import Json

VERSION = 1
LARGEST = 1 << 16  # bytes of a file


class Place(Protocol):
    """Where a target stands."""

    @property
    def shown(self) -> str:
        """As messages name it."""

    @property
    def identity(self) -> bytes:
        """Another one for each target."""

    def stamp(self) -> str:
        """Another one if a file of the target was added, removed, or changed as far as sizes and
        times tell. Raises OSError where nothing is, StoreError.
        """


class Local:
    """On the local disk."""

    def __init__(self, where: str) -> None:
        self.shown = where

    @property
    def identity(self) -> bytes:
        return os.fsencode(os.path.realpath(self.shown))

    def stamp(self) -> str:
        return stamp(self.shown)


def note(place: Place, job: Json, said: Json) -> None:
    """Keep it. said: what the user is told of the target.

    Where there is no cache, nothing is kept.
    """
    with contextlib.suppress(OSError, StoreError):
        content = {"version": VERSION, "job": job, "target": place.stamp(), "said": said}
        cache.keep(record_path(place), json.dumps(content).encode())


def found(place: Place, job: Json, *, overwrite: bool) -> Json | None:
    """What was said of the target, if this very job made it and it is as it was; None: nothing is
    known of what stands there.

    Raises ConversionError where another job made it, unless it may be overwritten.
    """
    try:
        content: Json = json.loads(cache.recall(record_path(place), LARGEST))
        known, said = content["job"], content["said"]
        if (
            content["version"] != VERSION
            or type(known) is not dict
            or type(said) is not dict
            or content["target"] != place.stamp()
        ):
            return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    job = json.loads(json.dumps(job))  # as it is after it was written
    other = different(job, known)
    if other and not overwrite:
        raise ConversionError(
            f"{place.shown}: was made with other settings ({', '.join(other)}); give the same "
            "again, or --overwrite to replace it"
        )
    return None if other else said


def record_path(place: Place) -> str:
    """The file of a target."""
    return cache.path("converted", f"{_native.xxh3(place.identity):016x}.json")


def stamp(where: str) -> str:
    """Another one if a file of the target was added, removed, or changed as far as sizes and times
    tell. Raises OSError.
    """
    files = [_facts(where, "")] if not os.path.isdir(where) else []
    for parent, folders, names in os.walk(where):
        folders.sort()
        files += [
            _facts(os.path.join(parent, name), os.path.relpath(os.path.join(parent, name), where))
            for name in sorted(names)
        ]
    return f"{stamp_of(files):016x}"


def _facts(path: str, name: str) -> tuple[str, int, int]:
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    return os.fsencode(name).hex(), status.st_size * (kind == stat.S_IFREG), status.st_mtime_ns
