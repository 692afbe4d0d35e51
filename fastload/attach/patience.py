"""How long a program may stay after its stop: by what it does, not by the clock on the wall.

On a busy machine a program that ends properly (it saves, or tries fastload's loader) takes as many
seconds as others leave it.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path

# s of CPU that it may use, of not using any, and of all together
WORK_S, IDLE_S, MOST_S = 20.0, 20.0, 600.0


class Patience:
    """Counts from its making."""

    def __init__(self, pids: Iterable[int], work: float | None = None) -> None:
        """pids: the processes that are to end; work: s of CPU, where it is not WORK_S."""
        self._pids, self._work = tuple(pids), WORK_S if work is None else work
        self._start = self._moved = time.perf_counter()
        self._first = self._last = self._cpu()

    def over(self) -> bool:
        """Whether they are to be ended now."""
        now, cpu = time.perf_counter(), self._cpu()
        if cpu > self._last:
            self._last, self._moved = cpu, now
        return (
            self._last - self._first > self._work
            or now - self._moved > IDLE_S
            or now - self._start > MOST_S
        )

    def _cpu(self) -> float:
        """Seconds of CPU that they have used; those that have ended count no more."""
        return sum(cpu_seconds(pid) for pid in self._pids)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process; 0 where it is gone or the system has no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # proc_pid_stat(5)
