"""A shard that one of many processes has made, on its way to a store.

It is uploaded under a name of its own, which nobody can guess. The conversion takes it by that
name, and the store copies it to its final one. So two workers that make the same shard, or one that
an earlier run has left, overwrite nothing.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from fastload.conversion.parts import Written
from fastload.conversion.store_target import ENDING, StoreHold, files
from fastload.conversion.workers import Stop
from fastload.conversion.writers import Writer
from fastload.errors import ConversionError, StoreError
from fastload.files.below import Folder, opened
from fastload.files.names import Inner
from fastload.remote.objects import Object
from fastload.sources.shards import TEMPORARY
from fastload.system import locks

UNIT = TEMPORARY + "unit-"  # folders of the local disk, each with one shard until it is uploaded
MODE = 0o700


def upload(
    writer: Writer, part: Written, owner: str, sign: Callable[[], None], stop: Stop
) -> Written:
    """The part with the names and ETags of its objects.

    owner: what the mark in the store says as long as the conversion goes on; sign: called between
    the parts of an upload. Raises StoreError, ConversionError where the conversion is over,
    workers.StoppedError.
    """
    hold = getattr(writer, "stored", None)
    if not isinstance(hold, StoreHold) or not len(part.samples):
        return part
    prefix, objects = hold.prefix, list[tuple[str, str]]()

    def given_up() -> bool:
        sign()
        return stop.asked

    try:
        for path, size, _ in files(part):
            key = os.path.basename(path)
            objects.append((key, ""))
            prefix.store.put(key, path, given_up)
            objects[-1] = key, prefix.written(key, size).etag
        if not prefix.has_mark(owner.encode()):
            raise ConversionError(
                f"{prefix.shown}: this conversion is over or was begun anew; see whether another "
                "one writes there"
            )
    except BaseException:
        with contextlib.suppress(StoreError), prefix.store.impatient(ENDING):
            for key, _ in objects:
                prefix.store.delete(key)
        stop.check()
        raise
    return replace(part, objects=tuple(objects))


def adopt(hold: StoreHold, part: Written) -> Written | None:
    """A part that another process has uploaded; None: not all of it is there."""
    there = files(part) if len(part.samples) else []
    if len(part.objects) < len(there):
        return None
    for (path, size, _), (key, etag) in zip(there, part.objects, strict=False):
        if key != os.path.basename(path):
            return None
        hold.lies[key] = Object(key, size, etag)
    return part


@contextlib.contextmanager
def own_folder(root: str, name: str) -> Iterator[Folder]:
    """A new folder in `root`, locked; those that no process holds any more are removed.

    Raises OSError.
    """
    with opened(root) as above:
        _remove_left(above)
        own = Inner(f"{UNIT}{name}")
        with above.folder(own, make=True, mode=MODE) as folder:
            with contextlib.suppress(OSError):  # a file system without locks
                locks.try_lock(folder.descriptor)
            try:
                yield folder
            finally:
                with contextlib.suppress(OSError):
                    above.remove_tree(own)


def _remove_left(above: Folder) -> None:
    for name in above.names():
        if name.startswith(UNIT) and above.is_folder(name):
            # One that another process removes at this moment, or a file system without locks
            with contextlib.suppress(OSError):
                with above.folder(name) as folder:
                    free = locks.try_lock(folder.descriptor)
                if free:
                    above.remove_tree(name)
