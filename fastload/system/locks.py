"""Files and folders locked against other processes, where the system has flock: Windows has none,
and nothing is locked there.
"""

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


def lock(file: int) -> None:
    """Waits. Raises OSError where the file system has no locks."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)


def try_lock(file: int) -> bool:
    """Raises OSError where the file system has no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)
