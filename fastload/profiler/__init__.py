"""The profiler: what limits training, with a confidence interval.

`print(profile(loader, step))` is the shortest use.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from fastload.errors import UsageError
from fastload.measure import real
from fastload.profiler import direct
from fastload.profiler.live import Watch, watch
from fastload.profiler.report import Report
from fastload.profiler.steps import EmulatedStep

__all__ = ["EmulatedStep", "Report", "Watch", "profile", "watch"]


def profile(
    loader: Iterable[object],
    step: Callable[[Any], object],
    *,
    seconds: float = 40.0,
    to_device: Callable[[Any], Any] | None = None,
    on_done: Callable[[], None] = lambda: None,
    cuts: bool = False,
) -> Report:
    """Profile any torch-style loader with any training step.

    The loader is iterated and the step is called, many times. Small data sets have many epoch
    edges, and each one counts as the loader's.

    Args:
        loader: What is iterated for batches.
        step: Takes a batch and trains on it; EmulatedStep(images_per_s) plays one.
        seconds: Budget of the measuring, s; at least 1.
        to_device: Moves a batch to where the step wants it; without it the step gets batches as
            the loader made them.
        on_done: Called after each run, for progress.
        cuts: Also the loader cut off after each transform, beyond the budget. The loader must be
            PyTorch's, over a data set with a Compose.

    Returns:
        What limits the training, with its intervals; prints as the report.

    Raises:
        UsageError: An argument is wrong. What loader and step raise is raised, too.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> train = fastload.open("train", [T.CenterCrop((48, 64)), T.ToImage()])
        >>> loader = fastload.DataLoader(train, batch_size=2)
        >>> report = fastload.profile(loader, lambda batch: None, seconds=1)
        >>> len(str(report).splitlines()) > 1
        True
    """
    if not hasattr(loader, "__iter__"):
        raise UsageError(
            f"profile: got {type(loader).__name__}, want a loader, or anything that gives batches"
        )
    if not callable(step):
        raise UsageError(
            f"profile: step is {type(step).__name__}, want a function of one batch; see "
            "EmulatedStep"
        )
    if not 1 <= real(seconds) < math.inf:
        raise UsageError(f"profile: seconds is {seconds!r}, want at least 1")
    return direct.run(loader, step, to_device, seconds, on_done, cut=cuts)
