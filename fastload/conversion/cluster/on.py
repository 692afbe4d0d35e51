"""What runs the units of a job, and one run of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastload.conversion.cluster import leases
from fastload.conversion.cluster.driver import Driver, Results
from fastload.conversion.cluster.fleet import Fleet
from fastload.conversion.cluster.leases import Leases
from fastload.conversion.cluster.report import Say, Spread, silent
from fastload.conversion.cluster.work import Work
from fastload.conversion.workers import Advance


@dataclass
class On:
    """What runs the units of a job.

    say: is told what becomes of workers, one line each; lease: s for which a worker may show no
    progress. spread: afterwards, who did what; place: the folder that workers put files into which
    nobody keeps, if it is not that of the results.
    """

    fleet: Fleet
    say: Say = silent
    lease: float = leases.LEASE
    slow: float = leases.SLOW
    spread: Spread | None = None
    place: str = ""

    def run(self, work: Work, left: Sequence[int], results: Results, advance: Advance) -> None:
        """Make the units `left`. Raises ConversionError, UsageError."""
        spread = self.known()
        if left:
            held = Leases(left, self.lease, self.slow)
            Driver(results, self.fleet, work, advance, self.say, held, spread).run(len(left))

    def known(self) -> Spread:
        """Who has done what up to now."""
        self.spread = self.spread or Spread(self.fleet.name)
        return self.spread
