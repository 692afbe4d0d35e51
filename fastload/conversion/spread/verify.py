"""`fastload verify` by other processes. A unit is a shard with its sidecar, or a run of samples."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fastload.conversion import verify, workers
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.work import Telling, Work, once
from fastload.conversion.readers import Reader
from fastload.conversion.spread import seen
from fastload.conversion.verify import Bad, Damaged, Report
from fastload.conversion.verify_shards import Damage, check_sidecar, read_and_check
from fastload.conversion.workers import Advance
from fastload.sources.shard_index import Index
from fastload.spec import Json, Longs

KIND = "verify"  # of works.KINDS
EACH = 256  # samples of a unit, where there are no shards


def run(
    where: str,
    prepared: Index | Reader | Damaged,
    on: On,
    advance: Advance = workers.ignore,
    each: int = EACH,
) -> Report:
    """What `verify.verify` reports. where: what `prepared` was prepared from; each: samples of a
    unit. Raises ConversionError, UsageError.
    """
    if isinstance(prepared, Damaged):
        return verify.verify(prepared)
    path = seen.path_for_all("verify", where)
    text = json.dumps({"path": path, "seen": seen.stamp_of(prepared), "each": each})
    work = Work(KIND, text)
    if isinstance(prepared, Index):
        shards = _Shards(prepared)
        on.run(work, range(len(prepared.shards)), shards, advance)
        return shards.report()
    samples = _Samples(prepared)
    aside = verify.seek_damages(prepared)
    on.run(work, range(-(-len(prepared) // each)), samples, advance)
    bad = [one for number in sorted(samples.bad) for one in samples.bad[number]]
    return verify.of_reader(prepared, aside, bad)


@dataclass
class _Shards:
    """`Results`: what is damaged in each shard, and beside it."""

    index: Index
    write: bool = True
    damages: dict[int, tuple[list[Damage], list[Damage]]] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.index.where

    def take(self, number: int, said: Json, _: str) -> bool:
        sidecars = self.index.sidecars
        self.damages[number] = (
            self._parsed(self.index.shards[number].name, said["shard"]),
            self._parsed(sidecars[number].name if sidecars else "", said["sidecar"]),
        )
        return True

    def _parsed(self, name: str, said: Sequence[Sequence[object]]) -> list[Damage]:
        """Paths as this process knows them."""
        out = []
        for start, end, key, what in said:
            if not (isinstance(start, int) and isinstance(end, int) and isinstance(what, str)):
                raise TypeError(name)
            out.append(
                Damage(
                    os.path.join(self.index.where, name), start, end,
                    None if key is None else str(key), what,
                )
            )  # fmt: skip
        return out

    def name(self, sample: int) -> str:
        return f"{self.where}, sample {self.index.key(sample)}"

    def report(self) -> Report:
        """In the order of a run by threads: first all shards."""
        found = [self.damages[number] for number in sorted(self.damages)]
        both = [pair[0] for pair in found] + [pair[1] for pair in found]
        return verify.of_index(self.index, [damage for part in both for damage in part])


@dataclass
class _Samples:
    """`Results`: the samples of each unit that cannot be decoded."""

    reader: Reader
    write: bool = True
    bad: dict[int, list[Bad]] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.reader.where

    def take(self, number: int, said: Json, _: str) -> bool:
        if any(not 0 <= int(sample) < len(self.reader) for sample, _ in said["bad"]):
            return False
        self.bad[number] = [Bad(int(sample), str(what)) for sample, what in said["bad"]]
        return True

    def name(self, sample: int) -> str:
        return self.reader.name(sample)


class _Opened(NamedTuple):
    """What a worker knows. rows: of each shard; each: samples of a unit without shards."""

    data: Index | Reader
    rows: list[Longs]
    each: int


@once
def opened(text: str) -> _Opened:
    """In a worker. Raises ConversionError, SourceError."""
    said = json.loads(text)
    data = verify.prepare(said["path"])
    got = "" if isinstance(data, Damaged) else seen.stamp_of(data)
    seen.check(said["path"], got, said["seen"])
    assert not isinstance(data, Damaged)
    rows = verify.rows_of(data) if isinstance(data, Index) else []
    return _Opened(data, rows, int(said["each"]))


def make(text: str, order: Order, telling: Telling) -> Json:
    """In a worker: one unit."""
    data, rows, each = opened(text)
    number = order.number
    if isinstance(data, Index):
        mine = rows[number]
        inside = read_and_check(data, number, mine, telling.advance, telling.alive)
        beside = check_sidecar(data, number, mine, telling.alive) if data.sidecars else []
        return {
            "shard": [damage[1:] for damage in inside],
            "sidecar": [damage[1:] for damage in beside],
        }
    numbers = range(number * each, min((number + 1) * each, len(data)))
    return {"bad": list(verify.bad_in(data, numbers, telling.advance, telling.stop, telling.ask))}
