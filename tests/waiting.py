"""Waiting for other threads and processes: what hangs fails a test, what is late does not."""

import time
from collections.abc import Callable

HANGS = 300.0  # s


def until(condition: Callable[[], object], hangs: float = HANGS) -> bool:
    """Whether `condition` has become true: as soon as it is, however late; False once it hangs."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > hangs:
            return False
        time.sleep(0.01)
    return True
