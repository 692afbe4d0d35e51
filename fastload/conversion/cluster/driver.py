"""The units of a job, given to the workers of a fleet and taken from them."""

import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np

from fastload.conversion import parts
from fastload.conversion.cluster import fleet, leases
from fastload.conversion.cluster.fleet import Event, Fleet, Order
from fastload.conversion.cluster.leases import Held, Leases
from fastload.conversion.cluster.recipe import Recipe
from fastload.conversion.cluster.report import Say, Spread
from fastload.conversion.parts import Bad, Written
from fastload.conversion.parts_writer import Job, fails
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError
from fastload.spec import Json

TICK = 0.5  # s between two looks at the leases
FAILURES = 3  # in a row, of one worker: it is given nothing more
# Takes over what a unit's worker has written: the part, or None where it is not whole
Take = Callable[[int, Json], Written | None]
log = logging.getLogger("fastload.conversion")


@dataclass
class Driver:
    """One run of a job on a fleet.

    take: moves a unit that was made to where the conversion has it; note: writes the journal.
    """

    job: Job
    fleet: Fleet
    recipe: Recipe
    take: Take
    note: Callable[[int, Written, str], None]
    advance: Advance
    say: Say
    leases: Leases
    spread: Spread
    made: dict[int, Written] = field(default_factory=dict)
    failing: bool = False
    idle: list[str] = field(default_factory=list)
    has: dict[str, tuple[int, float]] = field(default_factory=dict)  # worker: unit, since when
    counted: dict[str, list[int]] = field(default_factory=dict)  # images, bytes of its unit so far
    at: dict[str, int] = field(default_factory=dict)  # the sample that a careful worker is at
    failures: dict[str, int] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)

    def run(self, units: int) -> dict[int, Written]:
        """Make all units. Raises ConversionError."""
        with closing(self.fleet):
            self.fleet.begin(self.recipe, units)
            while not self.leases.all_made:
                for event in self.fleet.wait(TICK):
                    self._handle(event, time.monotonic())
                self._look(time.monotonic())
        self.spread.doubled = self.leases.doubled
        return self.made

    def _look(self, now: float) -> None:
        """Take units from workers that hang, and give units to those that are free."""
        for held in self.leases.expired(now):
            how = f"said nothing for {self.leases.lease:.0f} s and was ended"
            self._free(held.worker, now)
            self.fleet.end(held.worker)
            self._lost(held, how)
        for worker in list(self.idle):
            number = self.leases.take(worker, now)
            if number is None:
                break
            self.idle.remove(worker)
            self.has[worker] = number, now
            self.at.pop(worker, None)
            careful = self.leases.tries(number) > 0
            self.fleet.give(worker, Order(number, not self.failing, careful))
            log.info("part %d: given to worker %s", number, worker)

    def _handle(self, event: Event, now: float) -> None:
        worker = event.worker
        if event.kind == fleet.SIGN:
            self._sign(event, now)
            return
        mine = self.has.get(worker)
        self._free(worker, now)
        if event.kind == fleet.MADE:
            self.failures.pop(worker, None)
            self._made(event, now)
        elif event.kind == fleet.FAILED and (mine or event.said.get("typed")):
            self._failed(event)
        elif event.kind == fleet.GONE:
            self.retired.discard(worker)
            self._gone(worker, mine, str(event.said.get("error", "ended")))
            return
        elif event.kind == fleet.FAILED:  # before it was ready, which it says next
            return
        elif mine:  # it was stopped
            self._uncount(worker)
            self.leases.lost(Held(mine[0], worker), counts=False)
        if self.failures.get(worker, 0) < FAILURES:
            self.idle.append(worker)
        else:
            self._retire(worker)

    def _free(self, worker: str, now: float) -> None:
        """It has no unit any more."""
        if mine := self.has.pop(worker, None):
            self.spread.of(worker).busy += now - mine[1]
        if worker in self.idle:
            self.idle.remove(worker)

    def _sign(self, event: Event, now: float) -> None:
        worker, said = event.worker, event.said
        if worker not in self.has or self.has[worker][0] != event.number:
            return
        self.leases.sign(Held(event.number, worker), now)
        if "sample" in said:
            self.at[worker] = int(said["sample"])
        images, size = int(said.get("images", 0)), int(said.get("bytes", 0))
        if images:
            self.spread.of(worker).images += images
            self.spread.of(worker).bytes += size
            so_far = self.counted.setdefault(worker, [0, 0])
            so_far[0] += images
            so_far[1] += size
            self.advance(images, size)

    def _uncount(self, worker: str) -> None:
        """What it has done of its unit is done again by another."""
        images, size = self.counted.pop(worker, (0, 0))
        self.advance(-images, -size)

    def _made(self, event: Event, now: float) -> None:
        number, worker = event.number, event.worker
        part = self._taken(number, event.said) if self.leases.wants(number) else None
        if part is None:
            if self.leases.wants(number):  # its machine has another folder, or other versions
                self._lost(Held(number, worker), "has put nothing whole into the shared folder")
            self._uncount(worker)
            return
        others = [other for other, (unit, _) in self.has.items() if unit == number]
        self.leases.made(Held(number, worker), now)
        self.counted.pop(worker, None)
        if fails(self.job, part.bad):
            self.failing = True
        elif event.said.get("whole"):
            self.note(number, part, worker)
        self.made[number] = part
        self.spread.of(worker).units += 1
        log.info("part %d: made by worker %s", number, worker)
        for other in others:
            self.fleet.stop(other)

    def _taken(self, number: int, said: Json) -> Written | None:
        """The part, if it holds what was planned."""
        try:
            part = self.take(number, said) if said.get("whole") else parts.unpack(said, "")
        except (LookupError, TypeError, ValueError, AttributeError):
            return None
        return planned(self.job, number, part) if part else None

    def _failed(self, event: Event) -> None:
        worker, said = event.worker, event.said
        text = str(said.get("error", "failed"))
        if said.get("typed"):
            raise ConversionError(text)
        self.failures[worker] = self.failures.get(worker, 0) + 1
        self._lost(Held(event.number, worker), f"failed ({text})")

    def _gone(self, worker: str, mine: tuple[int, float] | None, how: str) -> None:
        if mine:
            self._lost(Held(mine[0], worker), how)
        else:
            log.info("worker %s %s", worker, how)
            self.spread.lost.append(f"worker {worker} {how}")

    def _retire(self, worker: str) -> None:
        self.say(f"worker {worker}: failed {FAILURES} times in a row; it is given nothing more")
        self.leases.forgive(worker)
        self.retired.add(worker)
        if len(self.retired) >= self.fleet.size:
            raise ConversionError(
                f"{self.job.where}: all workers fail, the last one: {self.spread.lost[-1]}; mend "
                "that, and go on with --resume"
            )

    def _lost(self, held: Held, how: str) -> None:
        """A worker has not made its unit. Raises ConversionError if that is so again and again."""
        self._uncount(held.worker)
        at = self.at.pop(held.worker, None)
        tries = self.leases.lost(held)
        line = f"worker {held.worker} {how} at part {held.number}"
        log.warning("%s", line)
        self.spread.lost.append(line)
        self.spread.again += 1
        if tries >= leases.TRIES:
            which = f", the last at {self.job.reader.name(at)}" if at is not None else ""
            raise ConversionError(
                f"{self.job.where}: part {held.number} has failed on {tries} workers{which}: "
                f"worker {held.worker} {how}; leave that sample out of the source, or mend what "
                "the text says, and go on with --resume"
            )
        self.say(f"{line}; it is made again")


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
