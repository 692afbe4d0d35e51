"""How much of step and loader passes at the same time, and what training would then give."""

import numpy as np

from fastload.measure import Interval, bootstrap
from fastload.profiler.evidence import Rungs
from fastload.spec import Array, Floats


def overlapping(step: Array, loader: Array, training: Array) -> Floats:
    """Share of the shorter one of step and loader that passes beside the longer one; of rates.

    It is 1 with enough workers, and 0 without any.
    """
    step_s, loader_s, both = 1 / step, 1 / loader, 1 / training
    share: Floats = np.clip(
        1 - (both - np.maximum(step_s, loader_s)) / np.minimum(step_s, loader_s), 0, 1
    )
    return share


def predict(step: Array, loader: Array, share: Floats) -> Floats:
    """Training, images/s, from the rates of step and loader alone; share: as `overlapping`."""
    step_s, loader_s = 1 / step, 1 / loader
    both = np.maximum(step_s, loader_s) + (1 - share) * np.minimum(step_s, loader_s)
    training: Floats = 1 / both
    return training


def trained(rungs: Rungs, gain: float, more: float, handover: float | None = None) -> Interval:
    """Training with a loader that is `gain` times as fast, by training as it is.

    Nothing else passes while the training takes a batch that lies ready. So that counts to the
    step.

    A training that is slower than step and loader one after the other, or faster than the slower
    one of them, is compared with what they can explain: the rest is not the loader's to gain.

    more: share of what does not overlap now that overlaps then. handover: of that loader, as
    `Rungs.handover`; None: as it is.
    """
    handovers = (rungs.handover, rungs.handover if handover is None else handover)

    def ratio(*replicates: Array) -> Floats:
        alone, loader, training = (np.median(values, axis=-1) for values in replicates)
        now, then = (1 / (1 / alone + each) for each in handovers)
        share = overlapping(now, loader, training)
        faster = predict(then, loader * gain, share + more * (1 - share))
        times: Floats = faster / predict(now, loader, share)
        return times

    return bootstrap(ratio, rungs.step, rungs.loader, rungs.training)


def overlap(rungs: Rungs) -> float:
    """Training as a share of what perfect overlap would give: the slower of step and loader."""
    return rungs.training.median / min(rungs.step.median, rungs.loader.median)
