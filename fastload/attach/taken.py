"""What loaders take from the process that trains: CPU time of their Python threads, which need the
interpreter's lock as the training does.
"""

import threading
import time

# fastload's (engine/, system/threads.py), and the function of PyTorch's thread that pins memory
NAMES = ("fastload-feeder", "fastload-sender", "fastload-records", "fastload-masks")
PINNING = "_pin_memory_loop"
_ended = 0.0  # s, of threads that have ended


def ended() -> None:
    """For such a thread, at its end: its time counts on."""
    global _ended  # noqa: PLW0603  one number of the process; ends are rare
    _ended += time.thread_time()


def python_seconds() -> float:
    """CPU time of loaders' Python threads in this process so far, s."""
    return _ended + sum(map(_clock, filter(_loads, threading.enumerate())))


def _loads(thread: threading.Thread) -> bool:
    target = getattr(thread, "_target", None)
    return thread.name.startswith(NAMES) or getattr(target, "__name__", "") == PINNING


def _clock(thread: threading.Thread) -> float:
    """0 for one that ends just now."""
    if thread.ident is None or not thread.is_alive():
        return 0.0
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    except OSError:
        return 0.0
