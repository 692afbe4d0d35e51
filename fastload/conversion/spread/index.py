"""`fastload index` by other processes. A unit is a shard, or a run of samples.

A worker puts what it has built into the folder that the indexes go to, under a name that nobody can
guess, and says that name. What nobody asks for any more is removed before the commit.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fastload import _native
from fastload.conversion import indexing, seek_writer, shards_writer
from fastload.conversion.cluster.fleet import Order
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.work import Telling, Work, once
from fastload.conversion.index_folder import Build, Run
from fastload.conversion.readers import BetonReader, Reader, ShardsReader
from fastload.conversion.seek_writer import Sidecar
from fastload.conversion.spread import seen
from fastload.conversion.verify import rows_of
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError
from fastload.files.below import Folder, own, temporary
from fastload.files.below import opened as folder_at
from fastload.files.names import Inner
from fastload.sources import seek, seek_merge
from fastload.sources.shards import TEMPORARY
from fastload.spec import Json, Longs

KIND = "index"  # of works.KINDS
EACH = 256  # samples of a unit, where there are no shards
SIDECAR = re.compile(re.escape(TEMPORARY) + r"[0-9]{6,}-[0-9a-f]{16}\.seek")


class Workers:
    """`indexing.Makers`. where: what was given to `prepare`; each: samples of a unit."""

    def __init__(self, on: On, where: str, each: int = EACH) -> None:
        self.on, self.path, self.each = on, seen.path_for_all("index", where), each

    def sidecars(
        self, reader: ShardsReader, rows: list[Longs], folder: Folder, step: int, advance: Advance
    ) -> list[Sidecar]:
        made = _Sidecars(reader, rows, folder)
        self.on.run(self._work(reader, folder, step), range(len(rows)), made, advance)
        return [made.sidecars[number] for number in range(len(rows))]

    def build(self, reader: Reader, step: int, advance: Advance) -> Build:
        def build(folder: Folder, add: Callable[[Run], None]) -> None:
            units = -(-len(reader) // self.each)
            with self._runs(folder) as at:
                work = self._work(reader, at, step)
                self.on.run(work, range(units), _Runs(reader, at, add, self.each), advance)

        return build

    @contextmanager
    def _runs(self, folder: Folder) -> Iterator[Folder]:
        """Where runs lie until they are copied. Not in `folder` if nobody holds it meanwhile."""
        if not self.on.place:
            yield folder
            return
        with folder_at(self.on.place) as at:
            yield at

    def _work(self, reader: Reader, folder: Folder, step: int) -> Work:
        # The name of such a folder is ours, and not the user's
        inside = isinstance(reader, BetonReader) and folder.path != self.on.place
        said = {
            "path": self.path, "seen": seen.stamp_of(reader), "each": self.each, "step": step,
            "folder": os.path.abspath(folder.path), "inside": inside,
        }  # fmt: skip
        return Work(KIND, json.dumps(said))


@dataclass
class _Sidecars:
    """`Results`: a sidecar of each shard, under a temporary name."""

    reader: ShardsReader
    rows: list[Longs]
    folder: Folder
    write: bool = True
    sidecars: dict[int, Sidecar] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.reader.where

    def take(self, number: int, said: Json, _: str) -> bool:
        name = Inner(said["name"])
        offset, size = (np.array(said[each], np.int64) for each in ("offset", "size"))
        if not (
            SIDECAR.fullmatch(name)
            and self.folder.is_plain(name)
            and self.folder.size(name) == said["bytes"]
            and len(offset) == len(size) == len(self.rows[number])
        ):
            return False
        self.sidecars[number] = Sidecar(
            self.folder.at(name), said["bytes"], said["checksum"], offset, size,
            Counter(said["reasons"]),
        )  # fmt: skip
        return True

    def name(self, sample: int) -> str:
        return self.reader.name(sample)


class _Run(NamedTuple):
    """Of index_folder.Run."""

    indexes: list[bytes]
    size: list[int]
    reasons: "Counter[str]"


@dataclass
class _Runs:
    """`Results`: the indexes of each run of samples, in a file that is removed once they are added,
    in the samples' order.
    """

    reader: Reader
    folder: Folder
    add: Callable[[Run], None]
    each: int
    write: bool = True
    early: dict[int, Json] = field(default_factory=dict)  # before its turn
    next: int = 0

    @property
    def where(self) -> str:
        return self.reader.where

    def take(self, number: int, said: Json, _: str) -> bool:
        count = min(self.each, len(self.reader) - number * self.each)
        size = list(map(int, said["size"]))
        if len(size) != count or min(size) < 0 or sum(size) != said["bytes"]:
            return False
        if self._content(said) is None:
            return False
        self.early[number] = said
        while self.next in self.early:
            self._add(self.early.pop(self.next))
            self.next += 1
        return True

    def _content(self, said: Json) -> bytes | None:
        """What the worker has written; None: it does not lie here as it was."""
        name = Inner(said["name"])
        there = seek_merge.LEFT.fullmatch(name) and self.folder.is_plain(name)
        if not there or self.folder.size(name) != said["bytes"]:
            return None
        content = self.folder.read(name)
        return content if _native.xxh3(content) == said["checksum"] else None

    def _add(self, said: Json) -> None:
        content = self._content(said)
        if content is None:
            raise ConversionError(
                f"{self.folder.at(said['name'])}: was removed while it was needed; run it again"
            )
        self.add(_Run([content], said["size"], Counter(said["reasons"])))
        self.folder.remove(Inner(said["name"]))

    def name(self, sample: int) -> str:
        return self.reader.name(sample)


class _Opened(NamedTuple):
    """What a worker knows. rows: of each shard."""

    reader: indexing.Readable
    rows: list[Longs]
    said: Json


@once
def opened(text: str) -> _Opened:
    """In a worker. Raises ConversionError, SourceError."""
    said = json.loads(text)
    reader = indexing.prepare(said["path"])
    seen.check(said["path"], seen.stamp_of(reader), said["seen"])
    rows = rows_of(reader.source.index) if isinstance(reader, ShardsReader) else []
    return _Opened(reader, rows, said)


def make(text: str, order: Order, telling: Telling) -> Json:
    """In a worker: one unit."""
    reader, rows, said = opened(text)
    number, each = order.number, said["each"]
    numbers = (
        rows[number].tolist()
        if isinstance(reader, ShardsReader)
        else range(number * each, min((number + 1) * each, len(reader)))
    )
    builder = seek_writer.built(reader, numbers, said["step"], *telling)
    with _folder(said["folder"], inside=said["inside"]) as folder:
        if isinstance(reader, ShardsReader):
            entry = seek_writer.entry_beside(shards_writer.temporary(folder, number))
            sidecar = builder.finish(entry)
            return {
                "name": entry.name, "bytes": sidecar.bytes, "checksum": sidecar.checksum,
                "offset": builder.offset, "size": builder.size, "reasons": builder.reasons,
            }  # fmt: skip
        content, name = b"".join(builder.indexes), temporary(seek.DATA)
        folder.write(name, content, sync=False)  # it is copied
        return {
            "name": name, "bytes": len(content), "checksum": _native.xxh3(content),
            "size": builder.size, "reasons": builder.reasons,
        }  # fmt: skip


@contextmanager
def _folder(path: str, *, inside: bool) -> Iterator[Folder]:
    """The folder that the driver holds. inside: its last part is no link."""
    if not inside:
        with folder_at(path) as folder:
            yield folder
        return
    parent, name = os.path.split(path)
    with folder_at(parent) as above, above.folder(own(name)) as folder:
        yield folder
