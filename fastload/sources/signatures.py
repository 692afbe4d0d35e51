"""Whether bytes begin as an encoded image: told before an epoch, not by each of its samples."""

import os

from fastload.errors import SourceError

LONGEST = 16  # bytes that tell it
BEGINS = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"GIF8",
    b"BM",
    b"II*\0",  # TIFF
    b"MM\0*",
    *(b"P%d" % number for number in range(1, 7)),  # PPM and its like
    b"\0\0\0\x0cjP  ",  # JPEG 2000
)
PICKLED = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def is_image(head: bytes) -> bool:
    """Whether an encoded image begins so, as far as its first bytes tell."""
    riff = head.startswith(b"RIFF") and head[8:12] == b"WEBP"
    return riff or head[4:8] == b"ftyp" or head.startswith(BEGINS)


def check_image(where: str, file: int, offset: int, size: int, remedy: str) -> None:
    """Raise SourceError where the value at `offset` of an open file is no encoded image."""
    check_head(where, os.pread(file, min(LONGEST, size), offset), remedy)


def check_head(where: str, head: bytes, remedy: str) -> None:
    """The same for a value that begins so."""
    if is_image(head):
        return
    kind = "pickled" if head.startswith(PICKLED) else "no encoded image"
    raise SourceError(
        f"{where} is {kind} (begins with {head[:4].hex(' ') or 'nothing'}, want a JPEG, PNG or "
        f"another that Pillow reads); {remedy}"
    )
