"""A watched loop beside its plan."""

import os
from typing import Any

from fastload.loader.loader import DataLoader
from fastload.metrics import planned
from fastload.metrics.following import steps
from fastload.metrics.pace import Pace, Standing


class Paced:
    """Counts the batches of a loop's epochs.

    fastload's loaders know which epoch it is, after a resume too; others count from 0.
    """

    def __init__(self, loader: Any, plan: str | os.PathLike[str]) -> None:
        """Raises UsageError."""
        self._loader, self._steps = loader, steps(loader)
        self._pace = Pace(planned.load(plan))
        self._epoch = self._step = 0
        self._seconds = 0.0  # of the epochs that have ended
        self._since: float | None = None  # when this one began, s

    def batch(self, start: float, end: float) -> None:
        """A batch was waited for from start to end, s."""
        if self._since is None:
            self._since, self._step = start, 0
            if isinstance(self._loader, DataLoader):
                progress = self._loader._progress
                self._epoch, self._step = progress.epoch, progress.first
            self._see(start)
        self._step += 1
        self._see(end)

    def epoch(self, now: float) -> None:
        """An epoch has ended."""
        if self._since is None:
            return
        self._step = self._steps
        self._see(now)
        self._seconds += now - self._since
        self._since = None
        self._epoch += 1

    def _see(self, now: float) -> None:
        assert self._since is not None
        seconds = self._seconds + now - self._since
        self._pace.see(self._epoch, self._step / self._steps, seconds, now)

    def standing(self) -> Standing | None:
        """None: nothing was seen yet."""
        return self._pace.standing()
