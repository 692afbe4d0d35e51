"""Who makes which unit, and until when: no clocks, no processes, only what was said and when.

A unit is leased to a worker and made. The first worker that says so has made it. A lease without a
sign of progress expires, and the unit is given to another. Once no unit is left, a free worker gets
the slowest of those under way as well.
"""

import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

LEASE = 120.0  # s without a sign of progress; a sign is one sample, or one part of an upload
SLOW = 2.0  # times what a unit takes: then a free worker makes it too
TRIES = 4  # of a unit, each of which ended its worker or failed
KNOWN = 101  # units whose times say what one takes


class Held(NamedTuple):
    """A unit that a worker has."""

    number: int
    worker: str


@dataclass
class _Lease:
    since: float
    sign: float  # when its worker last said that it goes on


@dataclass
class Leases:
    """Of the units of one job. Memory is in proportion to the units under way.

    left: those that nobody has begun; lease: s without a sign of progress; doubled: how many were
    given to a second worker.
    """

    left: Iterable[int]
    lease: float = LEASE
    slow: float = SLOW
    doubled: int = 0
    _held: dict[int, dict[str, _Lease]] = field(default_factory=dict)
    _returned: deque[int] = field(default_factory=deque)
    _tries: dict[int, list[str]] = field(default_factory=dict)  # which workers failed at it
    _times: deque[float] = field(default_factory=lambda: deque(maxlen=KNOWN))

    def __post_init__(self) -> None:
        self._next = iter(self.left)
        self._ended = False

    def take(self, worker: str, now: float) -> int | None:
        """A unit for this worker; None: there is none for it now."""
        number = self._fresh(worker)
        if number is None:
            number = self._slowest(worker, now)
            self.doubled += number is not None
        if number is not None:
            self._held.setdefault(number, {})[worker] = _Lease(now, now)
        return number

    def _fresh(self, worker: str) -> int | None:
        """One that nobody has: returned, or not begun; last one at which this worker has failed."""
        others = [each for each in self._returned if worker not in self._tries.get(each, ())]
        if others:
            self._returned.remove(others[0])
            return others[0]
        number = self._begin()
        if number is None and self._returned:
            number = self._returned.popleft()
        return number

    def _begin(self) -> int | None:
        number = None if self._ended else next(self._next, None)
        self._ended = number is None
        return number

    def _slowest(self, worker: str, now: float) -> int | None:
        """The unit that one other worker has had for much longer than a unit takes."""
        if not self._times:
            return None
        limit = now - self.slow * statistics.median(self._times)
        alone = [
            (lease.since, number)
            for number, held in self._held.items()
            if len(held) == 1 and worker not in held
            for lease in held.values()
            if lease.since < limit
        ]
        return min(alone)[1] if alone else None

    def sign(self, held: Held, now: float) -> None:
        """The worker goes on with it."""
        if lease := self._held.get(held.number, {}).get(held.worker):
            lease.sign = now

    def made(self, held: Held, now: float) -> bool:
        """Whether the worker is the first that made it. Then nobody needs it any more."""
        number = held.number
        if number in self._held:
            if mine := self._held[number].get(held.worker):
                self._times.append(now - mine.since)
            del self._held[number]
        elif number in self._returned:  # its lease had expired, and nobody has begun it since
            self._returned.remove(number)
        else:
            return False
        self._tries.pop(number, None)
        return True

    def wants(self, number: int) -> bool:
        """Whether it is still to be made."""
        return number in self._held or number in self._returned

    def lost(self, held: Held, *, counts: bool = True) -> int:
        """The worker makes it no more; how often that unit has failed.

        counts: whether the unit may be the reason.
        """
        held_by = self._held.get(held.number)
        if held_by is None or held_by.pop(held.worker, None) is None:
            return 0
        if counts:
            self._tries.setdefault(held.number, []).append(held.worker)
        if not held_by:
            del self._held[held.number]
            self._returned.append(held.number)
        return self.tries(held.number)

    def tries(self, number: int) -> int:
        """How often it has failed."""
        return len(self._tries.get(number, ()))

    def forgive(self, worker: str) -> None:
        """Units did not fail because of themselves, but because of this worker."""
        self._tries = {
            number: left
            for number, workers in self._tries.items()
            if (left := [each for each in workers if each != worker])
        }

    def expired(self, now: float) -> list[Held]:
        """Those whose workers have said nothing for too long."""
        return [
            Held(number, worker)
            for number, held in self._held.items()
            for worker, lease in held.items()
            if now - lease.sign > self.lease
        ]

    def holders(self, number: int) -> list[str]:
        """Who has it."""
        return list(self._held.get(number, {}))

    @property
    def under_way(self) -> int:
        """Units that somebody has, or that wait to be made once more."""
        return len(self._held) + len(self._returned)

    @property
    def all_made(self) -> bool:
        if not self._ended and not self.under_way and (number := self._begin()) is not None:
            self._returned.append(number)
        return self._ended and not self.under_way
