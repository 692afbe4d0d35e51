"""Readings: all metrics of some loaders at one moment, each loader told apart by its labels."""

import itertools
import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastload.errors import UsageError
from fastload.loader.loader import DataLoader
from fastload.metrics.facts import Facts, facts
from fastload.metrics.names import METRICS, Metric
from fastload.order import distributed, ranks

Loaders = DataLoader[Any] | Mapping[str, DataLoader[Any]]
_names = weakref.WeakKeyDictionary[DataLoader[Any], str]()  # of loaders that were given no name
_numbers = itertools.count()


@dataclass(frozen=True)
class Value:
    """A metric's value now.

    Args:
        metric: Its row of the table.
        loader: The loader's name.
        rank: Of the process, as text.
        value: The number, in the metric's unit.
        part: The value of the metric's own label; "" where it has none.
        batches: Batches that the loader has handed over so far.
    """

    metric: Metric
    loader: str
    rank: str
    value: float
    part: str = ""
    batches: int = 0

    @property
    def labels(self) -> dict[str, str]:
        own = {self.metric.label: self.part} if self.metric.label else {}
        return {"loader": self.loader, "rank": self.rank, **own}

    @property
    def key(self) -> str:
        """Name and labels in one, for tools without labels: NAME/LOADER/rank0/PART."""
        parts = (self.metric.name, self.loader, f"rank{self.rank}", self.part)
        return "/".join(filter(None, parts))


@dataclass
class _Watched:
    """One loader, which may go away."""

    name: str
    rank: str
    loader: weakref.ref[DataLoader[Any]]
    steps: int | None
    before: Facts

    def values(self) -> list[Value]:
        loader = self.loader()
        if loader is None:
            return []
        now, before = facts(loader, self.steps), self.before
        self.before = now
        out = []
        for metric in METRICS:
            taken = metric.take(now, before)
            parts = taken if isinstance(taken, Mapping) else {"": taken}
            out += [
                Value(metric, self.name, self.rank, float(value), part, now.counts["batches"])
                for part, value in parts.items()
                if value is not None
            ]
        return out


@dataclass
class Readings:
    """Reads the loaders again and again. Gauges of what happened lately begin anew each time.

    Several threads may read.
    """

    watched: list[_Watched]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> list[Value]:
        with self._lock:
            return [value for one in self.watched for value in one.values()]


def readings(where: str, loaders: Loaders) -> Readings:
    """Raises UsageError for what is no loader of fastload's."""
    named: Mapping[Any, Any] = loaders if isinstance(loaders, Mapping) else {None: loaders}
    if not named:
        raise UsageError(f"{where}: got no loader, want one, or a dict of loaders by name")
    for name, loader in named.items():
        if named is loaders and not (isinstance(name, str) and name):
            raise UsageError(f"{where}: a loader's name is {name!r}, want text")
        if not isinstance(loader, DataLoader):
            raise UsageError(
                f"{where}: got {type(loader).__name__}, want a fastload.DataLoader or a dict of "
                "them; watch others with watch()"
            )
    return Readings([_watched(name, loader) for name, loader in named.items()])


def _watched(name: str | None, loader: DataLoader[Any]) -> _Watched:
    if name is None:
        name = _names.get(loader)
    if name is None:
        name = _names[loader] = str(next(_numbers))
    try:
        steps: int | None = len(loader)
    except Exception:  # noqa: BLE001  a sampler of the program's may raise anything
        steps = None
    return _Watched(name, _rank(loader), weakref.ref(loader), steps, facts(loader, steps))


def _rank(loader: DataLoader[Any]) -> str:
    """As the sampler or torch.distributed says; else as launchers tell it."""
    world, rank = distributed.split(loader)
    told = os.environ.get("RANK", "")
    known = world > 1 or ranks.joined() or not told.isdigit()
    return str(rank) if known else str(int(told))
