"""A loader's run beside its plan. Exporters read it as they read the loader's counters."""

import os
import threading
import time
import weakref
from typing import Any

from fastload.errors import UsageError
from fastload.loader.loader import DataLoader
from fastload.metrics import planned
from fastload.metrics.pace import Pace, Standing

_of = weakref.WeakKeyDictionary[DataLoader[Any], "Progress"]()


class Progress:
    """How far a loader is on the way of a plan; its text says it in one line.

    It looks when it is asked, and when an exporter reads the loader. What was seen between two
    looks of 5 s or more tells how long a planned second takes.
    """

    def __init__(self, loader: DataLoader[Any], plan: planned.Plan) -> None:
        """Raises UsageError."""
        self._loader = weakref.ref(loader)
        self._steps, self._pace = steps(loader), Pace(plan)
        counts = loader._meter.as_dict()
        self._begun = counts["batches"], counts["elapsed_s"], time.perf_counter()
        self._lock = threading.Lock()  # exporters look from threads of their own

    def standing(self) -> Standing | None:
        """Where the run is now; None before its first batch."""
        loader = self._loader()
        with self._lock:
            if loader is not None:
                self._look(loader)
            return self._pace.standing()

    def _look(self, loader: DataLoader[Any]) -> None:
        progress, counts = loader._progress, loader._meter.as_dict()
        step = progress.step
        if step <= progress.first:  # an epoch has just begun, or none has
            return
        batches, elapsed, wall = self._begun
        if self._pace.standing() is None and counts["batches"] - batches == step - progress.first:
            # All that was handed out is of this epoch: so it is known where it began.
            self._pace.see(progress.epoch, progress.first / self._steps, elapsed, wall)
        now = time.perf_counter()
        self._pace.see(progress.epoch, step / self._steps, counts["elapsed_s"], now)

    def __str__(self) -> str:
        standing = self.standing()
        return "nothing was trained yet" if standing is None else str(standing)


def steps(loader: Any) -> int:
    """Batches of an epoch. Raises UsageError where they are not known."""
    try:
        return max(1, len(loader))
    except TypeError as error:
        raise UsageError(
            f"plan: the loader does not know how many batches an epoch has ({error}), and a plan "
            "is of whole epochs; leave the plan out"
        ) from error


def progress(loader: DataLoader[Any], plan: str | os.PathLike[str]) -> Progress:
    """Compares a loader's run with a plan, from now on.

    Exporters of this loader have the plan's metrics too.

    Args:
        loader: The training's `fastload.DataLoader`.
        plan: The file that `fastload plan --json FILE` has written.

    Returns:
        A Progress: `print` shows the time left, and the cost so far where the plan has a price.

    Raises:
        UsageError: The file is no forecast, or the length of an epoch is not known.
    """
    if not isinstance(loader, DataLoader):
        raise UsageError(
            f"metrics.progress: got {type(loader).__name__}, want a fastload.DataLoader; others "
            "take a plan with fastload.watch(loader, plan=FILE)"
        )
    found = _of[loader] = Progress(loader, planned.load(plan))
    return found


def standing(loader: Any) -> Standing | None:
    """None: it has no plan, or has not begun."""
    found = _of.get(loader)
    return None if found is None else found.standing()
