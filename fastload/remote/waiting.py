"""A line on the terminal while the first bytes of a store are waited for, so that nobody takes it
for a hang.
"""

from fastload.remote.traffic import Traffic
from fastload.system import terminal

AFTER, EVERY = 1.0, 0.25  # s until it is shown; s between two changes
MIB = 1 << 20  # bytes


class Line:
    """Shown on a terminal only, by one process of a machine, until `done`."""

    def __init__(self, where: str, traffic: Traffic) -> None:
        self.where, self.traffic = where, traffic
        self._line = terminal.Line(AFTER)
        self.on = self._line.on
        self._before: int | None = None  # bytes that came until the wait began

    def tick(self, wanted: int) -> None:
        """Somebody waits. wanted: bytes that are still to come."""
        if not self.on:
            return
        waited, came = self._line.waited(), self.traffic.bytes
        self._before = came if self._before is None else self._before
        if not waited:
            return
        got = came - self._before
        retried = f", {self.traffic.retries:,} tried again" if self.traffic.retries else ""
        self._line.show(
            f"waiting for {self.where}: {got / MIB:,.0f} MiB came, "
            f"{wanted / MIB:,.0f} to come, {got / MIB / waited:,.0f} MiB/s{retried}"
        )

    def done(self) -> None:
        """The first batch is there; nothing is shown any more."""
        self._line.clear()
        self.on = False
