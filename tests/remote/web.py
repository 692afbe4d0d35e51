"""A web server on loopback that gives files in ranges, and goes wrong as it is told.

    server.faults = lambda path, number: "503" if number < 3 else ""

`number` counts the requests for a path from 0.
"""

import contextlib
import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit

RANGE = re.compile(r"bytes=(\d+)-(\d*)")
STATUS = ("301", "401", "403", "404", "412", "429", "500", "503")
PIECE = 1 << 16  # bytes that are sent at once


class Web(ThreadingHTTPServer):
    """The files of a folder."""

    daemon_threads = True

    def __init__(
        self,
        folder: Path,
        latency: float = 0.0,
        rate: float = 0.0,
        handler: "type[Handler] | None" = None,
    ) -> None:
        """latency: s before each answer; rate: bytes per second over all connections, 0: any."""
        super().__init__(("127.0.0.1", 0), handler or Handler)
        self.folder, self.latency, self.rate = folder, latency, rate
        self.faults: Callable[[str, int], str] = lambda *_: ""
        self.lock, self.counts = threading.Lock(), Counter[str]()
        self.asked: list[tuple[str, int, int]] = []  # path, first byte, and the one behind the last
        self.sent = self.injected = 0  # bytes; faults
        self.free_at = 0.0
        self.answer: tuple[int, str] | None = None  # to all: a status, and what it says

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may go away."""

    def paced(self, size: int) -> None:
        """Wait until the link has carried so many bytes more."""
        with self.lock:
            self.sent += size
            if not self.rate:
                return
            self.free_at = max(self.free_at, time.monotonic() - 0.02) + size / self.rate
            left = self.free_at - time.monotonic()
        if left > 0:
            time.sleep(left)


class Handler(BaseHTTPRequestHandler):
    server: Web
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def log_message(self, format: str, *values: object) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).lstrip("/")
        with self.server.lock:
            number, self.server.counts[path] = (
                self.server.counts[path],
                self.server.counts[path] + 1,
            )
        fault = self.server.faults(path, number)
        self.server.injected += bool(fault)
        if self.server.latency:
            time.sleep(self.server.latency)
        file = self.server.folder / path
        if self.server.answer:
            self._said(*self.server.answer)
        elif fault in STATUS or not file.is_file():
            self._said(int(fault or 404))
        elif fault == "reset":
            self.close_connection = True
        elif fault == "hang":
            time.sleep(3600)
        else:
            self._file(file, path, fault)

    def _said(self, status: int, text: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def _file(self, file: Path, path: str, fault: str) -> None:
        facts = file.stat()
        size = facts.st_size
        etag = f'"{hashlib.md5(f"{size}-{facts.st_mtime_ns}".encode()).hexdigest()}"'
        if (wanted := self.headers.get("If-Match")) and wanted != etag:
            return self._said(412)
        first, end, status = 0, size, 200
        if match := RANGE.fullmatch(self.headers.get("Range", "")):
            first, end = int(match[1]), min(int(match[2] or size - 1) + 1, size)
            status = 206
            if first >= size:
                return self._said(416)
        with self.server.lock:
            self.server.asked.append((path, first, end))
        shift = 7 if fault == "wrong" and status == 206 else 0
        self.send_response(status)
        self.send_header("ETag", etag)
        self.send_header("Content-Length", str(end - first))
        if status == 206:
            whole = size + (100 if fault == "longer" else 0)
            self.send_header("Content-Range", f"bytes {first + shift}-{end - 1 + shift}/{whole}")
        self.end_headers()
        if self.command == "GET":
            self._bytes(file, first, end, fault)
        return None

    def _bytes(self, file: Path, first: int, end: int, fault: str) -> None:
        with open(file, "rb") as content:
            self._content(content, first, (first + end) // 2 if fault == "short" else end, fault)
        self.wfile.flush()
        if fault == "short":
            self.close_connection = True

    def _content(self, content: BinaryIO, first: int, end: int, fault: str) -> None:
        content.seek(first)
        while first < end:
            piece = bytearray(content.read(min(PIECE if fault != "trickle" else 64, end - first)))
            if fault == "flip":
                piece[len(piece) // 2] ^= 1
            self.server.paced(len(piece))
            self.wfile.write(piece)
            first += len(piece)
            if fault == "trickle":
                self.wfile.flush()
                time.sleep(0.05)


@contextlib.contextmanager
def serving(folder: Path, latency: float = 0.0, rate: float = 0.0) -> Iterator[Web]:
    """A server in threads of this process."""
    with running(Web(folder, latency, rate)) as server:
        yield server


S = TypeVar("S", bound=ThreadingHTTPServer)


@contextlib.contextmanager
def running(server: S) -> Iterator[S]:
    """It answers, in threads of this process."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
