"""What a trial of fastload's loader in a program gave, as remedies and in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastload.measure import Sample
from fastload.profiler.evidence import Rungs
from fastload.profiler.remedies import Alternative, Priced
from fastload.spec import Json

IMPORT = "change one import (from fastload import DataLoader)"
TIERS = {
    "torch": "fastload runs this data set by its torch backend, no faster than PyTorch",
    "pytorch": "fastload leaves this data set to PyTorch's own engine",
}


@dataclass(frozen=True)
class Tried:
    """Who would run the program's data set, and why not natively.

    tier: "native"; "torch"; "pytorch", its own engine; None where no trial could be made.
    """

    tier: str | None
    why: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """In one line; empty where fastload runs the data set natively."""
        if self.tier == "native":
            return ""
        said = TIERS.get(self.tier or "", "fastload's loader could not be tried on this data set")
        more = len(self.why) - 1
        return (
            said
            + (f": {self.why[0]}" if self.why else "")
            + (f" (and {more} more)" if more > 0 else "")
        )


def read(facts: Json) -> Tried | None:
    """From the facts of a process; None where nothing was tried."""
    trial = facts.get("trial")
    if not isinstance(trial, dict):
        return None
    return Tried(trial.get("tier"), tuple(map(str, trial.get("why") or ())))


def remedies(facts: Json, rungs: Rungs) -> tuple[Priced, ...]:
    """fastload's loader with each number of workers, beside the program's own loader as the run saw
    it.
    """
    trial = facts.get("trial")
    by_workers = trial.get("workers") if isinstance(trial, dict) else None
    if not isinstance(by_workers, Mapping):
        return ()
    own = _own_workers(facts)
    return tuple(_priced(int(workers), rates, rungs, own) for workers, rates in by_workers.items())


def _own_workers(facts: Json) -> int:
    loaders = [one for one in facts.get("loaders") or () if not one.get("backend")]
    return int(loaders[0].get("num_workers") or 0) if loaders else 0


def _priced(workers: int, rates: list[float], rungs: Rungs, own: int) -> Priced:
    name = IMPORT if workers == own else f"{IMPORT} and give num_workers={workers}"
    now = rungs.loader.values
    spread = Sample(tuple(now[number * len(now) // len(rates)] for number in range(len(rates))))
    return Priced(
        Alternative(name, "none: the same ops", "native", ()),
        Sample(tuple(map(float, rates))),
        spread,
        beside=not own and workers > 0,
    )
