"""What limits training, decided from rates alone: pure functions, no clock, no data.

Stall S = 1 - t_step / t_training, the share of time in which the accelerator waits; 1 - S is MLPerf Storage's accelerator
utilisation (AU).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastload.measure import Interval, Sample, bootstrap, ratio

OK_BELOW, HIGH_FROM = 0.05, 0.20  # of S; the edges of TensorFlow Profiler's input-pipeline analyser
AU_GATE = 0.90  # MLPerf Storage asks this for ResNet-50
READ_BLOCKED = 0.5  # share of all stages' wall time that is waiting in read, above which reading is the cause
SEVERITIES = ("OK", "MODERATE", "HIGH")

GPU, CPU, READ, LOADER, OVERLAP, OPEN = "GPU-BOUND", "CPU-BOUND", "READ-BOUND", "LOADER-BOUND", "OVERLAP-BOUND", "INCONCLUSIVE"
DATA_BOUND = (CPU, READ, LOADER, OVERLAP)  # training waits for data


@dataclass(frozen=True)
class Rungs:
    """Images per second, one value per replicate; replicates of the same place ran one after the other."""

    step: Sample  # E0: the training step alone, on batches that are there already
    loader: Sample  # E1: the loader alone
    training: Sample  # E2: both together


@dataclass(frozen=True)
class StageCost:
    """What one stage takes per image, in seconds of one thread."""

    name: str
    wall_s: float
    cpu_s: float

    @property
    def blocked_s(self) -> float:
        """Waiting: for the disk, a lock, or a core that others hold."""
        return max(0.0, self.wall_s - self.cpu_s)


@dataclass(frozen=True)
class Verdict:
    label: str  # GPU, CPU, READ, LOADER, OVERLAP or OPEN
    stage: str | None  # of CPU: the one that costs the most
    severity: tuple[str, ...]  # one of SEVERITIES, or the neighbours that the interval of S spans
    stall: Interval  # S
    headroom: Interval  # loader alone / step alone: how many such GPUs the loader could feed

    @property
    def utilisation(self) -> float:
        return 1 - self.stall.value

    @property
    def conclusive(self) -> bool:
        return len(self.severity) == 1

    @property
    def headline(self) -> str:
        return f"{self.label}: {self.stage}" if self.stage else self.label


def stall(rungs: Rungs) -> Interval:
    """S of the medians, with its interval over paired resamples of the replicates."""
    return bootstrap(lambda training, step: 1 - np.median(training, axis=-1) / np.median(step, axis=-1), rungs.training, rungs.step)


def severities(s: Interval) -> tuple[str, ...]:
    """Every class that the interval touches."""
    return SEVERITIES[_place(s.low) : _place(s.high) + 1]


def _place(s: float) -> int:
    return int(s >= OK_BELOW) + int(s >= HIGH_FROM)


def decide(rungs: Rungs, stages: Sequence[StageCost] = ()) -> Verdict:
    """The verdict. stages: of the loader, where they are known.

    An interval over the 5 % edge leaves open whether data matters at all: INCONCLUSIVE. Over the 20 % edge only the severity is
    open, and the cause is still named.
    """
    s, headroom = stall(rungs), ratio(rungs.loader, rungs.step)
    severity = severities(s)
    if severity == ("OK",):
        label, stage = GPU, None
    elif "OK" in severity:
        label, stage = OPEN, None
    elif headroom.low > 1:  # alone it keeps up: what is lost is lost only in the two running together
        label, stage = OVERLAP, None
    else:
        label, stage = cause(stages)
    return Verdict(label, stage, severity, s, headroom)


def cause(stages: Sequence[StageCost]) -> tuple[str, str | None]:
    """Label and stage of a loader that is too slow."""
    if not stages or not any(stage.wall_s for stage in stages):
        return LOADER, None
    blocked_in_read = sum(stage.blocked_s for stage in stages if stage.name == "read")
    if blocked_in_read > READ_BLOCKED * sum(stage.wall_s for stage in stages):
        return READ, None
    return CPU, max(stages, key=lambda stage: stage.cpu_s).name


def overlap(rungs: Rungs) -> float:
    """Training as a share of what perfect overlap would give: the slower of step and loader."""
    return rungs.training.median / min(rungs.step.median, rungs.loader.median)
