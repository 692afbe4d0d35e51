"""Leases as files in the drop, for workers that have a shared folder and nobody who leads them.

    lease-000007    who makes unit 7; its time is that of the last sign of progress
    second-000007   who makes it as well, because the first is slow

The rules are those of leases.py. Two workers that take one unit at the same moment both make it,
and the first counts. All times are the file system's, so machines need not agree on the hour.
"""

import contextlib
import json
import os
import secrets
import statistics
import time
from collections import deque
from collections.abc import Callable

from fastload.conversion.cluster import drop, leases
from fastload.files.below import Folder
from fastload.files.names import Inner
from fastload.spec import Json

SIGN = 5.0  # s between two touches of a lease
WAIT = 2.0  # s between two looks for a unit, where all are leased
FIRST, SECOND = "lease", "second"


class Board:
    """What one worker sees of the leases.

    units: of the job; first: where it begins to look, so that workers meet seldom.
    """

    def __init__(
        self,
        folder: Folder,
        units: int,
        worker: str,
        first: int = 0,
        lease: float = leases.LEASE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.folder, self.units, self.worker = folder, units, worker
        self.first, self.lease, self.sleep = first % units, lease, sleep
        self.times: deque[float] = deque(maxlen=leases.KNOWN)
        self.mine: Inner | None = None
        self.since = self.signed = 0.0
        self.clock = Inner(f"clock-{secrets.token_hex(8)}")

    def take(self) -> int | None:
        """A unit to make; waits as long as another worker may still fail. None: nothing is left."""
        while True:
            names = set(self.folder.names())
            left = [number for number in range(self.units) if drop.name_of(number) not in names]
            left.sort(key=lambda number: (number < self.first, number))
            for number in left:
                if _name(FIRST, number) not in names and self._lease(FIRST, number, 0):
                    return number
            begun = [each for each in map(self._lease_of, left) if each]
            if len(begun) == len(left) and all(map(self._is_given_up, begun)):
                return None
            for each in begun:
                if self._takes(each):
                    return int(each["number"])
            self.sleep(WAIT)

    def _lease_of(self, number: int) -> Json | None:
        """What is known of the workers that have it; None: it is being written."""
        name, now = _name(FIRST, number), self._now()
        try:
            ages = [now - self._time(name)]
            with contextlib.suppress(FileNotFoundError):
                ages.append(now - self._time(_name(SECOND, number)))
            tries, since = self._said(name)
        except OSError:
            return None
        except (ValueError, LookupError, TypeError):
            # Its worker was killed, or found a full disk, before it had written what it says
            if ages[0] <= self.lease:
                return None
            tries, since = 0, now - ages[0]
        return {
            "number": number, "tries": tries, "silent": min(ages), "for": now - since,
            "alone": len(ages) == 1,
        }  # fmt: skip

    def _said(self, name: Inner) -> tuple[int, float]:
        """How often its unit had failed, and since when its worker has it."""
        said = json.loads(self.folder.read(name))
        return int(said["tries"]), float(said["since"])

    def _is_given_up(self, each: Json) -> bool:
        """Whether it has failed so often that it is left to the last step."""
        return bool(each["silent"] > self.lease and each["tries"] + 1 >= leases.TRIES)

    def _takes(self, each: Json) -> bool:
        """Whether it takes a unit that another worker has: one that is silent, or slow."""
        number = each["number"]
        if each["silent"] > self.lease:
            given_up = self._is_given_up(each)
            return not given_up and self._lease(FIRST, number, each["tries"] + 1, over=True)
        slow = leases.SLOW * statistics.median(self.times) if self.times else float("inf")
        return bool(each["alone"]) and each["for"] > slow and self._lease(SECOND, number, 0)

    def _lease(self, kind: str, number: int, tries: int, *, over: bool = False) -> bool:
        name, since = _name(kind, number), self._now()
        said = json.dumps({"worker": self.worker, "tries": tries, "since": since}).encode()
        try:
            if over:
                self.folder.replace(name, said, sync=False)
            else:
                self.folder.write(name, said, sync=False)
        except FileExistsError:
            return False
        self.mine, self.first, self.since = name, number + 1, time.monotonic()
        self.signed = self.since
        return True

    def sign(self) -> None:
        """The unit goes on."""
        now = time.monotonic()
        if self.mine is not None and now - self.signed >= SIGN:
            self.signed = now
            with contextlib.suppress(OSError):
                os.utime(self.mine, dir_fd=self.folder.descriptor)

    def made(self) -> None:
        """The unit is made."""
        self.times.append(time.monotonic() - self.since)
        self.mine = None

    def close(self) -> None:
        """Remove what only this worker needs."""
        with contextlib.suppress(OSError):
            self.folder.remove(self.clock)

    def _now(self) -> float:
        self.folder.replace(self.clock, b"", sync=False)
        return self._time(self.clock)

    def _time(self, name: Inner) -> float:
        return os.stat(name, dir_fd=self.folder.descriptor, follow_symlinks=False).st_mtime


def _name(kind: str, number: int) -> Inner:
    return Inner(f"{kind}-{number:06d}")
