"""Sources: where encoded samples are. `open_source` finds out what lies at a path."""

import os

from fastload.errors import SourceError
from fastload.sources import beton, beton_file, folder, shards
from fastload.sources.base import FileSource, Location, Seek, Source, read

__all__ = ["FileSource", "Location", "Seek", "Source", "open_source", "read"]


def open_source(path: str | os.PathLike[str]) -> Source:
    """The data set at `path`: converted shards, a folder of classes, or an FFCV file (.beton). Raises SourceError."""
    where = os.fspath(path)
    if not os.path.exists(where):
        raise SourceError(f"{where}: does not exist; check the path")
    if beton_file.looks_like_one(where) and os.path.isfile(where):
        return beton.load(where)
    if not os.path.isdir(where):
        raise SourceError(f"{where}: is a file, want a folder of classes or of fastload shards, or a .beton file; give one of these")
    if os.path.exists(os.path.join(where, shards.INDEX)):
        return shards.load(where)
    if shards.looks_unfinished(where):
        raise SourceError(f"{where}: shards without {shards.INDEX}, so a conversion did not finish; run fastload convert again")
    return folder.scan(where)
