"""The energy of a run, by the same model as its time. Pure functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fastload.forecast.bands import Band, Range, exactly
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.power import GPU, Watts
from fastload.forecast.rates import around, line, spread
from fastload.forecast.run import Run
from fastload.measure import Sample

KWH = 3.6e6  # J
UNSEEN = "no energy counter was read when these rates were measured"


@dataclass(frozen=True)
class Energy:
    """Of a whole run. parts: kWh, by part of the machine; missing: parts that are not in it."""

    parts: Mapping[str, Range]
    missing: tuple[str, ...]

    @property
    def kwh(self) -> Range | None:
        """Of all parts that are known; None: of none."""
        if not self.parts:
            return None
        known = self.parts.values()
        return Range(*(sum(getattr(one, end) for one in known) for end in ("value", "low", "high")))


def energy(asked: Question, measured: Measured, run: Run) -> Energy:
    """A part takes its idle power all the time, and the rest for each image."""
    if not asked.here:
        return Energy({}, ("it is that of the machine that was measured, and this is another",))
    power = measured.power
    if power is None:
        return Energy({}, (UNSEEN,))
    missing = list(power.missing)
    if asked.gpu is not None:
        missing.append("GPUs (their step was not run)")
    parts = {
        part: _kwh(watts, measured, run, asked.machine.gpus if part == GPU else 1)
        for part, watts in power.parts.items()
        if part != GPU or asked.gpu is None
    }
    return Energy(parts, tuple(missing))


def _kwh(watts: Watts, measured: Measured, run: Run, count: int) -> Range:
    """count: of such parts, of which one was measured."""
    idle, half = watts.idle, spread(_samples(watts))
    resting = Range(*(count * idle.median * by for by in (1, 1 / (1 + half), 1 + half)))
    joules = run.seconds.times(resting)
    pairs = [(watts.loader, measured.loader), (watts.step, measured.step)]
    if run.together is not None:  # measured as a whole
        pairs = [(watts.together, measured.together)]
    for taken, rates in pairs:
        if taken:
            joules = joules.plus(_of_images(taken, rates, idle, run))
    return joules.total().times(1 / KWH)


def _of_images(
    taken: Mapping[int, Sample], rates: Mapping[int, Sample], idle: Sample, run: Run
) -> Band:
    """Joules of each epoch beyond those of an idle part; more images/s take more watts."""
    known = sorted(taken.keys() & rates.keys())
    joules = line(
        {size: max(0.0, taken[size].median - idle.median) / rates[size].median for size in known},
        run.sizes,
    )
    samples = [sample[size] for sample in (taken, rates) for size in known]
    half = spread(sample for sample in samples if sample.median > 0)
    return around(joules, half).times(exactly(run.images))


def _samples(watts: Watts) -> Iterator[Sample]:
    every = (watts.loader, watts.step, watts.together)
    samples = [watts.idle, *(sample for each in every for sample in each.values())]
    return (sample for sample in samples if sample.median > 0)
