"""A forecast of `fastload plan --json`, as far as a training under way is compared with it."""

import json
import math
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastload.errors import UsageError
from fastload.system import limits

SCHEMAS = ("fastload.plan/1",)


class Between(NamedTuple):
    """A number with what it may be at least and at most."""

    value: float
    low: float
    high: float

    def plus(self, other: "Between") -> "Between":
        return Between(*(one + two for one, two in zip(self, other, strict=True)))

    def times(self, by: float) -> "Between":
        return Between(*(by * one for one in self))


class Epoch(NamedTuple):
    """One epoch of a plan."""

    size: int  # px
    seconds: Between


@dataclass(frozen=True)
class Plan:
    """The run that was planned."""

    where: str
    epochs: tuple[Epoch, ...]
    price: float | None  # per hour

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return self.until(len(self.epochs), 0.0)

    def until(self, epoch: int, share: float) -> float:
        """Planned seconds from the run's begin to a share, 0..1, of an epoch that counts from 0."""
        done = sum(one.seconds.value for one in self.epochs[:epoch])
        if epoch < len(self.epochs):
            done += min(1.0, share) * self.epochs[epoch].seconds.value
        return done


def load(path: str | os.PathLike[str]) -> Plan:
    """Raises UsageError for what is no forecast."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(
            f"plan: got {type(path).__name__}, want a file; make one with fastload plan --json FILE"
        )
    where = os.fspath(path)
    try:
        with open(where, "rb") as file:
            found = json.loads(limits.small(file, limits.REPORT))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{where}: cannot be read as a forecast ({error}); make one with fastload plan --json "
            "FILE"
        ) from error
    try:
        if found["schema"] not in SCHEMAS:
            raise ValueError(f"its schema is {found['schema']!r}")
        epochs = tuple(
            Epoch(int(one["size_px"]), _between(one["seconds"])) for one in found["epochs"]
        )
        price = found["price_per_h"]
        if not epochs:
            raise ValueError("it has no epochs")
        if price is not None and not 0 <= float(price) < math.inf:
            raise ValueError(f"its price is {price!r}")
        return Plan(where, epochs, None if price is None else float(price))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{where}: is no forecast ({type(error).__name__}: {error}, want schema "
            f"{' or '.join(SCHEMAS)}); make one with fastload plan --json FILE"
        ) from error


def _between(found: Any) -> Between:
    """Raises ValueError and its like. An end that is not known reads as null."""
    value = float(found["value"])
    low, high = (value if found[end] is None else float(found[end]) for end in ("low", "high"))
    if not 0 < low <= value <= high < math.inf:
        raise ValueError(f"its times {low:g}, {value:g}, {high:g} are in no order")
    return Between(value, low, high)
