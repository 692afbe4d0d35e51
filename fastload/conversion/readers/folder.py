"""Folders of classes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fastload.conversion.keys import unique_keys
from fastload.conversion.readers.base import Choice, stamp_of
from fastload.conversion.readers.files import file_sizes, file_times, read_file
from fastload.conversion.readers.source import OfSource
from fastload.sources import FileSource, folder
from fastload.spec import Longs


@dataclass(frozen=True, eq=False)
class FolderReader(OfSource):
    """Whole files, one per sample."""

    source: FileSource
    keys: Sequence[str]
    sizes: Longs

    @cached_property
    def stamp(self) -> int:
        return stamp_of(file_times(self.source.paths))

    def read(self, sample: int) -> bytes:
        return read_file(self.source.paths[sample], int(self.sizes[sample]))


def open_reader(where: str, paths: Sequence[str], choice: Choice) -> FolderReader:
    """The images in the folder `where`. Raises SourceError."""
    source = folder.load(where)
    prefix = os.path.join(source.where, "")
    keys = unique_keys(path[len(prefix) :] for path in source.paths)
    return FolderReader(source, keys, file_sizes(source.paths))
