"""The batches that a program trained on, from its records."""

from dataclasses import dataclass

import numpy as np

from fastload.attach import log
from fastload.profiler.logs import Process
from fastload.spec import Array, Json, Longs

WARM_UP = 5  # iterations that count for nothing
FEWEST = 8  # iterations after it
SCANT = 3  # iterations, with fewer of which nothing is said; below FEWEST they all count


@dataclass(frozen=True)
class Iterations:
    """One loader's batches in one process; arrays [N], s."""

    process: Process
    loader: int
    t: Array  # when `next` was called
    wait: Array  # within `next`, or what the GPU was idle by it where that is known
    length: Array  # until the following call
    images: Array
    cpu: Array  # of the thread that called, within `next`

    @property
    def stall(self) -> float:
        return float(self.wait.sum() / self.length.sum())

    @property
    def facts(self) -> Json:
        loaders = self.process.facts.get("loaders") or []
        return loaders[self.loader] if self.loader < len(loaders) else {}

    def of(self, picks: Longs) -> "Iterations":
        return Iterations(
            self.process,
            self.loader,
            self.t[picks],
            self.wait[picks],
            self.length[picks],
            self.images[picks],
            self.cpu[picks],
        )


def training(process: Process) -> Iterations | None:
    """The iterations of the loader that the process trains on.

    That is the loader with the most batches that are followed by an optimiser's step.
    """
    records = process.records[np.isin(process.records["kind"], (log.WAIT, log.END))]
    waits = records["kind"] == log.WAIT
    if not waits[:-1].any():
        return None
    same = waits[:-1] & (records["loader"][1:] == records["loader"][:-1]) & waits[1:]
    same &= ~_interrupted(records["t"], process.of(log.RUNG))
    stepped = same & (records["steps"][1:] > 0)
    votes = np.bincount(records["loader"][:-1][stepped if stepped.any() else same])
    if not votes.size:
        return None
    loader = int(votes.argmax())
    first = np.flatnonzero(same & (records["loader"][:-1] == loader))
    # An epoch's first batch waits for the workers' start.
    edges = np.r_[True, records["kind"][:-1] == log.END]
    first = first[~edges[first]]
    first = first[WARM_UP:] if len(first) >= WARM_UP + FEWEST else first[-FEWEST + 1 :]
    if len(first) < SCANT:
        return None
    chosen = records[first]
    idle = np.where(
        np.isfinite(chosen["idle"]),
        chosen["idle"],
        chosen["wall"],
    )
    return Iterations(
        process,
        loader,
        chosen["t"],
        idle,
        records["t"][first + 1] - chosen["t"],
        chosen["images"],
        chosen["cpu"],
    )


def _interrupted(t: Array, rungs: Array) -> Array:
    """Whether a rung of --ladder ended between a record and the next one: bool [len(t) - 1]."""
    ends = np.sort(rungs["t"] + rungs["wall"])
    interrupted: Array = np.diff(np.searchsorted(ends, t)) > 0
    return interrupted
