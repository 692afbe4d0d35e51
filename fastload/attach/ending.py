"""A moment at which a program has done its work, and its interpreter still does everything."""

import importlib
import threading
from collections.abc import Callable


def after_main(call: Callable[[], object]) -> None:
    """Call it when the main module has ended, by an exception too.

    `atexit` comes later: by then executors take no work, and since Python 3.12 no thread starts and
    nothing forks. `threading` calls first what was registered last, so executors end after it.
    """
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        importlib.import_module("concurrent.futures.thread")
        register(call)
