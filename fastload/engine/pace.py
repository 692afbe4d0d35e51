"""When threads of ours may take Python's lock: not while the caller launches work with the batch
that it has just got.

A training step begins with Python that feeds the GPU, operator by operator, and ends with waiting
(backward, a scaler's look at the gradients), which takes no lock. Each operator gives the lock away
for a moment; a thread that is waiting for it then keeps it for up to 5 ms, and the GPU runs dry. So
where batches lie ready, ours leave the first half of a step to the caller.
"""

import threading
import time
from contextlib import suppress

SHARE = 0.5  # of the time between two batches
LONGEST = 0.2  # s
READY = 2  # batches: the one that is taken, and one that lies ready while we keep away


class Stopped:
    """As threading.Event, with one lock and no condition: a wait is one call of the interpreter's.

    Set once, for ever.
    """

    def __init__(self) -> None:
        self._lock, self._set = threading.Lock(), False
        self._lock.acquire()  # given back when it is set, for ever

    def set(self) -> None:
        first, self._set = not self._set, True
        if first:
            with suppress(RuntimeError):  # another thread was first
                self._lock.release()

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Whether it is set within that time."""
        if self._lock.acquire(timeout=seconds):
            self._lock.release()  # for others who wait
        return self._set


class Pace:
    """Of one epoch.

    The caller tells when it takes batches; the threads that make them ask before each.
    """

    def __init__(self) -> None:
        self.until = 0.0  # time.monotonic()
        self._left = 0.0  # when the caller last went away with a batch

    def asked(self) -> float:
        """The caller wants a batch: how long it has been away, s."""
        return time.monotonic() - self._left if self._left else 0.0

    def gave(self, away: float, ready: int) -> None:
        """It goes with one; `ready` were, when it came."""
        self._left = time.monotonic()
        self.until = self._left + min(SHARE * away, LONGEST) if ready >= READY else 0.0

    def wait(self, stopped: threading.Event | Stopped) -> None:
        """Until our turn has come, or the epoch is over."""
        left = self.until - time.monotonic()
        if left > 0:
            stopped.wait(left)
