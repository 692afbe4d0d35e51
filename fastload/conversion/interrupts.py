"""When Ctrl-C still counts: up to the point of commitment a conversion is interrupted, from there
on it is done.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

# Around the renames that put a target in its place
Committing = Callable[[], AbstractContextManager[None]]


@contextlib.contextmanager
def absorbed() -> Iterator[None]:
    """Ctrl-C does nothing, and afterwards neither unless an error was raised: for a program that
    ends with what it commits.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # As long as it runs, what came before is raised here
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    except BaseException:
        signal.signal(signal.SIGINT, before)
        raise


@contextlib.contextmanager
def delayed() -> Iterator[None]:
    """Ctrl-C happens afterwards: for a program that goes on."""
    old = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(old):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
    if came:
        signal.raise_signal(signal.SIGINT)
