"""One URL, fetched politely and within limits: redirects, retries, one body of bounded size."""

import asyncio
import random
import socket
import time
import zlib
from collections.abc import Callable
from contextlib import AsyncExitStack
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
from yarl import URL

from fastload.conversion.web import robots
from fastload.conversion.web.addresses import PrivateAddressError, public_socket
from fastload.conversion.web.failures import FailedError, Failure, failed
from fastload.conversion.web.hosts import Hosts
from fastload.conversion.web.options import Fetch
from fastload.system import limits

SCHEMES = ("http", "https")
LONGEST = 8000  # characters of a URL
HEADER, HEADERS = 8190, 100  # bytes of one header of an answer; how many it has, at most
# Bytes of a body that each connection may hold; what is larger waits, so that few are
FREE, LARGE = limits.MIB, 4
MOVED = (301, 302, 303, 307, 308)
PASSING = (408, 425, 429, 500, 502, 503, 504)  # statuses that may pass
GOOD = (200, 203)
# What a library may raise, beside its own errors, for an answer that nobody has thought of: it
# costs one row, not the job
ODD = (ValueError, LookupError, TypeError, AssertionError)
ASKED = {"Accept": "image/*,*/*;q=0.5", "Accept-Encoding": "identity"}
PLAIN, DEFLATED = ("", "identity"), ("gzip", "x-gzip", "deflate")
EITHER = 32 + zlib.MAX_WBITS  # of zlib: a header of gzip or of zlib


def new_session(how: Fetch) -> aiohttp.ClientSession:
    """What holds the connections: kept alive, names remembered for five minutes."""
    connector = aiohttp.TCPConnector(
        limit=how.connections,
        ttl_dns_cache=300,
        socket_factory=None if how.private else public_socket,
        resolver=aiohttp.ThreadedResolver(),
    )
    return aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": how.agent, **ASKED},
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        max_line_size=HEADER,
        max_field_size=HEADER,
        max_headers=HEADERS,
    )


class Fetcher:
    """Fetches URLs; all in one event loop, as many at once as is asked for."""

    def __init__(self, session: aiohttp.ClientSession, how: Fetch) -> None:
        self.session, self.how = session, how
        self.hosts = Hosts(how.host_connections, how.host_rate)
        self.slots = asyncio.Semaphore(how.connections)
        self.large = asyncio.Semaphore(LARGE)
        self.robots = robots.RobotsTxt(self._robots_txt) if how.robots_txt else None

    async def fetch(self, url: str) -> bytes:
        """The file. Raises FailedError."""
        tries = 0
        while True:
            tries += 1
            try:
                data: bytes = await self._followed(parse(url), self._file)
            except FailedError as error:
                failure = error.failure._replace(tries=tries)
            else:
                return data
            if not failure.passing or tries > self.how.retries:
                raise FailedError(failure)
            pause = self.how.backoff * 2 ** (tries - 1) * (0.5 + random.random())
            await asyncio.sleep(max(failure.wait, pause))

    async def _followed(self, at: URL, take: Callable[..., Any], *, asked: bool = True) -> Any:
        """What `take` makes of the answer behind all redirects.

        asked: robots.txt is to be asked for each of them. Raises FailedError.
        """
        left = self.how.timeout
        for _ in range(self.how.redirects + 1):
            if asked and self.robots and not await self.robots.allows(origin(at), str(at)):
                raise failed("robots_txt", "the site's robots.txt keeps it out")
            async with self.hosts.turn(str(at.host), self.how.longest_wait), self.slots:
                begin = time.monotonic()
                said = await self._ask(at, left, take)
                left -= time.monotonic() - begin
            if not isinstance(said, URL):
                return said
            if left <= 0:
                raise self._late()
            at = said
        raise failed("redirects", f"more than {self.how.redirects} redirects")

    async def _ask(self, at: URL, left: float, take: Callable[..., Any]) -> Any:
        """One request: a URL to go on with, or what `take` gives. Raises FailedError."""
        timeout = aiohttp.ClientTimeout(total=left)
        try:
            async with self.session.get(at, allow_redirects=False, timeout=timeout) as answer:
                if answer.status in MOVED:
                    return _moved(at, answer.headers.get("Location", ""), answer.status)
                return await take(at, answer)
        except asyncio.TimeoutError as error:
            raise self._late() from error
        except (aiohttp.ClientError, OSError, *ODD) as error:
            raise FailedError(failure_of(error)) from error

    def _late(self) -> FailedError:
        return failed("timeout", f"not whole within {self.how.timeout:g} s", passing=True)

    async def _file(self, at: URL, answer: aiohttp.ClientResponse) -> bytes:
        """The body of an answer that is to be a file. Raises FailedError, and aiohttp's errors."""
        status = answer.status
        if status in PASSING:
            wait = _asked_wait(answer.headers.get("Retry-After", ""))
            self.hosts.silence(str(at.host), wait)
            raise FailedError(Failure("http_status", reason(status), status, 1, True, wait))
        if status not in GOOD:
            raise failed("http_status", reason(status), status)
        if word := robots.opted_out(answer.headers.getall("X-Robots-Tag", ()), self.how.opt_outs):
            raise failed("opt_out", f"X-Robots-Tag says {word}", status)
        data = unpacked(
            await self._body(answer), answer.headers.get("Content-Encoding", ""), self.how.max_bytes
        )
        if not data:
            raise failed("empty", "the answer has no bytes", status)
        return data

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        most, data = self.how.max_bytes, bytearray()
        if (answer.content_length or 0) > most:
            raise too_large(most)
        async with AsyncExitStack() as held:
            is_large = False
            async for piece in answer.content.iter_any():
                data += piece
                if len(data) > most:
                    raise too_large(most)
                if len(data) > FREE and not is_large:
                    is_large = True
                    await held.enter_async_context(self.large)
            return bytes(data)

    async def _robots_txt(self, url: str) -> str | None:
        """Its text; "" where there is none, None where nobody can tell."""

        async def take(at: URL, answer: aiohttp.ClientResponse) -> str | None:
            if answer.status not in GOOD:
                return "" if 400 <= answer.status < 500 and answer.status != 429 else None
            data = bytearray()
            async for piece in answer.content.iter_any():
                data += piece
                if len(data) >= robots.MOST:
                    break
            return data[: robots.MOST].decode("utf-8", "replace")

        try:
            text: str | None = await self._followed(URL(url), take, asked=False)
        except FailedError:
            return None
        return text


def parse(text: str) -> URL:
    """A URL that may be fetched. Raises FailedError."""
    try:
        if len(text) > LONGEST:
            raise ValueError("too long")
        at = URL(text.strip())
        known = at.scheme in SCHEMES and at.host and at.port and at.user is None
    except (ValueError, TypeError) as error:
        raise failed("bad_url", "is no URL") from error
    if not known or at.password is not None:
        raise failed("bad_url", "is no URL of http or https without a user")
    return at.with_fragment(None)


def origin(at: URL) -> str:
    """ "https://host:port"."""
    return str(at.origin())


def _moved(at: URL, location: str, status: int) -> URL:
    if not location:
        raise failed("bad_response", "a redirect that says not where to", status)
    try:
        return parse(str(at.join(URL(location))))
    except (ValueError, TypeError) as error:
        raise failed("bad_url", "a redirect leads to no URL", status) from error


def _asked_wait(text: str) -> float:
    """Seconds that Retry-After asks for; 0 where it asks for none."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, LookupError, OverflowError):
        return 0.0


def reason(status: int) -> str:
    """What an HTTP status means, in words of our own, so that a server cannot write into tables."""
    kinds = {4: "the server refuses", 5: "the server fails"}
    return kinds.get(status // 100, "the server gives no file")


def too_large(most: int) -> FailedError:
    return failed("too_large", f"more than {most} bytes", 200)


def unpacked(data: bytes, encoding: str, most: int) -> bytes:
    """A body without its Content-Encoding, which was not asked for. Raises FailedError."""
    encoding = encoding.strip().lower()
    if encoding in PLAIN:
        return data
    if encoding not in DEFLATED:
        raise failed("encoding", "an encoding that was not asked for", 200)
    most = min(most, max(limits.TIMES * len(data), limits.MIB))
    for window in (EITHER, -zlib.MAX_WBITS):
        decoder = zlib.decompressobj(window)
        try:
            out = decoder.decompress(data, most + 1)
        except zlib.error:
            continue
        if len(out) > most:
            raise failed("too_large", f"unpacks to more than {most} bytes", 200)
        if decoder.eof:
            return out
    raise failed("encoding", "its Content-Encoding is damaged", 200)


def failure_of(error: Exception) -> Failure:
    """What went wrong on the way to an answer, in words that depend on nothing but its kind."""
    inner = getattr(error, "os_error", None)
    if isinstance(inner, PrivateAddressError) or "not a public address" in str(inner):
        return Failure("private_address", "the host is none of the public internet")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        again = getattr(inner, "errno", None) == socket.EAI_AGAIN
        return Failure("dns", "the host has no address", passing=again)
    if isinstance(error, (aiohttp.ClientSSLError, aiohttp.ClientConnectorCertificateError)):
        return Failure("tls", "no secure connection (certificate or protocol)")
    if isinstance(error, aiohttp.ClientConnectorError):
        return Failure("connect", "the host takes no connection", passing=True)
    if isinstance(error, aiohttp.InvalidURL):
        return Failure("bad_url", "is no URL")
    if isinstance(error, (aiohttp.ClientResponseError, *ODD)):
        return Failure("bad_response", "the answer is no HTTP, or its headers are too large")
    return Failure("cut_off", "the connection broke before the end", passing=True)
