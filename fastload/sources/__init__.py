"""Sources: where encoded samples are. `open_source` finds out what lies at a path."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING

from fastload.errors import SourceError, mistyped
from fastload.files import formats
from fastload.files.formats import READERS, SOURCES
from fastload.files.patterns import is_pattern
from fastload.remote.urls import is_url, local, of_path
from fastload.sources.arrays import ArraySource
from fastload.sources.base import (
    FileSource,
    Location,
    NumberedFiles,
    Seek,
    Source,
    raw_pixels,
    read,
)
from fastload.sources.kept_rows import repaired
from fastload.sources.views import Concat, Subset

if TYPE_CHECKING:
    from fastload.remote.access import Settings

__all__ = [
    "ArraySource",
    "Concat",
    "FileSource",
    "Location",
    "NumberedFiles",
    "Seek",
    "Source",
    "Subset",
    "load",
    "open_source",
    "raw_pixels",
    "read",
]


def open_source(
    path: str | os.PathLike[str],
    fields: tuple[str, str] | None = None,
    format: str | None = None,
    store: "Settings | None" = None,
    target: Sequence[str] = (),
    version: int | None = None,
) -> Source:
    """The data set at `path`, or behind a URL. Raises SourceError.

    fields: of a format that has such, the names of the fields with images and with labels.
    format: of files.formats.SOURCES; None: what its name, or what lies in it, tells.
    store: how a store is read; with a path, the data set is read through the cache.
    target: what else of each sample is wanted; see sources.fields.
    version: of converted shards that were added to; None: the newest.
    """
    where = os.fspath(path)
    if version is not None:
        from fastload.sources.shard_versions import check_number  # other data sets need none of it

        check_number(version)
    if is_url(where) or store is not None:
        return _open_remote(where, fields, format, store, target, version)
    if not os.path.exists(where) and not is_pattern(where):
        raise SourceError(f"{where}: does not exist; check the path")
    if format is not None:
        if format not in SOURCES:
            raise mistyped(
                SourceError(
                    f"{where}: format {format!r} is unknown (want {', '.join(SOURCES)}); choose "
                    "one of them"
                ),
                format,
                SOURCES,
            )
        return _load(format, where, fields, target, version)
    one = formats.source_at(where)
    if one is None and not os.path.isdir(where):
        raise _no_source(where)
    return _load(one.name if one else formats.FOLDER, where, fields, target, version)


def _load(
    name: str,
    where: str,
    fields: tuple[str, str] | None,
    target: Sequence[str],
    version: int | None,
) -> Source:
    if fields is not None and not SOURCES[name].fields:
        raise _no_fields(where, name)
    if version is None:
        return load(name, where, fields, target)
    if name != formats.SHARDS:
        raise SourceError(
            f"{where}: has no versions (got {formats.summary_of(name)}, want converted shards); "
            "leave version out"
        )
    from fastload.sources import shards  # other data sets need none of it

    return shards.with_fields(shards.load_version(where, version), target)


def _open_remote(
    where: str,
    fields: tuple[str, str] | None,
    format: str | None,
    store: "Settings | None",
    target: Sequence[str],
    version: int | None,
) -> Source:
    if store is None and where.startswith("file://"):
        return open_source(local(where), fields, format, None, target, version)
    pattern = is_pattern(where) and not os.path.exists(where)
    if not is_url(where) and not pattern and not os.path.exists(where):
        raise SourceError(f"{where}: does not exist; check the path")
    # Local data sets need none of it
    from fastload.remote.access import Settings
    from fastload.sources import remote, shards, staging

    settings, url = store or Settings(), where if is_url(where) else of_path(where)
    of_shards = format in (None, formats.SHARDS) and not pattern
    if of_shards and (found := remote.load(url, settings, version)):
        if fields is not None:
            raise _no_fields(found.where, formats.SHARDS)
        return shards.with_fields(found, target)
    place = staging.place(url, settings, format)
    path = place if isinstance(place, str) else place.path
    source = open_source(path, fields, format, None, target, version)
    return source if isinstance(place, str) else place.told(source)


def _no_fields(where: str, name: str) -> SourceError:
    return SourceError(
        f"{where}: has no fields to choose from (got {formats.summary_of(name)}); leave fields out"
    )


def _no_source(file: str) -> SourceError:
    """The error of a file that nobody trains on as it is, although `convert` may read it."""
    other = formats.recognize(file, READERS)
    if other and other.name == formats.WEBDATASET:
        return SourceError(
            f"{file}: is compressed, want plain tars; run fastload convert {file} DST, and open DST"
        )
    if other:
        return SourceError(
            f"{file}: training reads no {other.name} (want {formats.known(SOURCES)}); run fastload "
            f"convert {file} DST, and open DST"
        )
    unknown = (
        f"{file}: is a file of no known format (want {formats.known(SOURCES)}); give one of these"
    )
    return SourceError("\n".join([unknown, *formats.broken(SOURCES)]))


def load(
    name: str, where: str, fields: tuple[str, str] | None = None, target: Sequence[str] = ()
) -> Source:
    """The data set at `where`, which is of the format `name`. Raises SourceError.

    What is kept of it and is damaged is made anew.
    """
    return repaired(lambda: _loaded(name, where, fields, target))


def _loaded(name: str, where: str, fields: tuple[str, str] | None, target: Sequence[str]) -> Source:
    opener, module = SOURCES.function(name, "load"), SOURCES.import_module(name)
    with _together(module, where, target):
        source: Source = opener(where, fields) if SOURCES[name].fields else opener(where)
    if not target:
        return source
    adds = getattr(module, "with_fields", None)
    if adds is None:
        raise SourceError(
            f"{where}: of {SOURCES[name].summary or name} nothing but labels is read (target is "
            f"{', '.join(target)}); run fastload convert {where} DST, and open DST"
        )
    found: Source = adds(source, target)
    return found


def _together(
    module: ModuleType, where: str, target: Sequence[str]
) -> AbstractContextManager[None]:
    """While a format is opened: where that reads whole objects, it does so for the target, too."""
    looks = getattr(module, "looks", None)
    if not target or looks is None:
        return nullcontext()
    from fastload.sources import first_look  # others need none of it

    return first_look.together(looks(where, target))
