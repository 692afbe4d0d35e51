"""Data sets of other formats behind a URL: their objects are brought into the cache whole, and then
read as any on the local disk.
"""

import functools
import hashlib

import numpy as np

from fastload.errors import CacheError, SourceError, StoreError
from fastload.files.names import NameRefusedError, shown
from fastload.files.names import problem as name_problem
from fastload.remote.access import Access, Settings
from fastload.remote.entry import ABSENT
from fastload.remote.layout import Layout, whole_objects
from fastload.remote.objects import Object
from fastload.remote.stores import Store
from fastload.remote.urls import Url, is_url, local, parse
from fastload.sources import remote, shards
from fastload.sources.shard_index import INDEX, SUM
from fastload.sources.shards import TEMPORARY, ShardSource

TRIES = 3  # of a shard that came with another checksum
MOST_OBJECTS = 2_000_000  # of a listing; more of them want shards


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


def staged(text: str, settings: Settings) -> str:
    """The path of a local copy of what lies behind a URL; it stays until the process ends.

    Raises SourceError.
    """
    return _copy(text, _Same(settings))[1]


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


@functools.cache
def _copy(text: str, same: _Same) -> tuple[Access, str]:
    """What keeps the copy, and its path."""
    settings, url, name = same.settings, parse(text), ""
    if found := remote.load(text, settings):
        access = found.remote.access
        total = access.layout.bytes
    else:
        store, objects, name = _found(url, settings)
        total = sum(each.size for each in objects)
    if total > settings.cache_bytes:
        raise CacheError(
            f"{url.shown}: has {total} bytes, and the cache may take {settings.cache_bytes}; "
            "give a larger cache_bytes, or convert it to fastload's shards, which come in parts"
        )
    if not found:
        access = Access(url, settings, _layout(objects), {}, _digest(url, objects), store)
    access.hold_groups(range(access.layout.groups))  # for ever: it is read as local files
    _bring(access)
    if found:
        _prove(found)
    return access, f"{access.folder}/{name}" if name else access.folder


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


def _found(url: Url, settings: Settings) -> tuple[Store, list[Object], str]:
    """The store, its objects, and of a single file its name."""
    rest = (settings.options, settings.deadline, settings.max_bandwidth)
    if "." in url.name:
        store = Store(url.folder, *rest)
        try:
            first = store.get(url.name, (0, 1))
        except StoreError as error:
            if not error.missing:
                raise
        else:
            return store, [Object(url.name, first.size, first.etag)], url.name
    store = Store(url, *rest)
    objects = sorted(each for each in store.list(most=MOST_OBJECTS) if not each.key.endswith("/"))
    if not objects:
        raise StoreError(f"{url.shown}: holds no objects; check the URL")
    if any(each.key == TEMPORARY + INDEX for each in objects):
        raise SourceError(
            f"{url.shown}: shards without {SUM}, so a conversion did not finish; run fastload "
            "convert again"
        )
    for each in objects:
        if wrong := name_problem(each.key):
            raise NameRefusedError(f"{url.shown}: key {shown(each.key)} {wrong}; rename it")
    return store, objects, ""


def _layout(objects: list[Object]) -> Layout:
    names = tuple(each.key for each in objects)
    return whole_objects(names, np.array([each.size for each in objects], np.int64))


def _digest(url: Url, objects: list[Object]) -> str:
    """The entry's name: other objects, or changed ones, are another entry."""
    lines = "\n".join(f"{each.key}\0{each.size}\0{each.etag}" for each in objects)
    listed = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{url.digest}-{listed}"
