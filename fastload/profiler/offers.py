"""Everything that would help, in one list: what training gives with it, and how that is known."""

from dataclasses import dataclass

from fastload.measure import Interval
from fastload.profiler.findings import Findings
from fastload.profiler.remedies import WORTH, Priced

MEASURED, LOADER, PREDICTED = "measured", "predicted, its loader measured", "predicted"


@dataclass(frozen=True)
class Offer:
    """A remedy; rates in images/s."""

    name: str  # what to do
    how: str  # to be copied
    cost: str  # what it takes or risks
    basis: str  # MEASURED, LOADER or PREDICTED
    training: Interval  # with it
    now: float  # training as it is
    same: bool = True  # whether training is what it was, but for its speed

    @property
    def gain(self) -> Interval:
        """Training with it by training as it is."""
        value, low, high = self.training.value, self.training.low, self.training.high
        return Interval(value / self.now, low / self.now, high / self.now)

    @property
    def worth_it(self) -> bool:
        return self.gain.low > WORTH


def offers(report: Findings) -> tuple[Offer, ...]:
    """Worth it or not; what changes less comes first."""
    seen = [
        Offer(
            one.name, one.how, one.cost, PREDICTED,
            Interval(*(one.now * part for part in (one.gain.value, one.gain.low, one.gain.high))),
            one.now,
        )
        for one in report.foreseen
    ]  # fmt: skip
    return (*(_offer(one, report) for one in report.remedies), *seen)


def _offer(one: Priced, report: Findings) -> Offer:
    training, basis = one.range(report.rungs), PREDICTED if one.computed else LOADER
    if one.training is not None:
        training = Interval(one.training.median, one.training.low, one.training.high)
        basis = MEASURED
    what = one.alternative
    return Offer(
        what.name, what.how, what.cost, basis, training, report.rungs.training.median, one.same
    )


def best(report: Findings) -> Offer | None:
    """The one after which training is fastest; of those that are about as fast the first.

    What trains the same comes before any other.
    """
    gains = [one for one in offers(report) if one.worth_it]
    gains = [one for one in gains if one.same] or gains
    most = max((one.gain.value for one in gains), default=0.0)
    return next((one for one in gains if one.gain.value * WORTH >= most), None)
