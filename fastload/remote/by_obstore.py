"""S3, GCS, Azure and web servers by obstore."""

import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any

from fastload.errors import SourceError
from fastload.remote import failures
from fastload.remote.objects import Got, Object
from fastload.remote.urls import Url

INSTALL = 'pip install "fastload-torch[remote]"'
# s: a request of one piece takes less even on a slow link; one that stands still is sent again
CONNECT, STILL, WHOLE = 10.0, 15.0, 120.0
PART = 16 << 20  # bytes of a part of an upload


def library(where: str) -> ModuleType:
    """Raises SourceError if it is not installed."""
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError as error:
        raise SourceError(f"{where}: needs obstore (not installed); {INSTALL}") from error
    return obstore


class Objects:
    """A `Backend`."""

    def __init__(self, url: Url, options: Mapping[str, object], deadline: float) -> None:
        self.obstore = library(url.shown)
        self.failures = (self.obstore.exceptions.BaseError, OSError)
        limits = {
            "connect_timeout": timedelta(seconds=min(CONNECT, deadline)),
            "read_timeout": timedelta(seconds=min(STILL, deadline)),
            "timeout": timedelta(seconds=min(WHOLE, deadline)),
        }
        own: dict[str, Any] = dict(options)
        client = {**limits, **own.pop("client_options", {})}
        if url.scheme == "http":
            client.setdefault("allow_http", True)
        try:
            # Tried again by `Store`, which counts it
            self.store = self.obstore.store.from_url(
                url.raw, client_options=client, retry_config={"max_retries": 0}, **own
            )
        except (*self.failures, ValueError, TypeError) as error:
            text = str(error).partition("\n")[0].replace(url.raw, url.shown)
            raise SourceError(
                f"{url.shown}: obstore does not take the URL or its options ({text[:200]}); check "
                "both"
            ) from None

    def get(self, key: str, span: tuple[int, int] | None, etag: str) -> Got:
        options: dict[str, object] = {}
        if span is not None:
            options["range"] = span
        if etag:
            options["if_match"] = etag
        begin = time.monotonic()
        try:
            answer = self.obstore.get(self.store, key, options=options)
            first = time.monotonic() - begin
            return Got(answer.bytes(), answer.meta["size"], answer.meta["e_tag"] or "", first)
        except self.failures as error:
            raise failures.of_obstore(error) from None

    def list(self, prefix: str) -> Iterator[Object]:
        try:
            for page in self.obstore.list(self.store, prefix=prefix or None):
                for each in page:
                    yield Object(each["path"], each["size"], each["e_tag"] or "")
        except self.failures as error:
            raise failures.of_obstore(error) from None

    def put(self, key: str, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.obstore.put(self.store, key, file, chunk_size=PART)
        except self.failures as error:
            raise failures.of_obstore(error) from None
