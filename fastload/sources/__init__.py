"""Sources: where encoded samples are. `open_source` finds out what lies at a path."""

import os

from fastload.errors import SourceError
from fastload.sources import folder, shards
from fastload.sources.arrays import ArraySource
from fastload.sources.base import FileSource, Location, Seek, Source, raw_pixels, read
from fastload.sources.views import Concat, Subset

__all__ = ["ArraySource", "Concat", "FileSource", "Location", "Seek", "Source", "Subset", "open_source", "raw_pixels", "read"]


def open_source(path: str | os.PathLike[str]) -> Source:
    """The data set at `path`: converted shards, or a folder of classes. Raises SourceError."""
    where = os.fspath(path)
    if not os.path.exists(where):
        raise SourceError(f"{where}: does not exist; check the path")
    if not os.path.isdir(where):
        raise SourceError(f"{where}: is a file, want a folder of classes or of fastload shards; give the folder")
    if os.path.exists(os.path.join(where, shards.INDEX)):
        return shards.load(where)
    if shards.looks_unfinished(where):
        raise SourceError(f"{where}: shards without {shards.INDEX}, so a conversion did not finish; run fastload convert again")
    return folder.scan(where)
