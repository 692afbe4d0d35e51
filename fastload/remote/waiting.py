"""A line on the terminal while the first bytes of a store are waited for, so that nobody takes it
for a hang.
"""

import os
import sys
import time

from fastload.remote.traffic import Traffic

AFTER, EVERY = 1.0, 0.25  # s until it is shown; s between two changes
MIB = 1 << 20  # bytes
CLEAR = "\r\x1b[K"


class Line:
    """Shown on a terminal only, by one process of a machine, until `done`."""

    def __init__(self, where: str, traffic: Traffic) -> None:
        self.where, self.traffic = where, traffic
        first = os.environ.get("LOCAL_RANK", "0") == "0"
        self.on = first and sys.stderr is not None and sys.stderr.isatty()
        self._shown = False
        self._begin: tuple[float, int] | None = None  # when, and the bytes until then

    def tick(self, wanted: int) -> None:
        """Somebody waits. wanted: bytes that are still to come."""
        if not self.on:
            return
        now, came = time.monotonic(), self.traffic.bytes
        if self._begin is None:
            self._begin = now, came
        if (waited := now - self._begin[0]) < AFTER:
            return
        got, self._shown = came - self._begin[1], True
        retried = f", {self.traffic.retries:,} tried again" if self.traffic.retries else ""
        sys.stderr.write(
            f"{CLEAR}fastload: waiting for {self.where}: {got / MIB:,.0f} MiB came, "
            f"{wanted / MIB:,.0f} to come, {got / MIB / waited:,.0f} MiB/s{retried}"
        )
        sys.stderr.flush()

    def done(self) -> None:
        """The first batch is there; nothing is shown any more."""
        if self._shown:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
        self.on = self._shown = False
