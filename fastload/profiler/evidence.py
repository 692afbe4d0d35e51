"""What a verdict is decided from: rates, costs of stages, and what else was seen."""

from dataclasses import dataclass

from fastload.measure import Sample


@dataclass(frozen=True)
class Rungs:
    """Images per second, one value per replicate.

    Replicates with the same index ran one after the other.
    """

    step: Sample  # E0: the training step alone, on batches that are there already
    loader: Sample  # E1: the loader alone
    training: Sample  # E2: both together
    # Whether replicates are stretches of one run. Then all of its time counts, rare late batches
    # too, so no medians are taken.
    pooled: bool = False
    handover: float = 0.0  # s per image to take a batch that lies ready; 0: not known, or none


@dataclass(frozen=True)
class StageCost:
    """What one stage takes per image, in seconds of one thread."""

    name: str
    wall_s: float
    cpu_s: float

    @property
    def blocked_s(self) -> float:
        """Time waited: for the disk, a lock, or a core that others use."""
        return max(0.0, self.wall_s - self.cpu_s)


@dataclass(frozen=True)
class Evidence:
    """What else is known. The defaults mean that nothing is. Rates are in images/s."""

    starved: float = 0.0  # share of the workers' time in which they waited for a core
    workers: int | None = None
    cores: int | None = None  # that the process may use
    spikes: float | None = None  # share of all waiting that the slowest tenth of the batches has
    # Share of the workers' time that rare late batches take beyond what a typical one takes
    late: float | None = None
    straggler: int | None = None  # the rank that waits for data while the others do not
    transfer: Sample | None = None  # the step with copies to the GPU, beside Rungs.step
    # The step while the loader works and its batches are dropped
    beside: Sample | None = None
    bare: Sample | None = None  # the loader alone, its batches not copied
    alone: Sample | None = None  # the step alone, in turns with those three
    store: float = 0.0  # share of the loader's time in which batches waited for a store
