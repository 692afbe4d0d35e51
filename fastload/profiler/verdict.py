"""What limits training, decided from rates alone: pure functions, no clock, no data.

Stall S = 1 - t_step / t_training, the share of time in which the accelerator waits; 1 - S is MLPerf
Storage's accelerator utilisation (AU).
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastload.measure import Interval, bootstrap
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.spec import Array, Floats

OK_BELOW, HIGH_FROM = 0.05, 0.20  # of S; the edges of TensorFlow Profiler's input-pipeline analyser
AU_GATE = 0.90  # MLPerf Storage asks this for ResNet-50
# Share of all stages' wall time that is waiting in read, above which reading is the cause
READ_BLOCKED = 0.5
STORE_WAITS = 0.25  # share of the loader's time, above which the reads are a store's
SEVERITIES = ("OK", "MODERATE", "HIGH")

STARVED = 0.1  # share of the workers' time that is waiting for a core, below which that is no cause
# Share of all waiting in the slowest tenth of the batches, above which jitter is the cause
SPIKES = 0.8
LATE = 0.2  # share of the workers' time that late batches take beyond the typical one's
# Share of batches, above which late ones are not rare. Few are counted, so one more may be there
# by chance.
RARE = 1 / 8
TERM = 0.02  # of time, below which a term of an overlap is no cause
MIXES = 0.6  # of the first term, from which a second one is named too

# Labels
GPU = "GPU-BOUND"
CPU = "CPU-BOUND"
READ = "READ-BOUND"
LOADER = "LOADER-BOUND"
OVERLAP = "OVERLAP-BOUND"
TRANSFER = "H2D-BOUND"
CONTENTION = "CPU-CONTENTION"
JITTER = "JITTER"
CORES = "WORKER-STARVED"
STRAGGLER = "STRAGGLER"
MIXED = "MIXED"
OPEN = "INCONCLUSIVE"
STORE = "store"  # of READ: an object store or a web server
# Training waits for data.
DATA_BOUND = (
    CPU, READ, LOADER, OVERLAP, TRANSFER, CONTENTION, JITTER, CORES, STRAGGLER, MIXED
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    label: str  # GPU, OPEN or one of DATA_BOUND
    # Of CPU: the stage that costs the most; of READ: STORE, if it is one; of MIXED: the labels; of
    # STRAGGLER: the rank
    stage: str | None
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
    typical = _typical(rungs)
    return bootstrap(
        lambda training, step: 1 - typical(training) / typical(step), rungs.training, rungs.step
    )


def headroom(rungs: Rungs) -> Interval:
    """Loader alone / step alone."""
    typical = _typical(rungs)
    return bootstrap(lambda loader, step: typical(loader) / typical(step), rungs.loader, rungs.step)


def _typical(rungs: Rungs) -> Callable[[Array], Floats]:
    """One rate for the replicates in the last axis."""
    return (
        (lambda rates: 1 / np.mean(1 / rates, axis=-1))
        if rungs.pooled
        else (lambda rates: np.median(rates, axis=-1))
    )


def severities(s: Interval) -> tuple[str, ...]:
    """Every class that the interval touches."""
    return SEVERITIES[_severity_index(s.low) : _severity_index(s.high) + 1]


def _severity_index(s: float) -> int:
    return int(s >= OK_BELOW) + int(s >= HIGH_FROM)


def decide(
    rungs: Rungs, stages: Sequence[StageCost] = (), evidence: Evidence | None = None
) -> Verdict:
    """The verdict. stages: of the loader, where they are known.

    An interval over the 5 % edge leaves open whether data matters at all: INCONCLUSIVE. Over the
    20 % edge only the severity is open, and the cause is still named.
    """
    known = evidence or Evidence()
    # The median of short replicates may miss rare late batches.
    rungs = replace(rungs, pooled=rungs.pooled or late(known) > 0)
    s, room = stall(rungs), headroom(rungs)
    severity = severities(s)
    stage: str | None = None
    if severity == ("OK",):
        label = GPU
    elif "OK" in severity:
        label = OPEN
    elif known.straggler is not None:
        label, stage = STRAGGLER, f"rank {known.straggler}"
    elif room.low > 1:  # alone it keeps up: what is lost is lost only in the two running together
        label, stage = together(rungs, s, known)
    elif copies(known, rungs):
        label = TRANSFER
    elif late(known) > known.starved and room.value >= 1 - late(known):
        label = JITTER  # if late batches took what the others take, it would keep up
    elif lack := lacks_cores(known, room.value):
        label = lack
    else:
        label, stage = cause(stages, known.store)
    return Verdict(label, stage, severity, s, room)


def copies(known: Evidence, rungs: Rungs) -> bool:
    """Whether a loader that is too slow is so only by its copies.

    Without them it is ahead of a step that has to make them.
    """
    if known.bare is None or known.transfer is None:
        return False
    ahead = bootstrap(
        lambda bare, copied: np.median(bare, axis=-1) / np.median(copied, axis=-1),
        known.bare,
        known.transfer,
    )
    slower = bootstrap(_lost, known.transfer, known.alone or rungs.step)
    return ahead.value > 1 and slower.low > TERM


def lacks_cores(known: Evidence, room: float) -> str | None:
    """The label, if the loader would keep up with cores for all its workers; else None.

    room: loader alone / step alone. Without workers nothing overlaps: training would still wait.
    """
    if (
        not known.workers
        or known.starved < STARVED
        or room < 1 - known.starved
        or known.cores is None
    ):
        return None
    if known.workers <= known.cores:
        return CONTENTION
    return CORES if known.cores < (os.cpu_count() or 1) else None


def late(known: Evidence) -> float:
    """Share of the workers' time that late batches cost; 0 where it is no cause."""
    return known.late if known.late is not None and known.late >= LATE else 0.0


def late_share(took: np.ndarray) -> float:
    """Share of all time that late batches take beyond the median; 0 unless they are rare.

    took: [N], s. A late batch takes more than three medians.
    """
    took = np.maximum(took, 0.0)  # two clocks may disagree
    typical = float(np.median(took)) if len(took) else 0.0
    slow = took[took > 3 * typical]
    rare = typical > 0 and 0 < len(slow) <= RARE * len(took) + 1
    return float((slow - typical).sum() / took.sum()) if rare else 0.0


def together(rungs: Rungs, s: Interval, known: Evidence) -> tuple[str, str | None]:
    """Why a loader that keeps up alone does not beside the step: the largest term, or two."""
    bursts = late(known) > 0 or (known.spikes is not None and known.spikes > SPIKES)
    terms = {JITTER: s.value if bursts else 0.0}
    for label, sample in ((TRANSFER, known.transfer), (CONTENTION, known.beside)):
        if sample is not None:
            lost = bootstrap(_lost, sample, known.alone or rungs.step)
            terms[label] = lost.value if lost.low > 0 else 0.0
    if terms.get(CONTENTION, 0) > TERM or terms.get(TRANSFER, 0) > TERM:
        terms[JITTER] = max(0.0, terms[JITTER] - terms.get(CONTENTION, 0) - terms.get(TRANSFER, 0))
    first, second, *_ = [*sorted(terms.items(), key=lambda term: -term[1]), ("", 0.0)]
    if first[1] < TERM:
        # Workers that wait for cores, though the step is not slower: other programs have them.
        return (CONTENTION if known.workers and known.starved >= STARVED else OVERLAP), None
    if second[1] >= max(TERM, MIXES * first[1]):
        return MIXED, f"{first[0]}, {second[0]}"
    return first[0], None


def cause(stages: Sequence[StageCost], store: float = 0.0) -> tuple[str, str | None]:
    """Label and stage of a loader that is too slow. store: `Evidence.store`."""
    if not stages or not any(stage.wall_s for stage in stages):
        return LOADER, None
    blocked_in_read = sum(stage.blocked_s for stage in stages if stage.name == "read")
    if blocked_in_read > READ_BLOCKED * sum(stage.wall_s for stage in stages):
        return READ, STORE if store > STORE_WAITS else None
    return CPU, max(stages, key=lambda stage: stage.cpu_s).name


def _lost(rates: np.ndarray, full: np.ndarray) -> Floats:
    lost: Floats = 1 - np.median(rates, axis=-1) / np.median(full, axis=-1)
    return lost


def spikes(wait: np.ndarray) -> float:
    """Share of all waiting that the slowest tenth of the batches has: 0.1 if all wait alike.

    wait: [N], s.
    """
    total = wait.sum()
    return float(np.sort(wait)[-max(1, len(wait) // 10) :].sum() / total) if total > 0 else 0.0
