"""URLs of data sets: which there are, and how they are shown.

A URL may hold a user name, a password or a signed query. The library that reads it gets these;
messages, logs, names in the cache and states of loaders never do.
"""

import hashlib
import os
import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from fastload.errors import SourceError

# Schemes of stores that obstore reads, and of those that fsspec reads
OBSTORE = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "http", "https", "file")
FSSPEC = ("hf", "memory")
SCHEMES = (*OBSTORE, *FSSPEC)
LIKE_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,15})://")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
LONGEST = 4000  # characters


class Url(NamedTuple):
    """Where a data set lies."""

    scheme: str
    host: str  # a bucket's name, or a server with its port
    path: str  # as the user wrote it, without a slash at its ends
    raw: str  # all of it, for the library only

    def __repr__(self) -> str:
        return f"Url({self.shown!r})"

    @property
    def shown(self) -> str:
        """Without what may be secret."""
        if self.scheme == "file":
            return f"/{self.path}"
        return f"{self.scheme}://{self.host}/{self.path}".rstrip("/")

    @property
    def name(self) -> str:
        """Its last part: of a file its name."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> "Url":
        """What the last part lies in."""
        parent, query = self.path.rpartition("/")[0], self._query()
        before = self.raw.partition("?")[0].rstrip("/").rpartition("/")[0]
        return Url(self.scheme, self.host, parent, f"{before}/{query}")

    def _query(self) -> str:
        return "?" + self.raw.partition("?")[2] if "?" in self.raw else ""

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that stand for it in the cache; of what is shown only, so that a
        new signature finds the same data.
        """
        return hashlib.sha256(self.shown.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether this is a URL and no path: `file://` is one, of the local disk."""
    return isinstance(path, str) and LIKE_URL.match(path) is not None


def parse(text: str) -> Url:
    """Raises SourceError for a URL that nobody reads."""
    match = LIKE_URL.match(text)
    scheme = match[1].lower() if match else ""
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in ("s3", "gs", "az", "https", "http", "hf"))
        raise SourceError(
            f"{scheme}://…: is a kind of URL that fastload does not read (want {known}); give "
            "one of these, or a path"
        )
    if CONTROL.search(text) or len(text) > LONGEST:
        raise SourceError(
            f"{scheme}://…: has control characters, or more than {LONGEST} characters; write "
            "them as %XX, or move the data"
        )
    rest = text[len(scheme) + 3 :]
    if scheme == "file":
        return Url(scheme, "", unquote(rest).strip("/"), text)
    if scheme in ("http", "https"):
        try:
            parts = urlsplit(text)
            host = parts.hostname or ""
            host += f":{parts.port}" if parts.port else ""
        except ValueError as error:
            wrong = f"{scheme}://…: is no valid URL; check its host and port"
            raise SourceError(wrong) from error
        path = unquote(parts.path)
    else:
        host, _, path = rest.partition("?")[0].partition("/")
        host = host.rpartition("@")[2] if scheme not in ("abfs", "abfss") else host
    if not host:
        raise SourceError(f"{scheme}://…: names no bucket or server; write {scheme}://NAME/PATH")
    return Url(scheme, host, path.strip("/"), text)


def public(path: str) -> str:
    """A path as it is; a URL as it is shown."""
    return parse(path).shown if is_url(path) else path


def local(path: str) -> str:
    """The path of a `file://` URL; any other text as it is."""
    return unquote(path.removeprefix("file://")) if path.startswith("file://") else path


def of_path(path: str) -> str:
    """The `file://` URL of a path."""
    return "file://" + quote(os.path.abspath(path))
