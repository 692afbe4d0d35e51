"""What seek indexes know the images of a data set by, and the folders that they may lie in.

An image that is a file is known by its path. One that is a span of a file is known by that file's
path and its first byte there: SHARD/OFFSET. Its size and, in each index, its XXH3 say whether it is
still the same image, so nothing else of a file has to be compared.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from fastload.files.patterns import is_pattern
from fastload.sources import seek
from fastload.sources.base import FileSource
from fastload.sources.columns import Numbers

# Samples of a data set that has seek indexes: each one's name and place are in memory, about 100
# bytes
MOST = 1 << 24


class Spans(Protocol):
    """Samples that are spans of files."""

    @property
    def where(self) -> str: ...
    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def file(self) -> Numbers: ...
    @property
    def offset(self) -> Numbers: ...


class Known(NamedTuple):
    """Of one data set.

    Args:
        root: The folder that all its files are below. Indexes may lie beside them there.
        cache: The folder in the user's cache, where they may lie too.
        names: What its samples are known by, in their order: paths below `root`.
    """

    root: str
    cache: str
    names: Callable[[], list[str]]

    def lies(self) -> bool:
        """Whether there is an index, of whatever images."""
        return any(os.path.lexists(os.path.join(each, seek.INDEX)) for each in self[:2])

    def find(self) -> seek.Found:
        """As seek.find. Names are made only where there is an index."""
        return seek.find(self.names(), (self.root, self.cache)) if self.lies() else seek.Found(None)


def of(source: FileSource | Spans) -> Known:
    if isinstance(source, FileSource):
        root = os.path.expanduser(source.where)
        return Known(root, seek.cache_folder(root), partial(seek.names, source.paths, root))
    paths = [os.path.abspath(path) for path in source.paths]
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    # Others may have indexed, or load, another part of the same folder
    part = os.path.isfile(source.where) or is_pattern(source.where)
    cache = seek.cache_folder(source.where if part else root)
    return Known(root, cache, partial(_places, seek.names(paths, root), source))


def _places(names: Sequence[str], source: Spans) -> list[str]:
    file, offset = (np.asarray(each).tolist() for each in (source.file, source.offset))
    return [f"{names[one]}/{at}" for one, at in zip(file, offset, strict=True)]
