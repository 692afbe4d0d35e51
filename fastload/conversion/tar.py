"""Tar as WebDataset reads it, written so that the same samples always give the same bytes.

POSIX 1003.1 ustar blocks with GNU long names: time, owner and group are 0, the mode is 0644.
"""

from fastload.conversion.appending import Appender

BLOCK = 512  # bytes
NAME = 100  # bytes of a name that fit into a header
END = bytes(2 * BLOCK)
LONGEST_EXTENSION = 5  # bytes, with the dot: ".webp"


def header(name: bytes, size: int, kind: bytes = b"0") -> bytes:
    """The blocks before a member's content: one, or more for a name longer than NAME."""
    before = b""
    if len(name) > NAME:
        before = header(b"././@LongLink", len(name) + 1, b"L") + padded(name + b"\0")
    fields = (
        name[:NAME].ljust(NAME, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size,
        b"%011o\0" % 0,
        b" " * 8, kind, bytes(100), b"ustar  \0",
    )  # fmt: skip
    block = b"".join(fields).ljust(BLOCK, b"\0")
    # The sum is taken with blanks for the sum itself
    return before + block[:148] + b"%06o\0 " % sum(block) + block[156:]


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def before(key: str, extension: str, size: int) -> bytes:
    """Everything between the sample before and this one's payload."""
    return header(f"{key}.{extension}".encode(), size)


def after(key: str, label: int, size: int) -> bytes:
    """Everything between the payload and the next sample: padding and the member with the label."""
    text = b"%d" % label
    return bytes(-size % BLOCK) + header(f"{key}.cls".encode(), len(text)) + padded(text)


def most(key_bytes: int, size: int) -> int:
    """Bytes that a sample takes at most, whatever its extension."""
    name = key_bytes + LONGEST_EXTENSION
    headers = BLOCK if name <= NAME else 2 * BLOCK + name + 1 + -(name + 1) % BLOCK
    return 2 * headers + size + -size % BLOCK + BLOCK


class Archive:
    """One shard, as it is appended to a file."""

    def __init__(self, file: Appender) -> None:
        self.file = file

    def add(self, key: str, extension: str, label: int, payload: bytes) -> int:
        """Append a sample; returns the payload's offset, bytes. Raises OSError."""
        head = before(key, extension, len(payload))
        offset = self.file.end + len(head)
        self.file.add(head, payload, after(key, label, len(payload)))
        return offset

    def add_extra(self, key: str, name: str, payload: bytes) -> int:
        """Append a file of the sample that was added last; returns its offset, bytes.

        Raises OSError.
        """
        head = header(f"{key}.{name}".encode(), len(payload))
        offset = self.file.end + len(head)
        self.file.add(head, payload, bytes(-len(payload) % BLOCK))
        return offset

    def finish(self) -> tuple[int, int]:
        """Bytes and XXH3-64 of the whole, which is on disk when this returns. Raises OSError."""
        self.file.add(END)
        return self.file.finish()
