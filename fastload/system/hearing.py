"""Ctrl-C and the processes that a program begins."""

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Ctrl-C waits, and processes that begin meanwhile never get it: it is left to their parent."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
