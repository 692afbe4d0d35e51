"""The native threads of a loader."""

from fastload import _native
from fastload.errors import BackendError
from fastload.system import room

# Threads, where there are any, that only read: they wait for the disk or the network, and need no
# core
READERS = 8


def check_threads(threads: int) -> None:
    """Raise HostMemoryError where there is no room for their stacks."""
    if threads:
        room.check(f"{threads} threads", (threads + READERS) * room.THREAD)


def made(threads: int) -> _native.Pool:
    """Raises HostMemoryError, and BackendError where something else than memory forbids threads."""
    check_threads(threads)
    try:
        return _native.Pool(threads, READERS)
    except (MemoryError, RuntimeError, OSError) as error:
        what = f"{threads} threads cannot be started ({error})"
        raise BackendError(
            f"loader: {what}; take fewer workers, or raise the limits of the process"
        ) from error
