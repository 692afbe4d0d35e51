"""What a trial of other loaders in a program gave, as remedies and in words."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fastload.measure import Sample
from fastload.profiler.evidence import Rungs
from fastload.profiler.remedies import MILDER, Alternative, Priced
from fastload.progressive import ProgressiveResize
from fastload.spec import Json

IMPORT_HOW = "from fastload import DataLoader"
IMPORT = f"change one import ({IMPORT_HOW})"
SAME = "none: the same ops"
NATIVE = "native"
SMALLER = ProgressiveResize(total_epochs=100)  # the schedule that half the side is a part of
SMALLER_HOW = "DataLoader(..., size_schedule=fastload.ProgressiveResize(total_epochs=...))"
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
    problem: str = ""  # why the trial did not come to its end

    @property
    def text(self) -> str:
        """In one line; empty where fastload runs the data set natively."""
        if self.tier == NATIVE:
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
    return Tried(
        trial.get("tier"), tuple(map(str, trial.get("why") or ())), str(trial.get("problem") or "")
    )


@dataclass(frozen=True)
class Trial:
    """The rates of a trial, images/s.

    rates: by kind of loader and number of workers; milder: of other ops, by what to do, how, and
    number of workers.
    """

    rates: dict[tuple[str, int], Sample]
    milder: dict[tuple[str, str, int], Sample]
    own: int  # workers of the program's loader
    tier: str
    folder: str | None  # of images, that fastload reads
    rungs: Rungs = field(repr=False)
    # As `Rungs.handover`, by kind, or what to do, and number of workers
    handovers: dict[tuple[str, int], float] = field(default_factory=dict)

    @property
    def now(self) -> Sample:
        """The program's own loader: as it was tried, else as the run saw it."""
        return self.rates.get(("own", self.own), self.rungs.loader)

    def priced(self, what: Alternative, loader: Sample, kind: str, workers: int) -> Priced:
        """kind: or what to do, of milder ones."""
        count, now = len(loader.values), self.now.values
        paired = Sample(tuple(now[number * len(now) // count] for number in range(count)))
        return Priced(
            what, loader, paired, beside=not self.own and workers > 0,
            handover=self.handovers.get((kind, workers)),
        )  # fmt: skip


def handover(facts: Json, rungs: Rungs) -> float:
    """Of the program's own loader, as it was tried; 0 where it was not."""
    trial = _trial(facts, rungs)
    return trial.handovers.get(("own", trial.own), 0.0) if trial else 0.0


def others(facts: Json) -> bool:
    """Whether the program's own loader was tried with another number of workers."""
    trial = facts.get("trial")
    loaders = trial.get("loaders") if isinstance(trial, dict) else None
    return any(one["kind"] == "workers" for one in loaders or ())


def remedies(facts: Json, rungs: Rungs) -> tuple[Priced, ...]:
    """Each loader that was tried, beside the program's own; what changes less comes first."""
    trial = _trial(facts, rungs)
    if trial is None:
        return ()
    same = (*_fastloads(trial), *_indexed(trial), *_workers(trial))
    return (*same, *_smaller(trial), *_milder(trial))


def _trial(facts: Json, rungs: Rungs) -> Trial | None:
    """None where nothing was measured."""
    trial = facts.get("trial")
    loaders = trial.get("loaders") if isinstance(trial, dict) else None
    if not isinstance(trial, dict) or not loaders:
        return None
    rates, milder, handovers = {}, {}, {}
    for one in loaders:
        workers, sample = int(one["workers"]), Sample(tuple(map(float, one["img_per_s"])))
        kind = str(one["kind"])
        if kind == "milder":
            kind = str(one["name"])
            milder[kind, str(one["how"]), workers] = sample
        else:
            rates[kind, workers] = sample
        if "handover_s" in one:  # files of earlier versions lack it
            handovers[kind, workers] = float(one["handover_s"])
    own = [one for one in facts.get("loaders") or () if not one.get("backend")]
    workers = int(own[0].get("num_workers") or 0) if own else 0
    tier, folder = str(trial.get("tier")), trial.get("folder")
    return Trial(rates, milder, workers, tier, folder, rungs, handovers)


def _with(workers: int, trial: Trial) -> tuple[str, str]:
    """fastload's loader with so many workers: what to do, and how."""
    if workers == trial.own:
        return IMPORT, IMPORT_HOW
    given = f"num_workers={workers}"
    return f"{IMPORT} and give {given}", f"{IMPORT_HOW}; DataLoader(..., {given})"


def _fastloads(trial: Trial) -> Iterator[Priced]:
    cost = SAME if trial.tier == NATIVE else "none: the same pixels, only JPEG decoding is native"
    for (kind, workers), rates in trial.rates.items():
        if kind == "fastload":
            name, how = _with(workers, trial)
            what = Alternative(name, cost, trial.tier, (), how=how)
            yield trial.priced(what, rates, kind, workers)


def _indexed(trial: Trial) -> Iterator[Priced]:
    """A seek index for the folder: its gain on a few images, times the rate without one."""
    for (kind, workers), indexed in trial.rates.items():
        plain = trial.rates.get(("plain", workers))
        whole = trial.rates.get(("fastload", workers))
        if kind != "indexed" or plain is None or whole is None or trial.folder is None:
            continue
        turns = zip(whole.values, indexed.values, plain.values, strict=False)
        rates = Sample(tuple(rate * more / less for rate, more, less in turns))
        how = f"fastload index {shlex.quote(trial.folder)}"
        name = f"{_with(workers, trial)[0]}, and index the folder ({how})"
        cost = "one pass over the images (else fastload's first epoch makes it)"
        what = Alternative(name, cost, trial.tier, (), how=how)
        yield replace(trial.priced(what, rates, kind, workers), computed=True)


def _workers(trial: Trial) -> Iterator[Priced]:
    """The program's own loader with another number of workers."""
    for (kind, workers), rates in trial.rates.items():
        if kind == "workers":
            name, cost = f"num_workers={workers}", "memory of each process"
            how = f"DataLoader(..., {name})"
            what = Alternative(f"give PyTorch's loader {name}", cost, "pytorch", (), how=how)
            yield trial.priced(what, rates, kind, workers)


def _smaller(trial: Trial) -> Iterator[Priced]:
    """Progressive resizing over a whole training, from the rates at half the side and at the whole.

    The time of an image grows with its pixels. The step is taken to last as long as now.
    """
    sides = [SMALLER.at(1000, epoch / 100) / 1000 for epoch in range(100)]
    least = sides[0] ** 2
    share = (sum(side**2 for side in sides) / len(sides) - least) / (1 - least)
    for (kind, workers), small in trial.rates.items():
        whole = trial.rates.get(("fastload", workers))
        if kind != "smaller" or whole is None:
            continue
        turns = zip(small.values, whole.values, strict=False)
        rates = Sample(tuple(1 / ((1 - share) / less + share / more) for less, more in turns))
        name = f"{_with(workers, trial)[0]}, and begin with smaller images (size_schedule)"
        what = Alternative(name, MILDER, trial.tier, (), how=SMALLER_HOW)
        yield replace(trial.priced(what, rates, kind, workers), computed=True)


def _milder(trial: Trial) -> Iterator[Priced]:
    """fastload's loader with other ops."""
    for (name, how, workers), rates in trial.milder.items():
        what = Alternative(f"{_with(workers, trial)[0]}, {name}", MILDER, trial.tier, (), how=how)
        yield trial.priced(what, rates, name, workers)
