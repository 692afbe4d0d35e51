"""What threads spend on joint samples, stage by stage: targets apart from pixels."""

import threading
import time
from collections.abc import Callable

READ, TARGETS, PIXELS, STORE = STAGES = ("read", "targets", "pixels", "store")
Lap = Callable[[str], None]  # the time since the last lap goes to that stage


class Clock:
    """Sums over all samples that were made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples = 0
        self._sums = dict.fromkeys(STAGES, (0, 0))  # wall and CPU time, ns

    def add(self, laps: "Laps") -> None:
        """Those of one sample."""
        with self._lock:
            self._samples += 1
            for stage, (wall, cpu) in laps.sums.items():
                before = self._sums[stage]
                self._sums[stage] = before[0] + wall, before[1] + cpu

    def stats(self) -> dict[str, tuple[int, int, int]]:
        """Samples, wall and CPU time, ns, of each stage; nothing before the first sample."""
        with self._lock:
            sums = self._sums if self._samples else {}
            return {stage: (self._samples, *times) for stage, times in sums.items()}


class Laps:
    """One sample's times, in the thread that makes it."""

    def __init__(self) -> None:
        self.sums = dict.fromkeys(STAGES, (0, 0))
        self._wall, self._cpu = time.perf_counter_ns(), time.thread_time_ns()

    def __call__(self, stage: str) -> None:
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        before = self.sums[stage]
        self.sums[stage] = before[0] + wall - self._wall, before[1] + cpu - self._cpu
        self._wall, self._cpu = wall, cpu


def nobody(stage: str) -> None:
    """A lap that is not counted."""
