"""The store and its link: a web server on loopback that waits before each answer and sends so many
bytes per second, over all connections. It costs little CPU: the kernel sends the files.

`python -m benchmarks.peers.remote.link FOLDER LATENCY RATE` prints its port. It answers as S3 does
to who gets objects by path (`/bucket/key`). Latency is once per request; there is no slow start.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, BinaryIO

from benchmarks.peers.process import ROOT
from tests.remote.web import Handler, Web

PIECE = 256 << 10  # bytes that are sent at once: 2 ms of 1 Gbit/s
COUNTS = "counts"  # the path that tells the server's own counts, at once


class Sender(Handler):
    """Sends files without reading them."""

    def do_GET(self) -> None:  # noqa: N802  the library's name
        if self.path == f"/{COUNTS}":
            self._said(200, json.dumps(self.server.facts()))
        else:
            super().do_GET()

    def _content(self, content: BinaryIO, first: int, end: int, fault: str) -> None:
        self.wfile.flush()
        while first < end:
            size = min(PIECE, end - first)
            self.server.paced(size)
            while size:
                sent = os.sendfile(self.connection.fileno(), content.fileno(), first, size)
                if not sent:
                    raise ConnectionError("the client has gone")
                first, size = first + sent, size - sent


class Link(Web):
    """The files of a folder, over the link."""

    def __init__(self, folder: Path, latency: float, rate: float) -> None:
        super().__init__(folder, latency, rate, Sender)

    def facts(self) -> dict[str, float]:
        """So far: requests, bytes of answers, CPU-seconds of this process."""
        return {
            "requests": sum(self.counts.values()),
            "bytes": self.sent,
            "cpu_seconds": sum(os.times()[:2]),
        }


class Store:
    """A running server, as the benchmark sees it."""

    def __init__(self, port: int) -> None:
        self.port, self.url = port, f"http://127.0.0.1:{port}"

    def facts(self) -> dict[str, Any]:
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request("GET", f"/{COUNTS}")
            return dict(json.load(connection.getresponse()))
        finally:
            connection.close()


@contextmanager
def serving(folder: Path, latency: float, rate: float) -> Iterator[Store]:
    """latency in s, rate in bytes per second."""
    command = [sys.executable, "-m", "benchmarks.peers.remote.link", str(folder)]
    with subprocess.Popen(
        [*command, str(latency), str(rate)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield Store(int(process.stdout.readline()))
        finally:
            process.kill()


def main() -> None:
    folder, latency, rate = sys.argv[1:]
    with Link(Path(folder), float(latency), float(rate)) as server:
        print(server.server_port, flush=True)
        # Ends with whoever has started it
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        server.serve_forever()


if __name__ == "__main__":
    main()
