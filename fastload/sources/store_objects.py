"""Which objects behind a URL are a data set, and their files in the cache."""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fastload.errors import SourceError, StoreError
from fastload.files.names import NameRefusedError, problem, shown
from fastload.files.patterns import expanded, is_pattern
from fastload.remote import layout as layouts
from fastload.remote.access import Access, Settings
from fastload.remote.crew import same_etag
from fastload.remote.objects import Object
from fastload.remote.stores import Store
from fastload.remote.urls import Url
from fastload.sources.shard_index import INDEX, SUM
from fastload.sources.shards import TEMPORARY

MOST = 2_000_000  # objects of a listing; more of them want shards
AT_ONCE = 32  # requests for the sizes of objects that no listing tells
UNLISTED = ("http", "https")  # web servers
LIST = ".json"  # ends the name of an index of what lies beside it: wids's


@dataclass(frozen=True)
class Behind:
    """What lies behind a URL.

    Args:
        url: What the user gave; settings: how it is read.
        objects: Below `folder`, sorted.
        name: Of a single one, or the pattern that names them; "": they are all in a folder.
        alike: Whether the store's answers have the ETags of its listing.
    """

    url: Url
    settings: Settings
    objects: tuple[Object, ...]
    name: str
    alike: bool = True

    @property
    def folder(self) -> Url:
        return self.url.folder if self.name else self.url

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.objects)

    @cached_property
    def digest(self) -> str:
        """The entry's name: other objects, or changed ones, are another entry."""
        lines = "\n".join(f"{each.key}\0{each.size}\0{each.etag}" for each in self.objects)
        listed = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return f"{self.url.digest}-{listed}"

    def access(self, piece: int = 0) -> Access:
        """Their entry in the cache, with cells of so many bytes; 0: as of what is brought whole.

        Raises CacheError.
        """
        names = tuple(each.key for each in self.objects)
        sizes = np.array([each.size for each in self.objects], np.int64)
        layout = layouts.of_objects(names, sizes, piece)
        digest = f"{self.digest}-{piece}" if piece else self.digest
        store = _store(self.folder, self.settings)
        etags = [each.etag for each in self.objects] if self.alike else []
        return Access(self.url, self.settings, layout, {}, digest, store, etags)

    def path(self, folder: str) -> str:
        """Of the data set whose files lie in this folder."""
        return f"{folder}/{self.name}" if self.name else folder


def behind(url: Url, settings: Settings) -> Behind:
    """Raises SourceError."""
    found = _found(url, settings)
    first = found.objects[0]
    if url.scheme in UNLISTED or first.key == found.name:  # nothing was listed
        return found
    # Some stores may list other ETags than they answer with
    got = _sized(_store(found.folder, settings), first.key)
    return replace(found, alike=got is None or same_etag(got.etag, first.etag))


def _found(url: Url, settings: Settings) -> Behind:
    if is_pattern(url.path) and not is_pattern(url.name):
        raise SourceError(
            f"{url.shown}: has braces or stars in its folders; give them in the last part only, or "
            "several data sets to fastload.mix"
        )
    if is_pattern(url.name):
        return Behind(url, settings, _of_pattern(url, settings), url.name)
    if "." in url.name:
        found = _sized(_store(url.folder, settings), url.name)
        if found:
            lists = url.name.endswith(LIST) and url.scheme not in UNLISTED
            objects = _listed(_store(url.folder, settings)) if lists else [found]
            return Behind(url, settings, _checked(url, objects), url.name)
    objects = _listed(_store(url, settings))
    if not objects:
        raise StoreError(f"{url.shown}: holds no objects; check the URL")
    if any(each.key == TEMPORARY + INDEX for each in objects):
        raise SourceError(
            f"{url.shown}: shards without {SUM}, so a conversion did not finish; run fastload "
            "convert again"
        )
    return Behind(url, settings, _checked(url, objects), "")


def _store(url: Url, settings: Settings) -> Store:
    return Store(url, settings.options, settings.deadline, settings.max_bandwidth)


def _listed(store: Store) -> list[Object]:
    return [each for each in store.list(most=MOST) if not each.key.endswith("/")]


def _checked(url: Url, objects: Iterable[Object]) -> tuple[Object, ...]:
    """Raises NameRefusedError."""
    found = tuple(sorted(objects))
    for each in found:
        if wrong := problem(each.key):
            raise NameRefusedError(f"{url.shown}: key {shown(each.key)} {wrong}; rename it")
    above = set(layouts.folders_of(each.key for each in found))
    for each in found:
        if each.key in above:
            raise NameRefusedError(
                f"{url.shown}: key {shown(each.key)} is a folder of others, too, and cannot be a "
                "file; rename it"
            )
    return found


def _of_pattern(url: Url, settings: Settings) -> tuple[Object, ...]:
    """Those that a pattern names, or the one that is called so. Raises SourceError."""
    store = _store(url.folder, settings)
    if url.scheme in UNLISTED:
        if "*" in url.name:
            raise SourceError(
                f"{url.shown}: a web server lists no files for stars to choose from; write their "
                "names with braces: {000000..000099}.tar"
            )
        names = expanded(url.name)
        with ThreadPoolExecutor(AT_ONCE, "fastload-sizes") as threads:
            sized = threads.map(lambda name: _sized(store, name), names)
        found = {one.key: one for one in sized if one}
        if len(found) < len(names) and (one := _sized(store, url.name)):
            return _checked(url, [one])
    else:
        beside = [each for each in _listed(store) if "/" not in each.key and each.key[0] != "."]
        found = {each.key: each for each in beside}
        if url.name in found:
            return _checked(url, [found[url.name]])
        names = expanded(url.name, found)
    if missing := [name for name in names if name not in found]:
        raise StoreError(
            f"{store.shown(missing[0])}: is not there ({len(missing)} such of {len(names)} in "
            f"{url.shown}); correct the pattern"
        )
    return _checked(url, {found[name] for name in names})


def _sized(store: Store, name: str) -> Object | None:
    """None: it is not there. Raises StoreError."""
    try:
        first = store.get(name, (0, 1))
    except StoreError as error:
        if not error.missing:
            raise
        return None
    return Object(name, first.size, first.etag)
