"""`fastload repair` by other processes. A unit is a shard, with its sidecar, where one is damaged.

A worker writes into the folder of the data set, under names that nobody can guess, and says them;
whoever leads puts each in its place.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from fastload.conversion import repair, verify, workers
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.recipe import absolute
from fastload.conversion.cluster.work import Telling, Work, once
from fastload.conversion.editing import UNCHANGED, Edits
from fastload.conversion.mending import Source
from fastload.conversion.readers import ANYTHING, Choice, open_reader
from fastload.conversion.readers.base import samples_stamp
from fastload.conversion.repair import Again, Done, Mended, Mender, RepairSummary
from fastload.conversion.spread import seen
from fastload.conversion.spread import verify as verifying
from fastload.conversion.workers import Advance
from fastload.files.below import Folder
from fastload.files.below import opened as folder_at
from fastload.files.names import Inner
from fastload.sources.shard_index import Index
from fastload.sources.shards import TEMPORARY
from fastload.spec import Json

KIND = "repair"  # of works.KINDS


def run(
    where: str,
    source: str,
    on: On,
    choice: Choice = ANYTHING,
    edits: Edits = UNCHANGED,
    advance: Advance = workers.ignore,
) -> RepairSummary:
    """What `repair.run` does. Raises as it does, and UsageError."""
    path, origin = seen.path_for_all("repair", where), seen.path_for_all("repair", source)
    reader, index = open_reader(source, choice), repair.open_index(where)
    report = verifying.run(where, index, on, advance)
    said = {
        "path": path, "seen": seen.stamp_of(index),
        "source": origin, "shown": reader.where, "from": f"{samples_stamp(reader):016x}",
        "choice": asdict(absolute(choice)), "edits": asdict(edits),
    }  # fmt: skip
    return repair.mend(where, index, report, _Workers(index, said, on))


@dataclass
class _Workers:
    """`repair.Menders`."""

    index: Index
    said: Json
    on: On

    def mend(self, folder: Folder, wanted: Sequence[Again], done: Done) -> None:
        work = Work(KIND, json.dumps({**self.said, "wanted": wanted}))
        results = _Results(self.index, folder, wanted, done)
        self.on.run(work, range(len(wanted)), results, workers.ignore)


@dataclass
class _Results:
    """`Results`: files that were made again."""

    index: Index
    folder: Folder
    wanted: Sequence[Again]
    done: Done
    write: bool = True

    @property
    def where(self) -> str:
        return self.index.where

    def take(self, number: int, said: Json, _: str) -> bool:
        again, done = self.wanted[number], Mended(**said["mended"])
        files = [(done.shard, self.index.shards[again.number].bytes)]
        if again.sidecar:
            files.append((done.sidecar, self.index.sidecars[again.number].bytes))
        if not all(name is None or self._lies(Inner(name), size) for name, size in files):
            return False
        self.done(again, done)
        return True

    def _lies(self, name: Inner, size: int) -> bool:
        folder = self.folder
        return name.startswith(TEMPORARY) and folder.is_plain(name) and folder.size(name) == size

    def name(self, sample: int) -> str:
        return f"{self.where}, shard {sample}"


class _Opened(NamedTuple):
    """What a worker knows."""

    mender: Mender
    wanted: list[Again]


@once
def opened(text: str) -> _Opened:
    """In a worker. Raises ConversionError, SourceError."""
    said = json.loads(text)
    index = verify.prepare(said["path"])
    got = seen.stamp_of(index) if isinstance(index, Index) else ""
    seen.check(said["path"], got, said["seen"])
    assert isinstance(index, Index)
    choice = dict(said["choice"])
    reader = open_reader(said["source"], Choice(renewed=tuple(choice.pop("renewed")), **choice))
    seen.check(said["source"], f"{samples_stamp(reader):016x}", said["from"])
    source = Source(
        reader, Edits(**said["edits"]), transcode=index.transcoded is not None,
        where=said["shown"],
    )  # fmt: skip
    return _Opened(Mender(index, source), [Again(*each) for each in said["wanted"]])


def make(text: str, order: Order, telling: Telling) -> Json:
    """In a worker: one unit."""
    mender, wanted = opened(text)
    telling.alive()
    with folder_at(os.path.abspath(mender.index.where)) as folder:
        done = mender.one(folder, wanted[order.number], telling.alive)
    return {"mended": asdict(done)}
