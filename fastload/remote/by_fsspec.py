"""Stores that obstore lacks, by fsspec: Hugging Face's hub (`hf://`), and memory for tests."""

import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fastload.errors import SourceError
from fastload.remote.by_obstore import INSTALL
from fastload.remote.failures import Cause, FailureError
from fastload.remote.objects import Content, Got, Object
from fastload.remote.urls import Url

NEEDED = {"hf": ("fsspec", "huggingface_hub"), "memory": ("fsspec",)}


class Objects:
    """A `Backend`."""

    def __init__(self, url: Url, options: Mapping[str, object]) -> None:
        try:
            for name in NEEDED[url.scheme]:
                importlib.import_module(name)
            import fsspec
        except ImportError as error:
            missing = " and ".join(NEEDED[url.scheme])
            raise SourceError(f"{url.shown}: needs {missing}; {INSTALL}") from error
        own: dict[str, Any] = dict(options)
        self.files: Any = fsspec.filesystem(url.scheme, **own)
        self.root = f"{url.host}/{url.path}".rstrip("/")
        self.sizes: dict[str, tuple[int, str]] = {}  # what is known of an object

    def get(self, key: str, span: tuple[int, int] | None, etag: str) -> Got:
        path, begin = self._path(key), time.monotonic()
        try:
            if key not in self.sizes:
                facts = self.files.info(path)
                self.sizes[key] = (
                    int(facts["size"]),
                    str(facts.get("ETag") or facts.get("etag", "")),
                )
            size, now = self.sizes[key]
            first, last = span or (0, size)
            data = self.files.cat_file(path, start=first, end=last)
        except Exception as error:  # noqa: BLE001  of whichever library is below
            raise _failure(error) from None
        if etag and now and etag != now:
            raise FailureError(Cause.CHANGED, "another ETag")
        return Got(data, size, now, time.monotonic() - begin)

    def list(self, prefix: str) -> Iterator[Object]:
        try:
            found = self.files.find(self._path(prefix), detail=True)
        except Exception as error:  # noqa: BLE001  of whichever library is below
            raise _failure(error) from None
        skipped = len(self.root) + 1
        for name, facts in found.items():
            yield Object(name.lstrip("/")[skipped:], int(facts["size"]), str(facts.get("ETag", "")))

    def put(self, key: str, content: Content, step: Callable[[int], None]) -> None:
        step(0)
        try:
            self.files.makedirs(self._path(key).rpartition("/")[0], exist_ok=True)
            if isinstance(content, str):
                self.files.put_file(content, self._path(key))
            else:
                self.files.pipe_file(self._path(key), bytes(content))
        except Exception as error:  # noqa: BLE001  of whichever library is below
            raise _failure(error) from None

    def facts(self, key: str) -> Mapping[str, Any]:
        raise FailureError(Cause.OTHER, "the library has no conditional writes")

    def put_if(self, key: str, content: bytes, facts: Mapping[str, Any] | None) -> None:
        self.facts(key)

    def copy(self, key: str, to: str) -> None:
        try:
            self.files.cp_file(self._path(key), self._path(to))
        except Exception as error:  # noqa: BLE001  of whichever library is below
            raise _failure(error) from None

    def delete(self, key: str) -> None:
        try:
            self.files.rm_file(self._path(key))
        except FileNotFoundError:
            return
        except Exception as error:  # noqa: BLE001  of whichever library is below
            raise _failure(error) from None

    def _path(self, key: str) -> str:
        return f"{self.root}/{key}".rstrip("/")


def _failure(error: Exception) -> FailureError:
    if isinstance(error, (MemoryError, TypeError)):
        raise error
    status = getattr(getattr(error, "response", None), "status_code", None)
    said = f"{status}" if status else type(error).__name__
    if isinstance(error, FileNotFoundError) or status == 404:
        return FailureError(Cause.MISSING, said)
    if isinstance(error, PermissionError) or status in (401, 403):
        return FailureError(Cause.DENIED, said)
    if status is not None and (status == 429 or status >= 500):
        return FailureError(Cause.BUSY, said)
    passes = isinstance(error, OSError)
    return FailureError(Cause.NETWORK if passes else Cause.OTHER, said)
