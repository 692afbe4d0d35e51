"""Files that are held back: whoever opens one waits."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def unopened(path: Path) -> Iterator[None]:
    """Nobody can open the file before the context ends. Skips the test where that cannot be."""
    fcntl = pytest.importorskip("fcntl")
    if not hasattr(fcntl, "F_SETLEASE"):
        pytest.skip("only Linux has leases of files")
    handler = signal.signal(signal.SIGIO, lambda *_: None)  # that somebody wants it
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        os.close(descriptor)
        pytest.skip(f"this file system gives no leases ({error})")
    try:
        yield
    finally:
        with suppress(OSError):  # the system takes it back after 45 s
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(descriptor)
        signal.signal(signal.SIGIO, handler)
