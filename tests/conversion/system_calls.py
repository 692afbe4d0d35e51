"""Every format, and the kth system call of a conversion: what happens before it is the test's."""

import os
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

FORMATS = ("shards", "webdataset", "parquet", "folder", "beton")
CALLS = (
    "open",
    "write",
    "writev",
    "pwrite",
    "fsync",
    "ftruncate",
    "rename",
    "mkdir",
    "unlink",
    "rmdir",
)


def out_of(folder: Path, to: str) -> Path:
    return folder / ("out.beton" if to == "beton" else "out")


class Nth:
    """Replaces os functions: before the kth call that changes something, `act` is called."""

    def __init__(self, k: int, act: Callable[[], object], calls: Iterable[str] = CALLS) -> None:
        self.k, self.act, self.calls, self.count = k, act, calls, 0
        self.lock = threading.Lock()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> "Nth":
        for name in self.calls:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name), name))
        return self

    def wrap(self, real: Callable[..., object], name: str) -> Callable[..., object]:
        def call(path: object, *arguments: object, **named: object) -> object:
            reads = name == "open" and not (arguments[0] & (os.O_WRONLY | os.O_RDWR))
            with self.lock:
                self.count += not reads
                mine = self.count == self.k and not reads
            if mine:
                self.act()
            return real(path, *arguments, **named)

        return call


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
