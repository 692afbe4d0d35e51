"""Memory that is asked for before it is taken.

Python, Pillow and torch need what large allocations leave free for small ones: without memory for
these, some of their code ends the process. The engine's threads ask likewise (kernels/base/room.h).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fastload import _native
from fastload.errors import FastloadError, HostMemoryError
from fastload.system import machine

LEAST = 256 << 20  # bytes that images may claim together, on any machine
SHARE = 8  # … else this part of the memory that a process may use
# Bytes of address space that a new thread takes: its stack, and what it allocates first
THREAD = 10 << 20
ADVICE = "take fewer workers or smaller batches, or allow the process more memory"
# What torch and Python say where it is memory that is missing.
TEXTS = (
    "std::bad_alloc",
    "can't allocate memory",
    "can't start new thread",
    "not enough memory",
    "Cannot allocate memory",
)


def most(memory: int, ranks: int) -> int:
    """Bytes that the images under way in a process may claim together; one alone may need more.

    memory: bytes that the process may use; ranks: processes that share it.
    """
    return max(LEAST, memory // SHARE // max(1, ranks))


def _set_up() -> None:
    ranks, total = os.environ.get("LOCAL_WORLD_SIZE", ""), machine.memory_total()
    _native.claims_most(
        most(min(total, machine.memory_limit() or total), int(ranks) if ranks.isdigit() else 1)
    )
    _native.memory_groups(machine.memory_groups())


_set_up()


@contextmanager
def claimed(nbytes: int) -> Iterator[None]:
    """While foreign code takes up to so many bytes. Waits until others have given back theirs;
    where memory is scarce, the engine's threads stand still meanwhile. Raises MemoryError if the
    process or the machine has less than that.
    """
    try:
        claim = _native.Claim(max(1, nbytes))
    except MemoryError:
        raise MemoryError(f"{nbytes >> 20:,} MiB are needed") from None
    try:
        yield
    finally:
        claim.drop()


def check(what: str, nbytes: int = 0) -> None:
    """Raise HostMemoryError if so many bytes more, and what others need beside them, cannot be had.

    what: they are for.
    """
    try:
        _native.admit(nbytes)
    except MemoryError:
        wanted = nbytes + _native.MARGIN if nbytes else _native.LEAST
        text = (
            f"loader: no memory is left for {what} ({wanted >> 20:,} MiB cannot be had); {ADVICE}"
        )
        raise HostMemoryError(text) from None


class Told:
    """A context in which what says that memory is missing is raised as HostMemoryError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryError | RuntimeError) and (missing := typed(error)) is not error:
            raise missing from error


def typed(error: Exception) -> Exception:
    """The error, or a HostMemoryError in its place where it says that memory is missing."""
    if isinstance(error, FastloadError):
        return error
    if not isinstance(error, MemoryError) and not (
        isinstance(error, RuntimeError) and any(text in str(error) for text in TEXTS)
    ):
        return error
    missing = HostMemoryError(
        "loader: out of memory "
        f"({str(error).splitlines()[0] if str(error) else type(error).__name__}); {ADVICE}"
    )
    missing.__cause__ = error
    return missing
