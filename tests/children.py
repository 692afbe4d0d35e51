"""Work in a fork of the tests: it may die, and it has no other thread."""

import os
import pickle
import signal
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import NamedTuple


def in_child(
    work: Callable[[], object], uid: int | None = None, kill_after: float | None = None
) -> object:
    """Run `work` in a fork: its result, its exception, or -signal.

    uid: as another user; kill_after: SIGKILL then, s.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks where a library has threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            if uid is not None:
                os.setgroups([])
                os.setuid(uid)
            try:
                result = work()
            except Exception as error:
                result = error
            os.write(writer, pickle.dumps(result))
        finally:
            os._exit(0)
    os.close(writer)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else pickle.loads(said)


class Memory(NamedTuple):
    left: int  # bytes that are taken when the call has ended, its result included
    most: int  # bytes that were taken at a time


def measured(call: Callable[[], object]) -> tuple[object, Memory]:
    """What it returns, and the memory that Python took for it.

    In a child, which has no other threads and ends without tracemalloc.stop(): before Python 3.12.9
    and 3.13.2 that crashes where a library's thread takes memory without the GIL meanwhile
    (python/cpython#128679).
    """

    def work() -> tuple[object, tuple[int, int]]:
        tracemalloc.start()
        return call(), tracemalloc.get_traced_memory()

    found = in_child(work)
    assert isinstance(found, tuple), found  # an exception, or a signal
    return found[0], Memory(*found[1])
