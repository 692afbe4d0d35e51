"""How a file is opened without waiting for a pipe, and written whole."""

import errno
import os
import stat

CHUNK = 1 << 24  # bytes per write
NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # Windows has no named pipes in folders


def no_wait(path: str, flags: int) -> int:
    """An `opener` for files only: a named pipe in a file's place would be waited for."""
    file = os.open(path, flags | NO_WAIT, 0o666)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "Not a regular file", path)
    return file


def write_all(file: int, content: bytes | memoryview) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view[:CHUNK]) :]


def umask() -> int:
    """This process's, without changing it for a moment: other threads make files."""
    try:
        with open("/proc/self/status", "rb") as lines:
            return next(int(line.split()[1], 8) for line in lines if line.startswith(b"Umask:"))
    except (OSError, StopIteration):
        return 0o022
