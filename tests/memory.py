"""How much memory Python takes."""

import os
import pickle
import traceback
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple


class Memory(NamedTuple):
    left: int  # bytes that are taken when the call has ended, its result included
    most: int  # bytes that were taken at a time


def measured(call: Callable[[], Any]) -> tuple[Any, Memory]:
    """What it returns, and the memory that it took.

    A forked child calls it, which has no other threads and ends without tracemalloc.stop(): before
    Python 3.12.9 and 3.13.2 that crashes where a library's thread takes memory without the GIL
    meanwhile (python/cpython#128679).
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "wb") as pipe:
            try:
                tracemalloc.start()
                said = call(), tracemalloc.get_traced_memory(), ""
            except BaseException:  # the parent says it
                said = None, (0, 0), traceback.format_exc()
            pipe.write(pickle.dumps(said))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, "the child that calls it crashed"
    found, memory, error = pickle.loads(data)
    assert not error, error
    return found, Memory(*memory)
