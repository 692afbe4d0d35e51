"""Make again what is damaged in a converted data set: only the shards and sidecars that verify
names, from the source.

Each file is put in place by one rename, and only if it has the checksum that the index says: the
data set is never less whole than before.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fastload.conversion import commits, editing, mending, target, verify, workers
from fastload.conversion.mending import Lying, MissingError, Older, Source
from fastload.conversion.readers.base import Reader
from fastload.conversion.verify_shards import go_on
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError, listed
from fastload.files.below import Folder
from fastload.files.names import Inner
from fastload.sources import arrow
from fastload.sources.shard_index import INDEX, REMEDY, Index
from fastload.sources.staging import local_only


@dataclass(frozen=True)
class RepairSummary:
    """What was made again."""

    files: tuple[str, ...]  # names of shards and sidecars
    samples: int  # taken from the source
    damages: int  # that verify had found


def run(
    where: str,
    reader: Reader,
    edits: editing.Edits = editing.UNCHANGED,
    count: int | None = None,
    advance: Advance = workers.ignore,
) -> RepairSummary:
    """Mend the data set at `where` from the samples of `reader`, which have the keys that they had
    when it was converted.

    edits: those of the conversion. Raises ConversionError, with what cannot be mended; the rest is
        mended all the same.
    """
    index = open_index(where)
    report = verify.verify(index, count, advance)
    source = Source(reader, edits, transcode=index.transcoded is not None)
    return mend(where, index, report, Mender(index, source))


class Again(NamedTuple):
    """What is made again of a shard and its sidecar."""

    number: int
    shard: bool
    sidecar: bool


@dataclass
class Mended:
    """What has become of them: temporary names; None: it was not asked for, or cannot be made.

    missing: why the shard cannot be made; fetched: files that came from the source.
    """

    shard: str | None = None
    sidecar: str | None = None
    missing: str = ""
    fetched: int = 0


class Menders(Protocol):
    """Who makes files again."""

    def mend(self, folder: Folder, wanted: Sequence[Again], done: "Done") -> None:
        """In any order. done: is told each, whose files lie in the folder.

        Raises ConversionError, OSError.
        """


Done = Callable[[Again, Mended], None]


def mend(where: str, index: Index, report: verify.Report, menders: Menders) -> RepairSummary:
    """Make again what the report names. Raises ConversionError as `run`."""
    names = {os.path.basename(damage.file) for damage in report.damages}
    if not names:
        return RepairSummary((), 0, 0)
    repair = _Repair(index)
    repair.run(names, menders)
    if repair.problems:
        raise ConversionError(
            f"{where}: {len(repair.mended)} files mended, {len(repair.problems)} not\n"
            f"{listed(repair.problems)}"
        )
    return RepairSummary(tuple(repair.mended), repair.fetched, len(report.damages))


def open_index(where: str) -> Index:
    """Of a data set that can be mended. Raises ConversionError, SourceError."""
    index = verify.prepare(local_only(where))
    if isinstance(index, Index):
        return index
    what = (
        str(index.damages[0])
        if isinstance(index, verify.Damaged)
        else f"{where}: is no converted data set"
    )
    raise ConversionError(f"{what}; convert the source again, with --overwrite")


class Mender:
    """The `Menders` of this thread: one file after the other."""

    def __init__(self, index: Index, source: Source) -> None:
        self.index, self.source = index, source
        self.rows, self.older = verify.rows_of(index), Older(index)

    def mend(self, folder: Folder, wanted: Sequence[Again], done: Done) -> None:
        for again in wanted:
            done(again, self.one(folder, again))

    def one(self, folder: Folder, again: Again, check: Callable[[], None] = go_on) -> Mended:
        """check: asked between two samples and two reads; raises to give up. Raises OSError."""
        index, number, done = self.index, again.number, Mended()
        rows, path = self.rows[number], os.path.join(index.where, index.shards[number].name)
        lying = self.older.lying(number, rows)
        if again.shard:
            try:
                entry, done.fetched = mending.shard(
                    folder, index, number, lying, self.source, check
                )
                done.shard, path = entry.name, entry.path
            except MissingError as error:
                done.missing = str(error)
        if again.sidecar:
            held = [lying]
            if len(lying) > len(rows):
                held.append([Lying(index, row) for row in rows.tolist()])
            made = mending.sidecar(folder, index, number, path, held, check)
            done.sidecar = made.name if made else None
        return done


@dataclass
class _Repair:
    """What is made again, and what cannot be.

    mended: names of files; problems: one line each; fetched: files taken from the source.
    """

    index: Index
    mended: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    fetched: int = 0

    def run(self, names: set[str], menders: Menders) -> None:
        """Make these files again. Each is put in its place as soon as it is made."""
        index = self.index
        shards = {number for number, file in enumerate(index.shards) if file.name in names}
        sidecars = {number for number, file in enumerate(index.sidecars) if file.name in names}
        needed = sum(index.shards[number].bytes for number in shards) + sum(
            index.sidecars[number].bytes for number in sidecars
        )
        wanted = [
            Again(number, number in shards, number in sidecars)
            for number in sorted(shards | sidecars)
        ]
        found = dict[Again, Mended]()
        with target.being_extended(index.where, needed) as folder:

            def put(again: Again, done: Mended) -> None:
                self._put(folder, again, done)
                found[again] = done

            self._check_same()
            menders.mend(folder, wanted, put)
            commits.discard(folder)
        for again in wanted:
            self._tell_shard(again, found[again])
        for again in wanted:
            self._tell_sidecar(again, found[again])

    def _check_same(self) -> None:
        """Nobody could change it since the folder is held. Raises ConversionError where somebody
        has before that: sidecars, say, have other bytes now.
        """
        index = self.index
        _, checksum = arrow.open_checked(os.path.join(index.where, INDEX), REMEDY)
        if checksum != index.checksum:
            raise ConversionError(
                f"{index.where}: was changed while it was verified; repair it again"
            )

    def _put(self, folder: Folder, again: Again, done: Mended) -> None:
        self.fetched += done.fetched
        for made, files in ((done.shard, self.index.shards), (done.sidecar, self.index.sidecars)):
            if made is not None:
                mending.put(folder, Inner(made), files[again.number].name)

    def _tell_shard(self, again: Again, done: Mended) -> None:
        name = self.index.shards[again.number].name
        if done.shard is not None:
            self.mended.append(name)
        elif again.shard:
            self.problems.append(f"{os.path.join(self.index.where, name)}: {done.missing}")

    def _tell_sidecar(self, again: Again, done: Mended) -> None:
        if not again.sidecar:
            return
        name = self.index.sidecars[again.number].name
        if done.sidecar is not None:
            self.mended.append(name)
        else:
            self.problems.append(
                f"{os.path.join(self.index.where, name)}: cannot be made as it was; run fastload "
                f"index {self.index.where}"
            )
