"""A file whose parser would take as many bytes as the file says."""

import io
import os

from fastload.system import limits


class Guarded(io.BufferedReader):
    """A file for a parser that takes as many bytes as the file says: up to `most` in all, and none
    of a hole.
    """

    def __init__(self, raw: io.RawIOBase, most: int) -> None:
        super().__init__(raw)
        self.most, self.taken = most, 0

    def again(self) -> None:
        """`most` bytes may be read once more."""
        self.taken = 0

    def read(self, size: int | None = -1) -> bytes:
        """Raises ValueError."""
        if size is None or size < 0:
            at = self.tell()
            size = max(0, self.seek(0, os.SEEK_END) - at)
            self.seek(at)
        self.taken += size
        problem = limits.too_many(self.taken, self.most)
        # Where it is smaller, holes are allowed; headers are many and small.
        if not problem and size > limits.FREE and isinstance(self.raw, io.FileIO):
            problem = limits.unread(self.fileno(), self.tell(), size, self.most)
        if problem:
            raise ValueError(f"its headers are too large: {problem}")
        return super().read(size)
