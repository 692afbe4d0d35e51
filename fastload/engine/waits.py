"""What is said of a batch that does not come: where the others are, and what every thread does."""

import sys
import threading
import traceback
from collections.abc import Mapping

from fastload.errors import FastloadError

FRAMES = 3  # of a Python thread, the innermost


class StalledError(FastloadError, RuntimeError):
    """The cause of a timeout."""


def stalled(
    seconds: float,
    queues: Mapping[str, int],
    running: list[tuple[str, str, float]],
    feeder: threading.Thread,
) -> StalledError:
    """queues: how many batches are in each stage, by what is done to them.

    running: of the engine.
    """
    stages = ", ".join(f"{count} {stage}" for stage, count in queues.items())
    lines = [f"loader: no batch within {seconds} s; of the batches under way {stages}"]
    lines += [f"thread {name}: {what} for {since:.1f} s" for name, what, since in running] or [
        "threads of the pool: all idle"
    ]
    lines.append(f"thread {feeder.name}: {_stack(feeder)}")
    lines.append(
        "loader: a thread that reads for long waits for the disk or the network; one that makes "
        "waits for the CPU"
    )
    return StalledError("\n".join(lines))


def _stack(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "has ended"
    frames = traceback.extract_stack(frame)[-FRAMES:]
    return " < ".join(
        f"{each.name} ({each.filename.rpartition('/')[2]}:{each.lineno})"
        for each in reversed(frames)
    )
