"""Waiting for what other threads and processes do: no test fails because they are late, only because they hang."""

import time
from collections.abc import Callable

HANGS = 300.0  # s


def until(condition: Callable[[], object], hangs: float = HANGS) -> bool:
    """Whether `condition` has become true: at once when it does, however long it takes; False once it hangs."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > hangs:
            return False
        time.sleep(0.01)
    return True
