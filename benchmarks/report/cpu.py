"""CPU time of processes so far."""

import multiprocessing
import os
from contextlib import suppress
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def ours() -> float:
    """Of this process and of its workers, s."""
    pids = [child.pid for child in multiprocessing.active_children()]
    return sum(of(pid) for pid in (os.getpid(), *pids) if pid is not None)


def of(pid: int) -> float:
    """Of one, s; 0 if it has ended."""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        parts = stat.rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / TICK
    return 0.0
