"""Sources: where encoded samples are. `open_source` finds out what lies at a path."""

import os

from fastload.errors import SourceError
from fastload.sources import beton, beton_file, folder, shard_index, shards
from fastload.sources.arrays import ArraySource
from fastload.sources.base import FileSource, Location, Seek, Source, raw_pixels, read
from fastload.sources.views import Concat, Subset

__all__ = [
    "ArraySource",
    "Concat",
    "FileSource",
    "Location",
    "Seek",
    "Source",
    "Subset",
    "open_source",
    "raw_pixels",
    "read",
]


def open_source(path: str | os.PathLike[str], fields: tuple[str, str] | None = None) -> Source:
    """The data set at `path`: converted shards, a folder of classes, or an FFCV file (.beton).
    Raises SourceError.

    fields: of an FFCV file, the names of the fields with images and with labels.
    """
    where = os.fspath(path)
    if not os.path.exists(where):
        raise SourceError(f"{where}: does not exist; check the path")
    if beton_file.looks_like_one(where) and os.path.isfile(where):
        return beton.load(where, fields)
    if not os.path.isdir(where):
        raise SourceError(
            f"{where}: is a file, want a folder (of classes, of shards) or a .beton file; give one"
        )
    if os.path.exists(os.path.join(where, shard_index.INDEX)):
        return shards.load(where)
    if shards.looks_unfinished(where):
        raise SourceError(
            f"{where}: shards without {shard_index.INDEX}, so a conversion did not finish; run "
            "fastload convert again"
        )
    return folder.scan(where)
