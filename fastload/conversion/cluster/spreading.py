"""All parts of a job, made by the workers of a fleet; and those that lie there from an earlier
run.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from fastload.conversion import parts, store_units
from fastload.conversion.cluster import drop
from fastload.conversion.cluster.on import On
from fastload.conversion.cluster.recipe import Recipe, digest, hold_of, recipe_of
from fastload.conversion.cluster.report import Spread
from fastload.conversion.parts import Bad, Written
from fastload.conversion.parts_writer import Job, Noted, fails
from fastload.conversion.store_target import OWNER, StoreHold
from fastload.conversion.target import Hold
from fastload.conversion.workers import Advance
from fastload.files.below import Folder
from fastload.spec import Json


class Place(NamedTuple):
    """Where finished units are taken from: the drop, or a store."""

    hold: Hold
    drop: Folder | None

    def take(self, number: int, said: Json) -> Written | None:
        """Raises OSError, LookupError, TypeError, ValueError."""
        if isinstance(self.hold, StoreHold):
            return store_units.adopt(self.hold, parts.unpack(said, self.hold.folder))
        there = drop.read(self.drop, number, said["job"]) if self.drop else None
        return drop.adopt(self.hold, self.drop, number, there) if self.drop and there else None


@contextlib.contextmanager
def placed(job: Job, hold: Hold) -> Iterator[tuple[Recipe, Place]]:
    """A recipe for workers, and where they put what they make."""
    recipe = recipe_of(job)
    if isinstance(hold, StoreHold):
        owner = hold.at.read(OWNER).decode()
        yield replace(recipe, owner=owner), Place(hold, None)
        return
    hold_of(job, job.writer)
    with drop.make(hold) as folder:
        path = os.path.abspath(folder.path)
        yield replace(recipe, drop=path), Place(hold, folder)


@dataclass
class Made:
    """The `Results` of a conversion: parts, which are noted.

    failing: a sample is bad, and that is an error.
    """

    job: Job
    place: Place
    note: Noted
    failing: bool = False
    parts: dict[int, Written] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.job.where

    @property
    def write(self) -> bool:
        return not self.failing

    def take(self, number: int, said: Json, worker: str) -> bool:
        whole = said.get("whole")
        part = self.place.take(number, said) if whole else parts.unpack(said, "")
        part = planned(self.job, number, part) if part else None
        if part is None:
            return False
        if fails(self.job, part.bad):
            self.failing = True
        elif whole:
            self.note.made(number, part, worker)
        self.parts[number] = part
        return True

    def name(self, sample: int) -> str:
        return self.job.reader.name(sample)


def spread_parts(
    job: Job, note: Noted, done: dict[int, Written], advance: Advance, on: On
) -> list[Written]:
    """All planned parts under temporary names.

    Once a sample is bad and that is an error, the rest is only checked.
    """
    for part in done.values():
        advance(len(part.samples), int(part.size.sum()))
    left = [number for number in range(job.plan.shards) if number not in done]
    on.spread = Spread(on.fleet.name)
    made: dict[int, Written] = {}
    if left:
        with placed(job, note.hold) as (recipe, place):
            results = Made(job, place, note)
            results.failing = fails(job, [bad for part in done.values() for bad in part.bad])
            try:
                on.run(recipe.work(), left, results, advance)
            except BaseException:
                note.hold.strange = note.hold.keep  # what was noted stays, for --resume
                raise
            made = results.parts
    everything = {**done, **made}
    return [everything[number] for number in range(job.plan.shards)]


def take_left(
    job: Job, note: Noted, done: dict[int, Written], given: Sequence[Json] = ()
) -> dict[int, Written]:
    """Units that other processes have made and that the journal does not know yet; noted.

    given: what they said of those in a store. Raises OSError, StoreError.
    """
    hold, taken, wanted = note.hold, dict[int, Written](), digest(job)

    def take(place: Place, number: int, said: Json) -> None:
        if number in done or number in taken or not 0 <= number < job.plan.shards:
            return
        part = taken_from(job, place, number, said)
        if part and job.writer.intact(part):
            note.made(number, part, "")
            taken[number] = part

    for name in drop.drops(hold):
        if hold.at.is_folder(name):
            with hold.at.folder(name) as folder:
                for number, said in drop.found(folder, wanted):
                    take(Place(hold, folder), number, said)
    if isinstance(hold, StoreHold):
        for said in given:
            if said.get("job") == wanted and said.get("whole"):
                take(Place(hold, None), int(said["part"]), said)
    return taken


def taken_from(job: Job, place: Place, number: int, said: Json) -> Written | None:
    """A unit, if it is whole and holds what was planned. Raises OSError."""
    try:
        part = place.take(number, said)
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    return planned(job, number, part) if part else None


def planned(job: Job, number: int, part: Written) -> Written | None:
    """The part, with bad samples called as this process calls them; None: it holds other samples
    than planned.
    """
    bad = [each.sample for each in part.bad if not each.mended]
    if not np.array_equal(
        np.sort(np.concatenate([part.samples, np.array(bad, np.int64)])),
        np.sort(job.plan.samples(number)),
    ):
        return None
    return replace(
        part,
        bad=tuple(
            Bad(each.sample, job.reader.name(each.sample), each.reason, each.mended)
            for each in part.bad
        ),
    )
