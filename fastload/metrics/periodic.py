"""Values that are given away now and then, by one thread that sleeps in between."""

import math
import sys
import threading
from collections.abc import Callable

from fastload.errors import UsageError
from fastload.measure import real
from fastload.metrics.exporter import Exporter
from fastload.metrics.reading import Loaders, Readings, Value, readings

Take = Callable[[list[Value]], object]
LONGEST = 10.0  # s that close() waits for a reading that is being given away


class Periodic(Exporter):
    """Calls `take` every `every` seconds, and once more at the end; then `end`.

    What `take` raises ends the exporter, not the training: one line on stderr tells it.
    """

    def __init__(
        self,
        where: str,
        readings: Readings,
        take: Take,
        every: float,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(readings)
        self._where, self._take, self._every, self._finally = where, take, every, end
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fastload-metrics", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        going = True
        while going:
            going = not self._stop.wait(self._every)
            try:
                if values := self.read():  # none where the loaders are gone
                    self._take(values)
            except Exception as error:  # noqa: BLE001  whatever it is, the training goes on
                told = f"{type(error).__name__}: {error}"
                print(f"fastload: {self._where}: {told}; it has ended", file=sys.stderr, flush=True)
                return

    def _end(self) -> None:
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(LONGEST)
        self._finally()


def checked(where: str, every: float) -> float:
    """s between readings, at most as long as a thread can sleep. Raises UsageError."""
    if not 0 < real(every) < math.inf:
        raise UsageError(f"{where}: every is {every!r}, want s between readings, more than 0")
    return min(real(every), threading.TIMEOUT_MAX)


def callback(loaders: Loaders, take: Take, *, every: float = 10.0) -> Exporter:
    """Calls a function with the values, now and then and at the end.

    Args:
        loaders: A `fastload.DataLoader`, or a dict of them by name; the name is the label
            `loader`. Without one they are counted.
        take: Gets a list of `Value`. It runs in a thread of its own. What it raises ends the
            exporter, and one line on stderr tells it.
        every: s between two calls.

    Returns:
        The exporter, which is a context too; see Exporter.

    Raises:
        UsageError: There is no loader of fastload's, `take` cannot be called, or `every` is not
            more than 0.
    """
    where = "metrics.callback"
    reading = readings(where, loaders)
    if not callable(take):
        raise UsageError(f"{where}: take is {take!r}, want a function of a list of values")
    return Periodic(where, reading, take, checked(where, every))
