"""A forecast, as data: `lines` makes text of it, `document` JSON, `page` HTML."""

from dataclasses import dataclass
from functools import cached_property

from fastload.forecast import model
from fastload.forecast.bands import Range
from fastload.forecast.energy import Energy, energy
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.options import HOUR, Option, cheapest, front
from fastload.forecast.published import Result
from fastload.forecast.run import Run
from fastload.spec import Json


@dataclass(frozen=True)
class Forecast:
    """What was asked, what was measured, and what follows."""

    asked: Question
    measured: Measured
    data: str
    data_images: int  # of the data set that was measured
    backend: str
    batch_size: int
    step_said: str  # where the step's rate comes from
    price: float | None  # per hour
    target: float | None  # top-1, 0..1
    published: tuple[Result, ...]  # of the recipe
    extrapolated: tuple[str, ...]
    left_out: tuple[str, ...]
    facts: Json  # of the machine that was measured
    command: str
    seconds: float  # of measuring
    price_energy: float | None = None  # per kWh
    price_disk: float | None = None  # of a TB for a month
    compared: str | None = None
    options: tuple[Option, ...] = ()

    @cached_property
    def run(self) -> Run:
        return model.run(self.asked, self.measured)

    @cached_property
    def what_ifs(self) -> dict[str, Run]:
        return model.what_ifs(self.asked, self.measured)

    @cached_property
    def cores(self) -> Range | None:
        """That keep the GPUs busy; None: no number does, or the step runs on the cores itself."""
        if self.run.together is not None:
            return None
        return model.needed_cores(self.asked, self.measured)

    @property
    def hours(self) -> Range:
        return self.run.total.times(1 / HOUR)

    @property
    def cost(self) -> Range | None:
        return self.hours.times(self.price) if self.price is not None else None

    @cached_property
    def energy(self) -> Energy:
        return energy(self.asked, self.measured, self.run)

    @property
    def energy_cost(self) -> Range | None:
        """What its kWh cost; None: they are not known, or nobody gave their price."""
        kwh = self.energy.kwh
        return kwh.times(self.price_energy) if kwh and self.price_energy is not None else None

    @property
    def waiting(self) -> dict[str, float]:
        """Shares of the run in which the GPUs wait, by cause; none that are 0."""
        total = self.run.total.value
        shares = {cause: float(waits.sum()) / total for cause, waits in self.run.waits.items()}
        return {cause: share for cause, share in shares.items() if share > 0}

    @property
    def top1(self) -> Result | None:
        """What was published for just this length."""
        epochs = len(self.asked.sizes)
        return next((one for one in self.published if one.epochs == epochs), None)

    @property
    def front(self) -> tuple[Option, ...]:
        return front(self.options)

    @property
    def cheapest(self) -> Option | None:
        return cheapest(self.options, self.target) if self.options else None


@dataclass(frozen=True)
class Stretch:
    """Epochs in a row with images of the same size."""

    first: int  # from 0
    last: int
    size: int  # px
    hours: Range
    images_per_s: Range
    limit: str  # of run.LIMITS
    waits: float  # share of the time


def stretches(run: Run) -> tuple[Stretch, ...]:
    """The run, size by size."""
    limits, waits, found = run.limits, sum(run.waits.values()), []
    begin = 0
    for epoch in range(1, len(run.sizes) + 1):
        same = epoch < len(run.sizes) and (run.sizes[epoch], limits[epoch]) == (
            run.sizes[begin],
            limits[begin],
        )
        if same:
            continue
        whole, images = run.seconds.part(begin, epoch).total(), run.images * (epoch - begin)
        found.append(
            Stretch(
                begin,
                epoch - 1,
                run.sizes[begin],
                whole.times(1 / HOUR),
                Range(*(images / part for part in (whole.value, whole.high, whole.low))),
                limits[begin],
                float(waits[begin:epoch].sum()) / whole.value,  # type: ignore[index]
            )
        )
        begin = epoch
    return tuple(found)
