"""A conversion on many workers, simulated: the lease table is the real one, its workers and its
clock are not.

    python -m benchmarks.conversion.simulate [WORKERS] [IMAGES]

A worker makes a unit in the time that its speed gives, dies, hangs, or is slow. The driver handles
one unit after the other. Its time, the network and the store are what the assumptions say.
`python -m benchmarks.conversion.simulate_real` compares the model with real processes.
"""

import heapq
import itertools
import json
import random
import resource
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass

from fastload.conversion.cluster.leases import LEASE, Held, Leases


@dataclass(frozen=True)
class Assumed:
    """What is not measured by the run itself."""

    workers: int = 1000
    images: int = 1_000_000_000
    per_unit: int = 2400  # images of a shard of 256 MiB
    images_per_s: float = 1500.0  # of one worker
    speeds: float = 0.1  # standard deviation of workers' speeds, as a share
    slow: float = 0.005  # share of workers that are 20 times slower
    slower: float = 20.0
    mean_life: float = 24 * 3600.0  # s until a worker dies, exponential
    hangs: float = 0.1  # share of those deaths that nobody tells of
    restart: float = 60.0  # s until another takes its place
    upload: float = 256e6 / 200e6  # s for the shard to the store, by one worker
    store_units_per_s: float = 400.0  # shards that the store takes per second, of all workers
    driver: float = 0.004  # s of the driver for each unit: its files are moved, the journal synced
    lease: float = LEASE
    tick: float = 5.0  # s between two looks at the leases; the driver looks more often
    seed: int = 0


@dataclass
class Found:
    """Of one simulation."""

    seconds: float = 0.0
    images_per_s: float = 0.0
    ideal_share: float = 0.0  # of what healthy workers of mean speed would do in that time
    units: int = 0
    deaths: int = 0
    hangs: int = 0
    made_again: int = 0
    doubled: int = 0
    most_under_way: int = 0
    driver_busy: float = 0.0  # share of the time
    recovery_s: float = 0.0  # mean, from a worker's end to its unit's next lease
    last_unit_s: float = 0.0  # from the last fresh lease to the end: what stragglers cost


class Simulation:
    """Events in a heap: (time, number, kind, worker, life)."""

    def __init__(self, assumed: Assumed) -> None:
        self.a, self.random = assumed, random.Random(assumed.seed)
        self.units = -(-assumed.images // assumed.per_unit)
        self.leases = Leases(range(self.units), assumed.lease)
        self.found = Found(units=self.units)
        self.events: list[tuple[float, int, str, int]] = []
        self.order = itertools.count()
        self.speed = [self._speed() for _ in range(assumed.workers)]
        self.has: dict[int, int] = {}  # worker: unit
        self.life = [0] * assumed.workers  # events of an earlier life are void
        self.lost_at: dict[int, float] = {}
        self.recovered: list[float] = []
        self.driver_free = self.store_free = self.driver_time = self.last_fresh = 0.0
        self.idle: deque[int] = deque()

    def _speed(self) -> float:
        speed = max(0.3, self.random.gauss(1.0, self.a.speeds))
        return speed / self.a.slower if self.random.random() < self.a.slow else speed

    def at(self, when: float, kind: str, worker: int) -> None:
        life = self.life[worker] if worker >= 0 else 0
        heapq.heappush(self.events, (when, next(self.order), f"{kind} {life}", worker))

    def run(self) -> Found:
        for worker in range(self.a.workers):
            self.at(0.0, "ready", worker)
            self._lives(worker, 0.0)
        self.at(self.a.tick, "tick", -1)
        now = 0.0
        while not self.leases.all_made:
            now, _, what, worker = heapq.heappop(self.events)
            kind, life = what.split()
            if worker < 0 or int(life) == self.life[worker]:
                getattr(self, f"_{kind}")(worker, now)
        return self._summary(now)

    def _lives(self, worker: int, now: float) -> None:
        kind = "hang" if self.random.random() < self.a.hangs else "die"
        self.at(now + self.random.expovariate(1 / self.a.mean_life), kind, worker)

    def _drive(self, now: float, cost: float) -> float:
        """When the driver has handled it."""
        self.driver_free = max(self.driver_free, now) + cost
        self.driver_time += cost
        return self.driver_free

    def _ready(self, worker: int, now: float) -> None:
        number = self.leases.take(str(worker), now)
        if number is None:
            self.idle.append(worker)
            return
        if number in self.lost_at:
            self.recovered.append(now - self.lost_at.pop(number))
        self.has[worker] = number
        if number == self.units - 1:
            self.last_fresh = now
        self.found.most_under_way = max(self.found.most_under_way, self.leases.under_way)
        took = self.a.per_unit / self.a.images_per_s / self.speed[worker]
        self.at(now + took, "upload", worker)

    def _upload(self, worker: int, now: float) -> None:
        """The store takes so many at a time; a worker waits for its turn."""
        self.store_free = max(self.store_free, now) + 1 / self.a.store_units_per_s
        self.at(max(now + self.a.upload, self.store_free), "made", worker)

    def _made(self, worker: int, now: float) -> None:
        """The driver takes one unit after the other."""
        self.at(self._drive(now, self.a.driver), "taken", worker)

    def _taken(self, worker: int, now: float) -> None:
        number = self.has.pop(worker)
        others = self.leases.holders(number)
        if self.leases.made(Held(number, str(worker)), now):
            for other in map(int, others):  # they are told to stop
                if other != worker and self.has.pop(other, None) is not None:
                    self._reborn(other, now, 0.0)
        self.at(now, "ready", worker)

    def _reborn(self, worker: int, now: float, after: float) -> None:
        self.life[worker] += 1
        self.at(now + after, "ready", worker)
        self._lives(worker, now + after)

    def _die(self, worker: int, now: float) -> None:
        self.found.deaths += 1
        self._lose(worker, now)
        if worker in self.idle:
            self.idle.remove(worker)
        self.speed[worker] = self._speed()
        self._reborn(worker, now, self.a.restart)

    def _lose(self, worker: int, now: float) -> None:
        number = self.has.pop(worker, None)
        if number is not None:
            self.leases.lost(Held(number, str(worker)))
            self.found.made_again += 1
            self.lost_at[number] = now
            if self.idle:
                self.at(now, "ready", self.idle.popleft())

    def _hang(self, worker: int, now: float) -> None:
        """Nobody notices before its lease is over."""
        self.found.hangs += 1
        self.life[worker] += 1
        if worker in self.idle:
            self.idle.remove(worker)
        self.at(now + self.a.lease, "die", worker)

    def _tick(self, _: int, now: float) -> None:
        """Idle workers ask again: a unit may be slow by now."""
        for _ in range(len(self.idle)):
            before = len(self.idle)
            self._ready(self.idle.popleft(), now)
            if len(self.idle) == before:
                break
        self.at(now + self.a.tick, "tick", -1)

    def _summary(self, now: float) -> Found:
        found, a = self.found, self.a
        found.seconds, found.images_per_s = now, a.images / now
        unit = a.per_unit / a.images_per_s + a.upload
        found.ideal_share = self.units * unit / (a.workers * now)
        found.doubled, found.driver_busy = self.leases.doubled, self.driver_time / now
        found.recovery_s = sum(self.recovered) / max(1, len(self.recovered))
        found.last_unit_s = now - self.last_fresh
        return found


def main() -> None:
    given = dict(
        zip(("workers", "images"), (int(float(each)) for each in sys.argv[1:]), strict=False)
    )
    assumed = Assumed(**given)
    begin = time.process_time()
    found = Simulation(assumed).run()
    cost = {
        "simulation_cpu_s": time.process_time() - begin,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps({"assumed": asdict(assumed), "found": asdict(found), **cost}, indent=2))


if __name__ == "__main__":
    main()
