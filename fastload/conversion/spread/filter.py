"""The condition of `fastload filter` by other processes. A unit is a run of rows."""

import base64
import json
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastload.conversion import filtering, subsets, workers
from fastload.conversion import where as conditions
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.work import Telling, Work, once
from fastload.conversion.filtering import Bits, Found, Rows
from fastload.conversion.spread import seen
from fastload.conversion.workers import Advance
from fastload.sources import arrow
from fastload.spec import Json

KIND = "filter"  # of works.KINDS
EACH = 256  # batches of a unit: a million rows


def rows(
    source: str, condition: str, on: On, advance: Advance = workers.ignore, each: int = EACH
) -> Found:
    """The rows of converted shards for which the condition holds. each: batches of the index in a
    unit.

    Raises ConversionError, SourceError, UsageError.
    """
    data = Rows(subsets.open_shards(source))
    for _, batches in data.groups(0, 1):  # what is no condition is told at once
        conditions.mask(data.where, data.said.classes, batches, condition)
    said = {
        "path": seen.path_for_all("filter", data.where), "seen": _stamp(data),
        "condition": condition, "each": each,
    }  # fmt: skip
    kept, units = _Kept(data, each), -(-len(data) // (each * arrow.BATCH))
    on.run(Work(KIND, json.dumps(said)), range(units), kept, advance)
    return Found(data.checksum, np.concatenate([kept.bits[number] for number in range(units)]))


def _stamp(data: Rows) -> str:
    return f"{data.checksum:016x}"


@dataclass
class _Kept:
    """`Results`: a bit for each row of a unit."""

    data: Rows
    each: int
    write: bool = True
    bits: dict[int, Bits] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.data.where

    def rows(self, number: int) -> int:
        """Of this unit."""
        most = self.each * arrow.BATCH
        return min(most, len(self.data) - number * most)

    def take(self, number: int, said: Json, _: str) -> bool:
        held = np.frombuffer(base64.b64decode(said["kept"], validate=True), np.uint8)
        if len(held) != -(-self.rows(number) // 8):
            return False
        self.bits[number] = held
        return True

    def name(self, sample: int) -> str:
        return f"{self.where}, row {sample}"


class _Opened(NamedTuple):
    """What a worker knows."""

    data: Rows
    condition: str
    each: int


@once
def opened(text: str) -> _Opened:
    """In a worker. Raises ConversionError, SourceError."""
    said = json.loads(text)
    data = Rows(subsets.open_shards(said["path"]))
    seen.check(said["path"], _stamp(data), said["seen"])
    return _Opened(data, said["condition"], int(said["each"]))


def make(text: str, order: Order, telling: Telling) -> Json:
    """In a worker: one unit."""
    data, condition, each = opened(text)
    held = list[Bits]()
    for _, batches in data.groups(order.number * each, (order.number + 1) * each):
        telling.alive()
        mask = conditions.mask(data.where, data.said.classes, batches, condition)
        held.append(filtering.bits(mask))
        telling.advance(len(mask), 0)
    return {"kept": base64.b64encode(np.concatenate(held).tobytes()).decode()}
