"""Objects, and what a library that reads and writes a store has to do."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol


class Object(NamedTuple):
    """An object as a listing tells it."""

    key: str  # below the store's URL
    size: int  # bytes
    etag: str  # "" where the store has none


class Got(NamedTuple):
    """Bytes of an object."""

    data: Any  # bytes-like
    size: int  # of the whole object
    etag: str
    first_s: float  # until the first byte came


# A local file's path, or bytes: what becomes an object
Content = str | bytes | memoryview


class Backend(Protocol):
    """A library that reads one store; each call is one request, and raises FailureError."""

    def get(self, key: str, span: tuple[int, int] | None, etag: str) -> Got:
        """span: first byte, and the one behind the last; etag: the object must have it."""

    def list(self, prefix: str) -> Iterator[Object]:
        """All below it, in any order."""

    def put(self, key: str, content: Content, step: Callable[[int], None]) -> None:
        """Write an object, in parts where it is large; it is visible when it is whole.

        step: is told the bytes of each part before it is sent, and raises to give up.
        """

    def facts(self, key: str) -> Mapping[str, Any]:
        """What tells an object from a later one of the same key: for `put_if`."""

    def put_if(self, key: str, content: bytes, facts: Mapping[str, Any] | None) -> None:
        """Write a small object where the one with these facts still is; None: where none is.

        Else it is a failure whose cause is CHANGED.
        """

    def copy(self, key: str, to: str) -> None:
        """An object once more, within the store."""

    def delete(self, key: str) -> None:
        """One that is not there is no failure."""
