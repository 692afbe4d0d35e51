"""moto's S3 in a process of its own, and a server before it that goes wrong as it is told.

    faulty.faults = lambda method, key, number: "503" if number < 3 else ""

`number` counts the requests of a method for a key from 0. Faults: a status, "reset" (nothing is
done), "late" (it is done, and nobody is told), "hang".
"""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tests.remote.web import running

CODES = {"503": "SlowDown", "429": "SlowDown", "500": "InternalError", "403": "AccessDenied"}
DROPPED = ("connection", "transfer-encoding", "date", "server", "content-length")


class Bucket(NamedTuple):
    """A bucket, and how it is asked."""

    name: str
    endpoint: str
    client: Any  # boto3's

    def options(self, endpoint: str = "") -> dict[str, object]:
        """Of the store. endpoint: another one, such as a faulty one before it."""
        return {
            "endpoint": endpoint or self.endpoint, "region": "us-east-1", "access_key_id": "me",
            "secret_access_key": "hidden", "client_options": {"allow_http": True},
        }  # fmt: skip

    def environment(self, endpoint: str = "") -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": endpoint or self.endpoint, "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hidden", "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip

    def contents(self, prefix: str) -> dict[str, bytes]:
        """All objects below it, by their names there."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=f"{prefix}/"
        )
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {key.removeprefix(f"{prefix}/"): self.read(key) for key in keys}

    def read(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=self.name, Key=key)["Body"].read())

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=key, Body=content)

    def uploads(self) -> list[str]:
        """Keys of uploads in parts that were begun and not completed."""
        said = self.client.list_multipart_uploads(Bucket=self.name)
        return [each["Key"] for each in said.get("Uploads", ())]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers(port: int, process: "subprocess.Popen[bytes]") -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.05)
        else:
            return


@contextlib.contextmanager
def answering() -> Iterator[str]:
    """The address of an S3 server, whose parts of uploads may be small."""
    import pytest  # what is killed imports this file, and not pytest

    pytest.importorskip("boto3", reason="needs moto's S3: pip install 'moto[s3]' flask")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "S3_UPLOAD_PART_MIN_SIZE": "1"}
    with subprocess.Popen(command, env=environment, **quiet) as process:
        try:
            answers(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def emptied(endpoint: str, name: str = "images") -> Bucket:
    """One bucket, and nothing else, in the server there."""
    import boto3

    with contextlib.closing(http.client.HTTPConnection(urlsplit(endpoint).netloc)) as server:
        server.request("POST", "/moto-api/reset")
        assert server.getresponse().status == 200
    client = boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="me",
        aws_secret_access_key="hidden",
    )  # fmt: skip
    client.create_bucket(Bucket=name)
    return Bucket(name, endpoint, client)


class Faulty(ThreadingHTTPServer):
    """Passes requests on."""

    daemon_threads = True

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = urlsplit(endpoint).netloc
        self.faults: Callable[[str, str, int], str] = lambda *_: ""
        self.seen: Callable[[str, str], object] = lambda *_: None  # told of each request
        self.lock, self.counts = threading.Lock(), Counter[tuple[str, str]]()
        self.injected = Counter[str]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may go away."""


class Handler(BaseHTTPRequestHandler):
    server: Faulty
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *values: object) -> None:
        """Says nothing."""

    def do_GET(self) -> None:
        server, url = self.server, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        method, key = self.command, unquote(url.path).rpartition("/")[2]
        if "x-amz-copy-source" in self.headers:
            method = "COPY"
        with server.lock:
            number, server.counts[method, key] = (
                server.counts[method, key],
                server.counts[method, key] + 1,
            )
            fault = server.faults(method, key, number)
            server.injected[fault] += bool(fault)
            server.seen(method, key)
        if fault == "hang":
            time.sleep(3600)
        elif fault == "reset":
            self.close_connection = True
        elif fault and fault != "late":
            status, _, code = fault.partition(" ")
            text = f"<Error><Code>{code or CODES[status]}</Code></Error>".encode()
            self._said(int(status), [], text)
        else:
            self._passed(body, fault)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815  as http.server calls them

    def _passed(self, body: bytes, fault: str) -> None:
        with contextlib.closing(http.client.HTTPConnection(self.server.behind)) as behind:
            behind.request(self.command, self.path, body, dict(self.headers))
            answer = behind.getresponse()
            text, headers = answer.read(), answer.getheaders()
        if fault == "late":
            self.close_connection = True
            return
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else None
        self._said(answer.status, headers, text, length)

    def _said(
        self, status: int, headers: list[tuple[str, str]], text: bytes, length: str | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in DROPPED:
                self.send_header(name, value)
        self.send_header("Content-Length", length or str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextlib.contextmanager
def faulty(bucket: Bucket) -> Iterator[Faulty]:
    """In threads of this process."""
    with running(Faulty(bucket.endpoint)) as server:
        yield server
