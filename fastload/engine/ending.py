"""Threads of epochs end before the interpreter does: one that came back into it later would end the
process.
"""

import atexit
import threading
from collections.abc import Callable

# Seconds that the end of an epoch or of the program waits for a thread, which may be in a user's
# function
JOIN = 5.0
# Those of this process that may run, and what ends them.
_running = dict[threading.Thread, Callable[[], None]]()


def register(thread: threading.Thread, stop: Callable[[], None]) -> None:
    """To be ended before the interpreter is."""
    _running[thread] = stop
    for other in list(_running):  # other threads may begin epochs meanwhile
        if not other.is_alive():
            _running.pop(other, None)


@atexit.register
def _stop_all() -> None:
    threads = list(_running.items())
    for _, stop in threads:
        stop()
    for thread, _ in threads:
        thread.join(JOIN)
