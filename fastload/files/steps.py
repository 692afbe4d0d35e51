"""Opening a folder below another one through no link: by openat2, or step by step where the kernel
has no such call.
"""

import ctypes
import errno
import functools
import os

from fastload.files.names import Inner

# Windows knows none of them, and opens no folders.
FOLDER, CLOSED, NO_LINK = (
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW")
)
DIRECTORY = os.O_RDONLY | FOLDER | CLOSED
TRIES = 128  # of openat2 while others rename folders
OPENAT2 = 437  # its number, on every architecture; openat2(2), linux/openat2.h
NO_MAGIC_LINKS, NO_LINKS, BENEATH = 0x02, 0x04, 0x08
HERE = -100  # AT_FDCWD


class _How(ctypes.Structure):
    """struct open_how."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_folder(above: int, name: Inner) -> int:
    """The descriptor of a folder below another, through no link."""
    return by_openat2(above, name) if has_openat2() else by_steps(above, name)


def by_steps(above: int, name: Inner) -> int:
    at = os.dup(above)
    for part in name.split("/"):
        try:
            descriptor = os.open(part, DIRECTORY | NO_LINK, dir_fd=at)
        finally:
            os.close(at)
        at = descriptor
    return at


def by_openat2(above: int, name: Inner) -> int:
    how = _How(DIRECTORY | NO_LINK, 0, BENEATH | NO_LINKS | NO_MAGIC_LINKS)
    code = errno.EAGAIN
    for _ in range(TRIES):
        descriptor, code = _openat2(above, os.fsencode(name), how)
        if descriptor >= 0:
            return descriptor
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), str(name))


@functools.cache
def has_openat2() -> bool:
    """Linux 5.6 has it; a sandbox may refuse it."""
    descriptor, _ = _openat2(HERE, b".", _How(DIRECTORY, 0, NO_MAGIC_LINKS))
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


def _openat2(above: int, path: bytes, how: _How) -> tuple[int, int]:
    """A descriptor, or -1 and errno."""
    call = _library().syscall
    descriptor = call(
        OPENAT2,
        above,
        ctypes.c_char_p(path),
        ctypes.byref(how),
        ctypes.c_size_t(ctypes.sizeof(how)),
    )
    return int(descriptor), ctypes.get_errno()


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    library.syscall.argtypes = None  # type: ignore[assignment]  # it takes what each call takes
    return library
