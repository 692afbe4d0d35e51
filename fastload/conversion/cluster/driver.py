"""The units of a job, given to the workers of a fleet and taken from them."""

import logging
import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from fastload.conversion.cluster import fleet, leases
from fastload.conversion.cluster.fleet import Event, Fleet, Order
from fastload.conversion.cluster.leases import Held, Leases
from fastload.conversion.cluster.report import Say, Spread
from fastload.conversion.cluster.work import Work
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError, UsageError
from fastload.spec import Json

TICK = 0.5  # s between two looks at the leases
FAILURES = 3  # in a row, of one worker: it is given nothing more
log = logging.getLogger("fastload.conversion")


class Results(Protocol):
    """What becomes of the units of a job."""

    @property
    def where(self) -> str:
        """What the job is about, for messages."""

    @property
    def write(self) -> bool:
        """Whether units that are given from now on are to be written, or only checked."""

    def take(self, number: int, said: Json, worker: str) -> bool:
        """Take over what a worker says of a unit, and what it has written; whether that is whole.

        Raises LookupError, TypeError, ValueError for what no worker of ours says; OSError.
        """

    def name(self, sample: int) -> str:
        """Of a sample, for messages."""


@dataclass
class Driver:
    """One run of a job on a fleet."""

    results: Results
    fleet: Fleet
    work: Work
    advance: Advance
    say: Say
    leases: Leases
    spread: Spread
    idle: list[str] = field(default_factory=list)
    has: dict[str, tuple[int, float]] = field(default_factory=dict)  # worker: unit, since when
    counted: dict[str, list[int]] = field(default_factory=dict)  # images, bytes of its unit so far
    at: dict[str, int] = field(default_factory=dict)  # the sample that a careful worker is at
    failures: dict[str, int] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)

    def run(self, units: int) -> None:
        """Make all units. Raises ConversionError, UsageError."""
        doubled = self.spread.doubled
        with closing(self.fleet):
            self.fleet.begin(self.work, units)
            while not self.leases.all_made:
                for event in self.fleet.wait(TICK):
                    self._handle(event, time.monotonic())
                self._look(time.monotonic())
        self.spread.doubled = doubled + self.leases.doubled

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
            self.fleet.give(worker, Order(number, self.results.write, careful))
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
        if not self.leases.wants(number):
            self._uncount(worker)
            return
        if not self._taken(event):  # its machine has another folder, or other versions
            self._lost(Held(number, worker), "has put nothing whole into the shared folder")
            return
        others = [other for other, (unit, _) in self.has.items() if unit == number]
        self.leases.made(Held(number, worker), now)
        self.counted.pop(worker, None)
        self.spread.of(worker).units += 1
        log.info("part %d: made by worker %s", number, worker)
        for other in others:
            self.fleet.stop(other)

    def _taken(self, event: Event) -> bool:
        try:
            return self.results.take(event.number, event.said, event.worker)
        except (LookupError, TypeError, ValueError, AttributeError):
            return False

    def _failed(self, event: Event) -> None:
        worker, said = event.worker, event.said
        text = str(said.get("error", "failed"))
        if said.get("typed"):
            raise (UsageError if said.get("usage") else ConversionError)(text)
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
                f"{self.results.where}: all workers fail, the last one: {self.spread.lost[-1]}; "
                f"mend that, and {self.work.again}"
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
            which = f", the last at {self.results.name(at)}" if at is not None else ""
            raise ConversionError(
                f"{self.results.where}: part {held.number} has failed on {tries} workers{which}: "
                f"worker {held.worker} {how}; leave that sample out of the source, or mend what "
                f"the text says, and {self.work.again}"
            )
        self.say(f"{line}; it is made again")
