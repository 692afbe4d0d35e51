"""The seek indexes that lie in one folder, as they are now.

Another process may replace them at any time.
"""

import contextlib
import os

from fastload.errors import SourceError
from fastload.files.opening import no_wait
from fastload.sources import seek, sums
from fastload.sources.seek import FolderSeek, Stored
from fastload.sources.seek_known import Known


class Layer:
    """The indexes that lie in one folder, read again when they are others."""

    def __init__(self, folder: str, known: Known, count: int, beside: FolderSeek | None) -> None:
        self.folder, self.known, self.count = folder, known, count
        self.seek = beside if beside and os.path.dirname(beside.path) == folder else None
        self.stored: Stored | None = None  # all of INDEX, once it was read here
        self.sum = sums.line(self.seek.sum) if self.seek else b""  # SUM then

    def changed(self) -> bool:
        return self._now() != self.sum

    def read(self, names: int, *, whole: bool = False) -> None:
        """names: XXH3 of those that are known; whole: `stored` is needed too."""
        now = self._now()
        if now == self.sum and (self.stored or not now or not whole):
            return
        self.sum, self.stored, self.seek = b"", None, None
        # There may be none, or it is damaged or just being replaced.
        with contextlib.suppress(SourceError):
            self.stored = seek.read(self.folder)
            same = self.stored.knows(self.count, f"{names:016x}")
            self.seek = self.stored.seek() if same else self.stored.fit(self.known.names())
            self.sum = now

    def _now(self) -> bytes:
        try:
            with open(os.path.join(self.folder, seek.SUM), "rb", opener=no_wait) as file:
                return file.read(64)
        except OSError:
            return b""

    def age(self) -> float:
        """When INDEX was written, s; 0: there is none."""
        try:
            return os.stat(os.path.join(self.folder, seek.INDEX)).st_mtime
        except OSError:
            return 0
