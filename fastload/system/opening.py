"""One thread at a time begins an epoch of a loader, so that each gets an iterator of its own."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

_all = weakref.WeakSet["Opening"]()


class Opening:
    """A lock that a forked child finds open, whichever thread of its parent held it.

    A sampler may iterate its own loader.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _all.add(self)

    def __reduce__(self) -> tuple[type["Opening"], tuple[()]]:
        """A copy of what holds it has a lock of its own."""
        return Opening, ()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:  # kept by name here: in a child the next one takes another
            yield

    def renew(self) -> None:
        """In a child of fork."""
        self._lock = threading.RLock()


def _renew() -> None:
    for one in list(_all):
        one.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
