"""The folder that finished units are put into, by any process that sees it, until the conversion
takes them.

    .fastload-units-DIGITS/             beside the journal; of one run
        recipe.json                     what a unit is made by
        000007-DIGITS/                  a unit that is being made, by one worker
        000007/                         one that is made: its files, and part.json

One rename makes a unit: the first worker's counts, since no folder takes the place of one that is
not empty. A run makes a folder of its own and removes those of earlier ones. So a worker that an
earlier run has left finds its folder gone, and can change nothing.
"""

import contextlib
import errno
import json
import os
import re
import secrets
from collections.abc import Iterator

from fastload.conversion import parts
from fastload.conversion.commits import DROP
from fastload.conversion.journal import CHECKSUM
from fastload.conversion.parts import Written
from fastload.conversion.target import Hold
from fastload.errors import ConversionError
from fastload.files.below import Folder, opened
from fastload.files.names import Inner
from fastload.spec import Json
from fastload.system import limits

MODE = 0o700
TRIES = 5  # to remove a folder that somebody still writes into
PART, RECIPE = Inner("part.json"), Inner("recipe.json")
MADE = re.compile(r"[0-9]{6,}")


def make(hold: Hold) -> Folder:
    """A new one, after those of earlier runs are gone. Raises OSError."""
    clear(hold)
    name = Inner(f"{DROP}{secrets.token_hex(8)}")
    return hold.at.folder(name, make=True, mode=MODE)


def clear(hold: Hold) -> None:
    """Remove those that are there, with all that lies in them. Raises OSError."""
    for name in drops(hold):
        for left in reversed(range(TRIES)):
            try:
                hold.at.remove_tree(name)
                break
            except OSError as error:
                # A worker that is left over was just writing there
                if error.errno not in (errno.ENOTEMPTY, errno.ENOENT) or not left:
                    raise


def drops(hold: Hold) -> list[Inner]:
    """Those of all runs."""
    return sorted(name for name in hold.at.names() if name.startswith(DROP))


@contextlib.contextmanager
def joined(path: str) -> Iterator[Folder]:
    """The open folder, for a worker. Raises ConversionError where it is gone."""
    parent, name = os.path.split(path)
    try:
        with opened(parent) as above:
            folder = above.folder(Inner(name))
    except OSError as error:
        raise gone(path, error) from error
    with folder:
        yield folder


def gone(path: str, error: OSError) -> ConversionError:
    return ConversionError(
        f"{path}: cannot be opened ({error.strerror or error}), so this job is over or was begun "
        "anew; let all machines see that folder, and see whether another one writes there"
    )


def name_of(number: int) -> Inner:
    """The folder of a unit that is made."""
    return Inner(f"{number:06d}")


@contextlib.contextmanager
def begun(drop: Folder, number: int) -> Iterator[Folder]:
    """A folder for a unit that is being made; it is gone afterwards unless `finish` was called."""
    name = Inner(f"{name_of(number)}-{secrets.token_hex(8)}")
    with drop.folder(name, make=True, mode=MODE) as folder:
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                if drop.is_folder(name):
                    drop.remove_tree(name)


def finish(drop: Folder, folder: Folder, number: int, said: Json) -> bool:
    """Put the unit's folder under its final name; whether it is the first. Raises OSError.

    said: what part.json holds.
    """
    folder.write(PART, json.dumps(said).encode())
    folder.sync()
    own = Inner(os.path.basename(folder.path))
    try:
        drop.rename(own, name_of(number))
    except OSError:
        if not drop.has(name_of(number)):
            raise
        return False
    drop.sync()
    return True


def found(drop: Folder, job: str) -> Iterator[tuple[int, Json]]:
    """The units of this job that lie there."""
    for name in sorted(filter(MADE.fullmatch, drop.names())):
        if said := read(drop, int(name), job):
            yield int(name), said


def read(drop: Folder, number: int, job: str) -> Json | None:
    """What is said of a unit by the worker whose copy lies there: another one's has other names."""
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        with drop.folder(name_of(number)) as folder:
            if folder.size(PART) > limits.RECORD:
                return None
            said: Json = json.loads(folder.read(PART))
        if said["job"] == job and said["part"] == number:
            return said
    return None


def adopt(hold: Hold, drop: Folder, number: int, said: Json) -> Written | None:
    """Move the files of a unit to where the conversion has them; None: it is not whole.

    Raises OSError.
    """
    try:
        part = parts.unpack(said, getattr(hold, "data", hold.folder))
        names = files(part)
        size = part.bytes + part.sidecar.bytes if names else 0
        with drop.folder(name_of(number)) as folder:
            if sum(folder.size(name) for name in names) != size:
                return None
            for name in names:
                _move(folder, hold.into, name)
    except (LookupError, TypeError, ValueError, AttributeError, FileNotFoundError):
        return None
    # A second worker may put its own copy there at this moment; the drop goes as a whole
    with contextlib.suppress(OSError):
        drop.remove_tree(name_of(number))
    return part


def files(part: Written) -> list[Inner]:
    """Of a part, below the folder that parts are written into."""
    if part.names:
        return [Inner(line[CHECKSUM:]) for line in part.names]
    both = [part.path, part.sidecar.path][: 1 + bool(part.sidecar.bytes)]
    there = part.bytes and len(part.samples)
    return [Inner(os.path.basename(path)) for path in both] if there else []


def _move(folder: Folder, into: Folder, name: Inner) -> None:
    parent, _, last = name.rpartition("/")
    if not parent:
        folder.rename(name, name, into)
        return
    with folder.folder(Inner(parent)) as old, into.folder(Inner(parent), make=True) as new:
        old.rename(Inner(last), Inner(last), new)
