"""The condition of `fastload filter` by other processes. A unit is a run of rows."""

import base64
import json
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastload.conversion import where as conditions
from fastload.conversion import workers
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.work import Telling, Work, once
from fastload.conversion.spread import seen
from fastload.conversion.workers import Advance
from fastload.sources import arrow
from fastload.sources.shard_index import Index, read_index
from fastload.spec import Json, Longs

KIND = "filter"  # of works.KINDS
EACH = 256  # batches of a unit: a million rows


def rows(
    index: Index, condition: str, on: On, advance: Advance = workers.ignore, each: int = EACH
) -> Longs:
    """The rows for which the condition holds, in order. each: batches of the index in a unit.

    Raises ConversionError, UsageError.
    """
    # What is no condition is told at once
    conditions.mask(index.where, index.classes, index.batches[:1], condition)
    said = {
        "path": seen.path_for_all("filter", index.where), "seen": seen.stamp_of(index),
        "condition": condition, "each": each,
    }  # fmt: skip
    kept, units = _Kept(index, each), -(-len(index.batches) // each)
    on.run(Work(KIND, json.dumps(said)), range(units), kept, advance)
    masks = [np.unpackbits(kept.masks[number], count=kept.rows(number)) for number in range(units)]
    return np.flatnonzero(np.concatenate(masks)).astype(np.int64)


@dataclass
class _Kept:
    """`Results`: a bit for each row of a unit, eight of them in a byte."""

    index: Index
    each: int
    write: bool = True
    masks: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.index.where

    def rows(self, number: int) -> int:
        """Of this unit."""
        most = self.each * arrow.BATCH
        return min(most, len(self.index) - number * most)

    def take(self, number: int, said: Json, _: str) -> bool:
        mask = np.frombuffer(base64.b64decode(said["kept"], validate=True), np.uint8)
        if len(mask) != -(-self.rows(number) // 8):
            return False
        self.masks[number] = mask
        return True

    def name(self, sample: int) -> str:
        return f"{self.where}, row {sample}"


class _Opened(NamedTuple):
    """What a worker knows."""

    data: Index
    condition: str
    each: int


@once
def opened(text: str) -> _Opened:
    """In a worker. Raises ConversionError, SourceError."""
    said = json.loads(text)
    index = read_index(said["path"])
    seen.check(said["path"], seen.stamp_of(index), said["seen"])
    return _Opened(index, said["condition"], int(said["each"]))


def make(text: str, order: Order, telling: Telling) -> Json:
    """In a worker: one unit."""
    index, condition, each = opened(text)
    telling.alive()
    batches = index.batches[order.number * each : (order.number + 1) * each]
    mask = conditions.mask(index.where, index.classes, batches, condition)
    telling.advance(len(mask), 0)
    return {"kept": base64.b64encode(np.packbits(mask).tobytes()).decode()}
