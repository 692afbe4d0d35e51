"""What would help a running training and was not run: predicted from what the hooks saw."""

from dataclasses import dataclass

import numpy as np

from fastload.attach import log
from fastload.measure import Interval, Sample, bootstrap
from fastload.profiler.evidence import Rungs
from fastload.profiler.iterations import Iterations
from fastload.profiler.logs import Process
from fastload.profiler.overlap import overlapping, predict
from fastload.spec import Array, Floats

EPOCHS = 2  # whole ones, from which something is said of their starts
LEAST_STEP = 0.05  # of a step's time that is left when its copy is faster


@dataclass(frozen=True)
class Foreseen:
    """A remedy by its effect on the time of training."""

    name: str  # what to do
    how: str  # to be copied
    cost: str  # what it takes or risks
    now: float  # training as it is, images/s, with what the rates of the rungs leave out
    gain: Interval  # training with it by training as it is


def foreseen(training: Iterations, family: list[Process], rungs: Rungs) -> tuple[Foreseen, ...]:
    """family: the training's process and its workers."""
    found = (pin_memory(training, rungs), keep_workers(training, family))
    return tuple(one for one in found if one is not None)


def pin_memory(training: Iterations, rungs: Rungs) -> Foreseen | None:
    """Batches in page-locked memory, where the program's GPU was seen to copy them faster.

    Training waits for the copy, which the step's time has in it, once for each batch.
    """
    took = training.process.facts.get("copies")
    if not isinstance(took, dict) or not took.get("plain_s"):
        return None
    plain, pinned = (Sample(tuple(map(float, took[f"{name}_s"]))) for name in ("plain", "pinned"))
    images = float(np.median(training.images))

    def ratio(*replicates: Array) -> Floats:
        step, loader, together, slow, fast = (np.median(one, axis=-1) for one in replicates)
        share = overlapping(step, loader, together)
        saved = (slow - fast) / images
        faster = 1 / np.maximum(1 / step - saved, LEAST_STEP / step)
        times: Floats = predict(faster, loader, share) / predict(step, loader, share)
        return times

    return Foreseen(
        "give batches in page-locked memory (pin_memory=True)",
        "DataLoader(..., pin_memory=True)",
        "memory that cannot be swapped out",
        rungs.training.median,
        bootstrap(ratio, rungs.step, rungs.loader, rungs.training, plain, pinned),
    )


def keep_workers(training: Iterations, family: list[Process]) -> Foreseen | None:
    """persistent_workers, where worker processes are started for each epoch.

    A first batch's wait that is longer than making a batch takes is the workers' start.
    """
    facts = training.facts
    if not facts.get("num_workers") or facts.get("backend") or facts.get("persistent_workers"):
        return None
    records = training.process.records
    records = records[records["loader"] == training.loader]
    records = records[np.isin(records["kind"], (log.WAIT, log.END))]
    ends = np.flatnonzero(records["kind"] == log.END)
    first = ends[:-1] + 1  # the first batch of each whole epoch but the first one
    fetches = [process.of(log.FETCH) for process in family if process.pid != training.process.pid]
    made = np.concatenate([rows["wall"] for rows in fetches]) if fetches else np.zeros(0)
    if len(first) < EPOCHS or not len(made):
        return None
    starting = np.maximum(records["wall"][first] - float(np.median(made)), 0.0)
    # From one epoch's end to the next one's
    took = np.diff(records["t"][ends] + records["wall"][ends])
    images = np.add.reduceat(records["images"], first)
    gains = took / np.maximum(took - starting, 1e-3 * took)
    return Foreseen(
        "keep the workers (persistent_workers=True)",
        "DataLoader(..., persistent_workers=True)",
        "memory of the workers between epochs",
        float(np.median(images / took)),
        Interval(float(np.median(gains)), float(gains.min()), float(gains.max())),
    )
