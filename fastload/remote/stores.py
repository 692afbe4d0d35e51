"""Stores: objects below a URL, read in ranges of bytes and written whole, tried again where that
may help.

obstore (Rust's object_store) reads S3, GCS, Azure and web servers, fsspec the rest. Credentials are
the library's own business: its environment variables, files and roles.
"""

import itertools
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from fastload.errors import ObjectChangedError, StoreError, StoreTimeoutError
from fastload.remote import failures
from fastload.remote.failures import Cause, FailureError
from fastload.remote.objects import Backend, Content, Got, Object
from fastload.remote.traffic import Throttle, Traffic
from fastload.remote.urls import OBSTORE, Url

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 8.0  # s between two tries; each is twice as long as the last
DEADLINE = 300.0  # s until a request that is tried again and again is an error
LOOK = 0.2  # s between two looks at whether anybody still wants the bytes
T = TypeVar("T")


class GivenUpError(Exception):
    """Nobody wants the bytes any more."""


@dataclass
class Store:
    """The objects below a URL; thread-safe.

    Args:
        url: Where they lie.
        options: What the library takes beside the URL: endpoint, region, skip_signature.
        deadline: How long a request may be tried again, s.
        max_bandwidth: Bytes per second, over all threads of this process; 0: any number.
    """

    url: Url
    options: Mapping[str, object] = field(default_factory=dict, repr=False)
    deadline: float = DEADLINE
    max_bandwidth: float = 0.0

    def __post_init__(self) -> None:
        self.process, self.traffic = os.getpid(), Traffic(self.url.shown)
        self.throttle = Throttle(self.max_bandwidth)

    @cached_property
    def backend(self) -> Backend:
        """Raises SourceError where the library is not installed."""
        # Imported on use: a data set on the local disk needs neither
        if self.url.scheme in OBSTORE:
            from fastload.remote import by_obstore

            return by_obstore.Objects(self.url, self.options, self.deadline)
        from fastload.remote import by_fsspec

        return by_fsspec.Objects(self.url, self.options)

    @contextmanager
    def impatient(self, seconds: float) -> Iterator[None]:
        """Requests are not tried again for longer than that; for who is alone with the store."""
        before, _ = self.deadline, self.backend
        self.deadline = min(seconds, before)
        try:
            yield
        finally:
            self.deadline = before

    def shown(self, key: str) -> str:
        """An object as messages name it."""
        return f"{self.url.shown}/{key}" if key else self.url.shown

    def get(
        self,
        key: str,
        span: tuple[int, int] | None = None,
        etag: str = "",
        given_up: Callable[[], bool] = bool,
    ) -> Got:
        """An object, or a range of its bytes, whole. Raises StoreError.

        etag: the object must still have it. given_up: asked between tries; GivenUpError if so.
        """

        def ask() -> Got:
            got = self.backend.get(key, span, etag)
            length = len(memoryview(got.data))
            want = got.size if span is None else max(0, min(span[1], got.size) - span[0])
            if length != want:
                raise FailureError(Cause.NETWORK, f"{length} bytes of {want}")
            self.traffic.answered(got.first_s, length)
            return got

        if span is not None:
            _pause(self.throttle.delay(span[1] - span[0]), given_up)
        return self._tried(self.shown(key), ask, given_up)

    def list(self, prefix: str = "", most: int = 1 << 62) -> list[Object]:
        """All objects below it. Raises StoreError, also where there are more than `most`."""

        def ask() -> list[Object]:
            return list(itertools.islice(self.backend.list(prefix), most + 1))

        objects = self._tried(self.shown(prefix), ask)
        if len(objects) > most:
            raise StoreError(
                f"{self.shown(prefix)}: holds more than {most:,} objects; give a longer prefix, or "
                "convert them to shards where they lie"
            )
        return objects

    def put(self, key: str, content: Content, given_up: Callable[[], bool] = bool) -> None:
        """Write an object: a local file by its path, or bytes. Raises StoreError, and OSError of
        the file.

        given_up: asked between parts and tries; GivenUpError if so.
        """

        def step(size: int) -> None:
            _pause(self.throttle.delay(size), given_up)

        self._tried(
            self.shown(key), lambda: self.backend.put(key, content, step), given_up, writes=True
        )

    def facts(self, key: str) -> Mapping[str, object]:
        """What tells an object from a later one of the same key. Raises StoreError."""
        return self._tried(self.shown(key), lambda: self.backend.facts(key))

    def put_if(self, key: str, content: bytes, facts: Mapping[str, object] | None) -> bool:
        """Write an object where the one with these facts still is; None: where none is.

        Whether it is there now. Raises StoreError, also where the store cannot do that.
        """
        try:
            self._tried(
                self.shown(key), lambda: self.backend.put_if(key, content, facts), writes=True
            )
        except ObjectChangedError:  # by somebody else; or by a try of ours whose answer was lost
            try:
                return bytes(self.get(key).data) == content
            except StoreError as error:
                if not error.missing:
                    raise
                return False
        return True

    def copy(self, key: str, to: str) -> None:
        """An object once more, by the store itself. Raises StoreError."""
        self._tried(self.shown(to), lambda: self.backend.copy(key, to), writes=True)

    def delete(self, key: str) -> None:
        """One that is not there is no error. Raises StoreError."""
        self._tried(self.shown(key), lambda: self.backend.delete(key), writes=True)

    def _tried(
        self,
        where: str,
        ask: Callable[[], T],
        given_up: Callable[[], bool] = bool,
        *,
        writes: bool = False,
    ) -> T:
        if os.getpid() != self.process:  # the libraries' threads did not come along
            raise StoreError(
                f"{where}: is asked for in a forked process, which no library of a store allows; "
                "give the loader multiprocessing_context='spawn'"
            )
        begin, tries, pause = time.monotonic(), 0, FIRST_PAUSE
        while True:
            try:
                return ask()
            except FailureError as failure:
                tries += 1
                if writes and tries == 1:  # a large file may have taken longer than that to fail
                    begin = time.monotonic()
                left = self.deadline - (time.monotonic() - begin)
                if not failure.cause.passes:
                    raise failures.typed(failure, self.url.scheme, where, writes=writes) from None
                if left <= 0:
                    raise self._late(where, tries, failure.said, writes=writes) from None
            self.traffic.count(retries=1)
            # Some wait less: those that failed at once do not all come again at once
            _pause(min(left, pause * random.uniform(0.5, 1.0)), given_up)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _late(self, where: str, tries: int, said: str, *, writes: bool) -> StoreTimeoutError:
        if writes:
            return StoreTimeoutError(
                f"{where}: was not taken within {self.deadline:g} s ({tries} tries, the last: "
                f"{said}); check the store, and go on with --resume"
            )
        return StoreTimeoutError(
            f"{where}: nothing whole came within {self.deadline:g} s ({tries} tries, the last: "
            f"{said}); check the store, or give a longer deadline"
        )


def _pause(seconds: float, given_up: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while True:
        if given_up():
            raise GivenUpError
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, LOOK))
