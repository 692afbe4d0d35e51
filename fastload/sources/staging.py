"""Data sets of other formats behind a URL. Where the cache may hold all their objects, these are
brought whole, and then read as any files on the local disk. Others come in parts, if their format
allows that (afar.py).
"""

import numpy as np

from fastload.errors import CacheError, SourceError
from fastload.files import formats
from fastload.remote.access import Access, Settings
from fastload.remote.entry import ABSENT
from fastload.remote.urls import is_url, local, parse
from fastload.sources import afar, remote, shards
from fastload.sources.afar import Objects
from fastload.sources.folder import EXTENSIONS
from fastload.sources.shards import ShardSource
from fastload.sources.store_objects import Behind, behind

TRIES = 3  # of a shard that came with another checksum


def at_hand(path: str) -> str:
    """The path; of a URL that of a local copy, in the user's own cache. Raises SourceError."""
    if not is_url(path):
        return path
    return local(path) if path.startswith("file://") else staged(path, Settings())


def local_only(path: str) -> str:
    """The path. Raises SourceError for a URL: what writes beside its data needs a local folder."""
    if is_url(path):
        raise SourceError(
            f"{parse(path).shown}: lies in a store, and this verb works on local data; convert it "
            "to a local folder first"
        )
    return path


def staged(text: str, settings: Settings, lying: Behind | None = None) -> str:
    """The path of a local copy of what lies behind a URL; it stays until the process ends.

    lying: what that is, where it is known already. Raises SourceError.
    """
    key = (text, _Same(settings))
    if key not in _copies:
        _copies[key] = _copy(text, settings, lying)
    return _copies[key][1]


def place(text: str, settings: Settings, format: str | None) -> str | Objects:
    """The same; or what comes in parts, where the cache cannot hold all of it and its format allows
    that.

    format: what the user says it is. Raises SourceError.
    """
    if (text, _Same(settings)) in _copies:
        return staged(text, settings)
    lying = behind(parse(text), settings)
    if format is None:
        _check_level(lying)
    if lying.bytes > settings.cache_bytes and (parts := afar.in_parts(lying, format)):
        return parts
    return staged(text, settings, lying)


def _check_level(lying: Behind) -> None:
    """Raise SourceError where the URL is that of a folder around the data set: all that lies there
    would be brought, to say then that it is none.
    """
    names = [each.key for each in lying.objects]
    # Images first: where there are any, the first of a million names tells
    if lying.name or any(name.lower().endswith(EXTENSIONS) for name in names):
        return
    if found := formats.inside(names):
        folder, one = found
        where = lying.url.shown.rstrip("/")
        raise SourceError(
            f"{where}: holds no images in folders of classes (got {one.summary or one.name} in "
            f"{folder}); give {where}/{folder}"
        )


def brought(source: remote.RemoteShards) -> ShardSource:
    """The same samples in local files, which stay until the process ends. Raises SourceError."""
    return shards.load(staged(source.url.raw, source.remote.access.settings))


class _Same:
    """Settings by their identity: they hold what has no hash."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def __hash__(self) -> int:
        return hash(self.settings.cache)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.settings == self.settings


# By what the user gave: what keeps the copy, and its path
_copies: dict[tuple[str, _Same], tuple[Access, str]] = {}


def _copy(text: str, settings: Settings, lying: Behind | None) -> tuple[Access, str]:
    url, found = parse(text), None
    if lying is None and (found := remote.load(text, settings)):
        access = found.remote.access
        total = access.layout.bytes
    else:
        lying = lying or behind(url, settings)
        total = lying.bytes
    if total > settings.cache_bytes:
        raise CacheError(
            f"{url.shown}: has {total} bytes, and the cache may take {settings.cache_bytes}; "
            "give a larger cache_bytes, or convert it to fastload's shards, which come in parts"
        )
    if lying:
        access = lying.access()
    access.hold_groups(range(access.layout.groups))  # for ever: it is read as local files
    _bring(access)
    if found:
        _prove(found)
    return access, lying.path(access.folder) if lying else access.folder


def _bring(access: Access) -> None:
    access.wait(np.arange(access.layout.cells))


def _prove(source: remote.RemoteShards) -> None:
    """Shards as a whole: what lies between their images has no checksum of its own."""
    access, index = source.remote.access, source.index
    files, layout = source.files, access.layout
    for _ in range(TRIES):
        wrong = [
            number
            for number, shard in enumerate(index.shards)
            if files.xxh3(number, shard.bytes) != shard.checksum
        ]
        if not wrong:
            return
        for number in wrong:
            first, last = layout.file_first[number : number + 2].tolist()
            access.entry.mark(first, last, ABSENT)
        _bring(access)  # what still differs is damaged in the store: verify names it
