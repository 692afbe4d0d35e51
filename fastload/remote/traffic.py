"""What a store was asked and what came: counted, and held to a limit of bytes per second."""

import threading
import time
from dataclasses import dataclass, field

from fastload.spec import Json

BURST = 0.25  # s of the limit that may come at once
RECENT = 0.1  # the weight of the newest request in what is known of the store's latency


@dataclass
class Traffic:
    """Counters of one store; thread-safe."""

    where: str
    requests: int = 0
    retries: int = 0
    hedged: int = 0  # requests that were sent a second time, since the first was slow
    bytes: int = 0
    found: int = 0  # bytes that the cache had, so that nobody asked for them
    waited_s: float = 0.0  # that batches were held up
    latency_s: float = 0.0  # until a request's first byte, lately
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, **more: float) -> None:
        """Add to counters, by name."""
        with self._lock:
            for name, value in more.items():
                setattr(self, name, getattr(self, name) + value)

    def answered(self, seconds: float, size: int) -> None:
        """A request whose first byte took so long."""
        with self._lock:
            self.requests, self.bytes = self.requests + 1, self.bytes + size
            before = self.latency_s or seconds
            self.latency_s = before + RECENT * (seconds - before)

    def as_dict(self) -> Json:
        names = ("requests", "retries", "hedged", "bytes", "found", "waited_s", "latency_s")
        with self._lock:
            return {name: getattr(self, name) for name in names}


class Throttle:
    """At most so many bytes per second, over all threads; 0: any number."""

    def __init__(self, rate: float) -> None:
        self.rate, self._free_at, self._lock = rate, time.monotonic(), threading.Lock()

    def delay(self, size: int) -> float:
        """How long a request of so many bytes has to wait, s; its share is taken."""
        if not self.rate:
            return 0.0
        with self._lock:
            now = time.monotonic()
            begin = max(self._free_at, now - BURST)
            self._free_at = begin + size / self.rate
            return max(0.0, begin - now)
