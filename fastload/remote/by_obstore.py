"""S3, GCS, Azure and web servers by obstore."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from types import ModuleType
from typing import Any

from fastload.errors import SourceError
from fastload.remote import failures
from fastload.remote.failures import Cause, FailureError
from fastload.remote.objects import Content, Got, Object
from fastload.remote.urls import Url

INSTALL = 'pip install "fastload-torch[remote]"'
# s: a request of one piece takes less even on a slow link; one that stands still is sent again
CONNECT, STILL, WHOLE = 10.0, 15.0, 120.0
SENT = 300.0  # s: a part of an upload, which comes to 128 MiB in all uploads at once
PART, AT_ONCE = 8 << 20, 4  # bytes of a part of an upload; parts of one that are sent at once
# Of a part that fails, and s for that: else all parts of a large file would be sent again
TRIES, TRYING = 8, 60.0


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
        self.url, self.options, self.deadline = url, options, deadline
        self.store = self._opened(STILL, WHOLE, 0)  # tried again by `Store`, which counts it

    @cached_property
    def writing(self) -> Any:
        """The same store. A part is sent before its answer comes, which takes a slow link its
        time.
        """
        return self._opened(SENT, SENT, TRIES)

    def _opened(self, still: float, whole: float, tries: int) -> Any:
        url, deadline = self.url, self.deadline
        limits = {
            "connect_timeout": timedelta(seconds=min(CONNECT, deadline)),
            "read_timeout": timedelta(seconds=min(still, deadline)),
            "timeout": timedelta(seconds=min(whole, deadline)),
        }
        again = {
            "max_retries": tries,
            "retry_timeout": timedelta(seconds=min(TRYING, deadline)),
            "backoff": {"max_backoff": timedelta(seconds=8)},
        }
        own: dict[str, Any] = dict(self.options)
        client = {**limits, **own.pop("client_options", {})}
        # Client options of ours hide this variable from the library
        allowed = os.environ.get(failures.HTTP.get(url.scheme.removesuffix("a"), ""), "")
        if url.scheme == "http" or allowed.lower() in ("true", "1"):
            client.setdefault("allow_http", True)
        try:
            return self.obstore.store.from_url(
                url.raw, client_options=client, retry_config=again, **own
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

    def put(self, key: str, content: Content, step: Callable[[int], None]) -> None:
        parts = _Parts(content, step)
        try:
            if parts.size <= PART:
                self.obstore.put(self.writing, key, b"".join(parts))
                return
            self.obstore.put(self.writing, key, parts, chunk_size=PART, max_concurrency=AT_ONCE)
        except self.failures as error:
            if parts.error is not None:  # of this machine's, and not of the store's
                raise parts.error from None
            failure = failures.of_obstore(error)
            if "NoSuchUpload" in failure.said:  # somebody has ended it; the next try begins anew
                raise FailureError(Cause.NETWORK, failure.said) from None
            raise failure from None

    def facts(self, key: str) -> Mapping[str, Any]:
        try:
            said = self.obstore.head(self.store, key)
        except self.failures as error:
            raise failures.of_obstore(error) from None
        return {name: said[name] for name in ("e_tag", "version") if said[name] is not None}

    def put_if(self, key: str, content: bytes, facts: Mapping[str, Any] | None) -> None:
        mode = "create" if facts is None else dict(facts)
        try:
            self.obstore.put(self.writing, key, content, mode=mode, use_multipart=False)
        except self.failures as error:
            raise failures.of_obstore(error) from None

    def copy(self, key: str, to: str) -> None:
        try:
            self.obstore.copy(self.writing, key, to)
        except self.failures as error:
            raise failures.of_obstore(error) from None

    def delete(self, key: str) -> None:
        try:
            self.obstore.delete(self.store, key)
        except self.failures as error:
            failure = failures.of_obstore(error)
            if failure.cause is not Cause.MISSING:
                raise failure from None


class _Parts:
    """What is sent, PART bytes at a time. error: what reading it, or `step`, has raised."""

    def __init__(self, content: Content, step: Callable[[int], None]) -> None:
        self.content, self.step = content, step
        self.error: Exception | None = None
        if isinstance(content, str):
            self.size = os.path.getsize(content)
        else:
            self.size = memoryview(content).nbytes

    def __iter__(self) -> Iterator[bytes | memoryview]:
        try:
            for part in self._pieces():
                self.step(len(part))
                yield part
        except Exception as error:
            self.error = error
            raise

    def _pieces(self) -> Iterator[bytes | memoryview]:
        if isinstance(self.content, str):
            with open(self.content, "rb") as file:
                while part := file.read(PART):
                    yield part
            return
        view = memoryview(self.content).cast("B")
        for at in range(0, len(view), PART):
            yield view[at : at + PART]
