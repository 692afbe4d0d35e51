"""What `fastload profile --backend all` found on this machine, kept in the user's cache:
backend="auto" goes by it.

One small JSON file per data set, ops and device. It counts only on the machine and with the
versions that it was measured with, and decides only among backends that give the same pixels; where
there is none, or it is damaged, "auto" does as if nothing was known.
"""

import datetime as dt
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from fastload import _native
from fastload.backends.table import BACKENDS, OWN
from fastload.files import cache
from fastload.plan.plan import Plan
from fastload.spec import Json
from fastload.system import machine
from fastload.system.distributions import version_of

SCHEMA = "fastload.backends/1"
LARGEST = 1 << 16  # bytes of a file
CLEAR = 1.05  # times as fast, at the low end of the interval: below it nothing is changed
USED = dict.fromkeys(name for one in OWN for name in (*one.distributions, *one.beside))
LIBRARIES = ("fastload-torch", "torch", "pillow", "numpy", *USED)


@dataclass(frozen=True)
class Rate:
    """Images/s of one backend; the interval is of its ratio to the one that it took turns with."""

    median: float
    low: float
    high: float

    @property
    def possible(self) -> bool:
        return 0 < self.low <= self.median <= self.high < math.inf


@dataclass(frozen=True)
class Measured:
    """What was found, and when."""

    rates: dict[str, Rate]  # by backend
    date: str
    workers: int

    def clear_winner(self, first: str, others: Sequence[str]) -> str:
        """The fastest of `first` and `others`; another one than `first` only for a clear gain."""
        rates = {name: self.rates[name] for name in (first, *others) if name in self.rates}
        best = max(rates, key=lambda name: rates[name].median, default=first)
        return best if first in rates and rates[best].low > CLEAR * rates[first].high else first

    def describe(self, chosen: str) -> str:
        """`chosen` against the others, as DataLoader.explain says it."""
        others = sorted(
            (name for name in self.rates if name != chosen),
            key=lambda name: -self.rates[name].median,
        )
        against = ", ".join(f"{name} {self.rates[name].median:,.0f}" for name in others)
        workers = f"{self.workers} worker{'s' * (self.workers != 1)}"
        where = f"on this machine on {self.date}, {workers}"
        return f"measured {self.rates[chosen].median:,.0f} images/s against {against}, {where}"


def remember(plan: Plan, device: str, workers: int, rates: Mapping[str, Rate]) -> str:
    """Keep the rates of several backends; the file's path, or "" where nothing is compared or the
    cache cannot be written.
    """
    possible = {name: rate.__dict__ for name, rate in rates.items() if rate.possible}
    if len(possible) < 2:
        return ""
    today = dt.datetime.now(dt.timezone.utc).date().isoformat()
    content = {
        "schema": SCHEMA,
        "about": about(plan, device),
        "here": here(device),
        "date": today,
        "workers": workers,
        "rates": possible,
    }
    path = record_path(plan, device)
    return path if cache.keep(path, json.dumps(content, indent=1).encode()) else ""


def recall(plan: Plan, device: str) -> Measured | None:
    """What is known of this plan here; None: nothing."""
    try:
        content = json.loads(cache.recall(record_path(plan, device), LARGEST))
        if (
            content["schema"] != SCHEMA
            or content["about"] != about(plan, device)
            or content["here"] != here(device)
        ):
            return None
        rates = {
            str(name): Rate(*(float(rate[part]) for part in ("median", "low", "high")))
            for name, rate in content["rates"].items()
        }
        date = dt.date.fromisoformat(content["date"]).isoformat()
        measurement = Measured(rates, date, int(content["workers"]))
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):
        return None
    return (
        measurement if measurement.rates and all(rate.possible for rate in rates.values()) else None
    )


def record_path(plan: Plan, device: str) -> str:
    """The file of a plan."""
    text = json.dumps(about(plan, device))
    return cache.path("backends", f"{_native.xxh3(text.encode()):016x}.json")


def about(plan: Plan, device: str) -> Json:
    """What a measurement is of: the data set's place and length, and everything that is done to a
    sample.
    """
    source = plan.source
    where = os.fsencode(os.path.realpath(source.where)).decode("utf-8", "backslashreplace")
    ops = [[repr(op) for op in picture.ops] for picture in plan.pictures]
    kind, masks = type(source).__name__, plan.masks is not None
    how = {"decode_scale": plan.decode_scale, "augment": plan.augment, "device": device}
    return {
        "data": where,
        "source": kind,
        "samples": len(source),
        "ops": ops,
        "masks": masks,
        **how,
    }


def here(device: str) -> Json:
    """The machine and the versions that a measurement holds for."""
    gpu = torch.cuda.get_device_name() if device == "cuda" and torch.cuda.is_available() else None
    facts = {"cpu": machine.cpu_model(), "usable_cores": machine.usable_cores(), "gpu": gpu}
    known = dict.fromkeys(
        (*LIBRARIES, *filter(None, map(BACKENDS.distribution, BACKENDS.others())))
    )
    return {**facts, "versions": {name: version for name in known if (version := version_of(name))}}
