"""How much of step and loader passes at the same time, and what training would then give."""

import numpy as np

from fastload.profiler.evidence import Rungs


def overlapping(rungs: Rungs) -> float:
    """Share of the shorter one of step and loader that passes beside the longer one.

    It is 1 with enough workers, and 0 without any.
    """
    step, loader, both = (
        1 / sample.median for sample in (rungs.step, rungs.loader, rungs.training)
    )
    return float(np.clip(1 - (both - max(step, loader)) / min(step, loader), 0, 1))


def predict(step: float, loader: float, share: float) -> float:
    """Training, images/s, from the rates of step and loader alone; share: as `overlapping`."""
    return 1 / (max(1 / step, 1 / loader) + (1 - share) * min(1 / step, 1 / loader))


def overlap(rungs: Rungs) -> float:
    """Training as a share of what perfect overlap would give: the slower of step and loader."""
    return rungs.training.median / min(rungs.step.median, rungs.loader.median)
