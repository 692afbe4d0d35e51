"""The release's check that a conversion on many workers loses and corrupts nothing: workers or the
driver are killed (-9) at random, one worker hangs, one is 20 times slower, or one machine's disk is
full. Takes minutes to hours.

    python -m tests.conversion.kill_cluster [RUNS] [SEED]

After each run there is no data set, or the one that a single process makes, byte for byte. --resume
then completes it to the same bytes, and makes again no more than what was under way.
"""

import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from fastload.conversion import job, journal
from fastload.conversion.cluster import driver, fleet, worker
from fastload.conversion.cluster.processes import Processes
from fastload.files.below import DirEntry, opened
from tests.conversion.fleet_helpers import forked
from tests.conversion.kill_release import contents, images

WORKERS = 3
SHARD = 4000  # bytes: about 12 units
SECONDS = 0.004  # that a unit takes at least, so that there is something to kill
FORMATS = ("shards", "webdataset", "parquet", "folder")
EVILS = ("worker", "driver", "hang", "slow", "disk", "commit")
SLOWER = 20


def options(to: str, **more: Any) -> job.Options:
    return job.Options(shard_bytes=SHARD, to=to, workers=1, **more)


class Evil:
    """What happens in a run: drawn before it begins."""

    def __init__(self, kind: str, draw: random.Random, units: int) -> None:
        self.kind, self.units = kind, units
        self.number = draw.randrange(units)  # the unit where it happens
        self.inside = draw.random() < 0.5  # in the middle of it, or before it begins
        self.victims = {str(each) for each in draw.sample(range(WORKERS), draw.randint(1, 2))}
        self.after = draw.uniform(0, 0.15)

    def act(self, name: str, order: fleet.Order | None) -> dict[str, Any] | None:
        """What a worker does before a unit, and without one after it, before it tells."""
        if order is None:
            return None
        time.sleep(SECONDS)
        mine = name in self.victims
        if self.kind == "worker" and mine and order.number >= self.number:
            if not self.inside:
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Timer(SECONDS, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif self.kind == "hang" and name == min(self.victims):
            time.sleep(600)
        elif self.kind == "slow" and name == min(self.victims):
            time.sleep(SLOWER * SECONDS)
        elif self.kind == "disk" and name == min(self.victims):
            return worker.failed(OSError(28, "No space left on device"), typed=False)
        return None


def convert(source: Path, out: Path, to: str, evil: Evil | None = None, **more: Any) -> Any:
    """On a fleet: the summary."""
    act = evil.act if evil else None
    crew = Processes(WORKERS, lambda name: forked(name, act) if act else forked(name))
    hangs = evil is not None and evil.kind == "hang"
    on = job.On(crew, lease=5.0 if hangs else 120.0)
    return job.run(job.prepare(str(source), str(out), options(to, **more)), on=on)


def killed(source: Path, out: Path, to: str, evil: Evil, **more: Any) -> int:
    """Convert in a driver of its own; its exit status, negative if it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if evil.kind == "commit":
                at_commit(evil.number)
            convert(source, out, to, evil, **more)
            status = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(status)
    if evil.kind == "driver":
        time.sleep(evil.after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def at_commit(call: int) -> None:
    """The driver dies before one of its renames: of a unit that it takes, or of the commit."""
    real, counter = os.rename, itertools.count()

    def rename(*arguments: Any, **named: Any) -> None:
        if next(counter) == 2 * call:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments, **named)

    def take(self: driver.Driver, event: Any, now: float, made: Any = driver.Driver._made) -> None:
        os.rename = rename  # workers have forked before it
        made(self, event, now)

    driver.Driver._made = take  # type: ignore[method-assign]


def noted(out: Path, to: str) -> int:
    """Units that the journal of an interrupted run has, and those that lie ready beside it."""
    hold = out if to == "shards" else out.parent / f".fastload-{out.name}"
    if not hold.is_dir():
        return 0
    with opened(str(hold)) as folder:
        name = next((name for name in folder.names() if name.endswith("journal")), None)
        records = journal.read(DirEntry(folder, name))[0] if name else []
    there = {each["part"] for each in records if "part" in each}
    for path in hold.glob(".fastload-units-*/*/part.json"):
        if path.parent.name.isdigit():
            there.add(int(path.parent.name))
    return len(there)


def check(runs: int, root: Path, seed: int = 0) -> Counter[str]:
    """So many runs; what was found. Raises AssertionError at the first state that should not be."""
    draw, found = random.Random(seed), Counter[str]()
    images(root / "in")
    want = {}
    for to in FORMATS:
        job.run(job.prepare(str(root / "in"), str(root / "whole" / to), options(to)))
        want[to] = contents(root / "whole" / to)
    units = job.prepare(str(root / "in"), str(root / "x"), options("shards")).plan.shards
    for number in range(runs):
        to, kind = FORMATS[number % len(FORMATS)], EVILS[number // len(FORMATS) % len(EVILS)]
        out = root / "run" / "out"
        evil = Evil(kind, draw, units)
        status = killed(root / "in", out, to, evil)
        there = contents(out)
        which = f"run {number} (seed {seed}), {to}, {kind}"
        assert there in ({}, want[to]), f"{which}: {sorted(there)} is neither absent nor whole"
        assert status in (0, -signal.SIGKILL), f"{which}: ended with {status}"
        if there != want[to]:
            ready = noted(out, to)
            again = convert(root / "in", out, to, resume=True)
            made = sum(each.units for each in again.spread.workers.values())
            # A unit that was being moved when the driver died is made again as well
            assert made <= units - ready + 1, f"{which}: {made} units again, {ready} were ready"
            found["resumed"] += 1
        assert contents(out) == want[to], f"{which}: what was resumed has other bytes"
        left = [path.name for path in (root / "run").glob(".*")] + [
            path.name for path in out.glob(".*")
        ]
        assert not left, f"{which}: {left} is left"
        found[kind] += 1
        found["ended by a kill"] += status < 0
        shutil.rmtree(root / "run")
    return found


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        found = check(runs, Path(folder), seed)
    print(
        f"{runs} runs with {WORKERS} workers in {time.monotonic() - begin:.0f} s: "
        + ", ".join(f"{count} {name}" for name, count in found.most_common())
    )


if __name__ == "__main__":
    main()
