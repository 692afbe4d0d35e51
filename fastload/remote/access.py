"""How a data set in a store is read: its samples are brought into the cache, and kept there while
they are needed.
"""

import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import NamedTuple

import numpy as np

from fastload.errors import CacheError, FastloadError, UsageError
from fastload.remote import stores, waiting
from fastload.remote.cache import DEFAULT_BYTES, Cache
from fastload.remote.entry import Entry
from fastload.remote.fetching import Fetcher
from fastload.remote.layout import Layout
from fastload.remote.stores import Store
from fastload.remote.urls import Url
from fastload.spec import Json, Longs

FOREVER = 1e9  # s
MIB = 1 << 20  # bytes
# Of the cache: what is fetched ahead, and what a block shuffle mixes, which is half of that
AHEAD_SHARE, AHEAD_MOST = 2, 4 << 30


@dataclass(frozen=True)
class Settings:
    """How a user wants a store read. It may hold secrets, so it is never shown.

    Args:
        options: What the library takes beside the URL.
        cache: The cache's folder; None: in the user's own cache.
        cache_bytes: Bytes of the disk that all data sets in it may take.
        max_bandwidth: Bytes per second; 0: any number.
        deadline: How long a request may be tried again, s.
    """

    options: Mapping[str, object] = field(default_factory=dict, repr=False)
    cache: str | None = None
    cache_bytes: int = DEFAULT_BYTES
    max_bandwidth: float = 0.0
    deadline: float = stores.DEADLINE

    def __post_init__(self) -> None:
        limits = (
            ("cache_bytes", self.cache_bytes, "bytes, 1 or more"),
            ("deadline", self.deadline, "seconds, more than 0"),
        )
        problems = [
            f"open: {name} is {value!r}, want {want}"
            for name, value, want in limits
            if not _is_number(value) or value <= 0
        ]
        if not _is_number(self.max_bandwidth) or self.max_bandwidth < 0:
            problems.append(
                f"open: max_bandwidth is {self.max_bandwidth!r}, want bytes per second, or 0 for "
                "any number"
            )
        if problems:
            raise UsageError("\n".join(problems))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


class Held(NamedTuple):
    """Groups that are kept, until `Access.release`."""

    entry: Entry
    groups: tuple[int, ...]


class Access:
    """A data set in a store, and its entry in the cache; thread-safe, and usable after a fork."""

    def __init__(
        self,
        url: Url,
        settings: Settings,
        layout: Layout,
        small: Mapping[str, bytes],
        digest: str,
        store: Store,
        etags: Sequence[str] = (),
    ) -> None:
        """digest: of the entry; small: its files that are whole from the beginning; etags: of each
        file, as the store has listed them, if it has.
        """
        self.url, self.settings, self.layout, self.digest = url, settings, layout, digest
        self.small, self.store, self.etags = small, store, etags
        self._mutex, self._process = threading.Lock(), 0
        self.line = waiting.Line(url.shown, store.traffic)
        self.whole: set[int] = set()  # groups that epochs under way have planned as a whole
        self._open()

    def _open(self) -> None:
        """Raises CacheError."""
        self._process = os.getpid()
        self.cache = Cache(self.settings.cache, self.settings.cache_bytes)
        self.entry = self.cache.entry(self.digest, self.url.shown, self.layout, self.small)
        self.fetcher = Fetcher(self.store, self.cache, self.entry, self.etags)
        self.generation = object()  # another one: descriptors of files are opened anew
        weakref.finalize(self, self.fetcher.close).atexit = False

    def look(self) -> None:
        """Open the entry anew in a child of fork, or where somebody has removed it."""
        if self._process != os.getpid():
            self._mutex, self.whole = threading.Lock(), set()  # a thread of the parent's had it
        with self._mutex:
            if self._process != os.getpid():
                self._open()
            elif self.entry.gone:
                before = self.fetcher
                self._open()
                before.close()  # who waits for it goes on with the new one

    @property
    def folder(self) -> str:
        """Where the data set's files lie."""
        return os.path.join(self.entry.folder, self.layout.below).rstrip("/")

    @property
    def fits(self) -> bool:
        """Whether the cache may hold all of it."""
        return self.layout.bytes <= self.settings.cache_bytes

    @property
    def ahead_bytes(self) -> int:
        """How much is fetched ahead."""
        return min(AHEAD_MOST, self.settings.cache_bytes // AHEAD_SHARE)

    def hold(self, cells: Longs) -> Held:
        """Keep what these cells lie in."""
        self.look()
        return self.hold_groups(np.unique(self.layout.groups_of(cells)).tolist())

    def hold_groups(self, groups: Iterable[int]) -> Held:
        held = Held(self.entry, tuple(groups))
        held.entry.lease(held.groups)
        return held

    def release(self, held: Held) -> None:
        if held.entry.process == os.getpid():
            held.entry.release(held.groups)

    def wait(self, cells: Longs, seconds: float = FOREVER) -> bool:
        """Whether these cells, which are held, are there within so long.

        Raises StoreError and CacheError.
        """
        begin = time.monotonic()
        if not len(self.entry.missing(cells)):
            return True
        try:
            while True:
                fetcher, left = self.fetcher, begin + seconds - time.monotonic()
                try:
                    if fetcher.need(cells, min(left, waiting.EVERY) if self.line.on else left):
                        self.line.done()
                        return True
                except CacheError:
                    if fetcher is self.fetcher and not self.entry.gone:
                        raise
                    self.look()  # somebody has removed it while it was written
                    continue
                # Else it was closed, since the entry was opened anew
                late = time.monotonic() >= begin + seconds
                if fetcher is self.fetcher and (late or fetcher.state.stopped):
                    return False
                if self.line.on:
                    self.line.tick(int(self.cell_bytes[self.entry.missing(cells)].sum()))
        except FastloadError:
            self.line.done()  # the error stands on a line of its own
            raise
        finally:
            self.store.traffic.count(waited_s=time.monotonic() - begin)

    @cached_property
    def cell_bytes(self) -> Longs:
        """int64 [C]: bytes of each cell."""
        return self.layout.cell_bytes()

    @contextmanager
    def read(self, cells: Longs) -> Iterator[None]:
        """These cells are there meanwhile. Raises StoreError and CacheError."""
        held = self.hold(cells)
        try:
            self.wait(cells)
            yield
        finally:
            self.release(held)

    def share_there(self) -> float:
        """The part of the data set's bytes that the cache has."""
        table = self.layout.table()
        sums = np.concatenate([[0], np.cumsum(self.entry.marks == 1)])
        there = sums[table["last"]] - sums[table["first"]]
        count = np.maximum(table["last"] - table["first"], 1)
        size = table["end"] - table["begin"]
        return float((size * there / count).sum() / max(1, size.sum()))

    def describe(self, window: int) -> str:
        """Where the bytes come from, for `explain()`. window: bytes of a block shuffle, if any."""
        limit, size = self.settings.cache_bytes / MIB, self.layout.bytes / MIB
        mixed = f"; mixed in blocks of {window / MIB:,.0f} MiB" if window else ""
        return (
            f"{self.url.shown}: {self.share_there():.0%} of {size:,.0f} MiB are in the cache "
            f"{self.entry.folder} (at most {limit:,.0f} MiB){mixed}"
        )

    def as_dict(self, samples: int) -> Json:
        """What `stats()` tells of a data set of so many samples."""
        return {
            "where": self.url.shown,
            **self.store.traffic.as_dict(),
            "data_images": samples,
            "data_bytes": self.layout.bytes,
            "cache_bytes": self.settings.cache_bytes,
            "cached_share": self.share_there(),
        }
