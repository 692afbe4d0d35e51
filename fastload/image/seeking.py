"""The pixels of a single image, by its seek index where one is known.

A loader says where indexes come from in the processes that make its batches. In all others, and for
small images, there are none.
"""

from typing import Any

from fastload import _native
from fastload.sources.seek_contents import Contents
from fastload.spec import Pixels

SMALL = 1 << 14  # bytes: to look for an index takes as long as it would save
_now: list[Contents] = []  # the last one counts


def begin(contents: Contents) -> None:
    """From now on indexes come from there."""
    _now.append(contents)


def end(contents: Contents) -> None:
    """No longer from there; what was collected is written."""
    _now.remove(contents)
    contents.flush()


def forget() -> None:
    """In a child of fork, whose parent may have been making a batch."""
    _now.clear()


def pixels(data: Any, path: str = "", **how: Any) -> Pixels:
    """As `_native.image_pixels`. path: of the file that the data are of, if it is known."""
    contents = _now[-1] if _now and len(data) >= SMALL else None
    if contents is None:
        return _native.image_pixels(data, **how)[0]
    key = _native.xxh3(data)
    known = contents.find(key, path, len(data))
    collect = contents.collects and known != b""
    out, made = _native.image_pixels(data, **how, seek=(key, known or b"", collect))
    if made is not None:
        contents.keep(key, made)
    return out
