"""The release's check of growth: 100 epochs over a small set, what the processes hold after each.
Takes minutes.

    python -m tests.life.memory [--epochs N] [NAME …]

RssAnon is memory that no file backs (proc_pid_status(5)), of the program and its workers; the slope
is Theil's and Sen's median, over the epochs behind the first fifth, so that caches have filled.
Descriptors and threads are counted between epochs; they may become fewer.
"""

import argparse
import gc
import itertools
import os
import re
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

import fastload
from fastload import transforms as T
from tests.life.death import images
from tests.life.programs import loader

MOST = 64.0  # KiB that an epoch may leave behind
PATIENCE = 5.0  # s until what an epoch had is gone: dropping an iterator waits for nothing


class Held(NamedTuple):
    """After one epoch."""

    kib: float
    descriptors: int
    threads: int


class Result(NamedTuple):
    slope: float  # KiB per epoch
    first: Held  # behind the first fifth
    last: Held

    @property
    def good(self) -> bool:
        return self.slope < MOST and not self.more

    @property
    def more(self) -> bool:
        """Descriptors or threads."""
        return (
            self.last.descriptors > self.first.descriptors or self.last.threads > self.first.threads
        )


def anonymous(pid: int) -> float:
    """KiB; 0 of a process that has ended."""
    try:
        found = re.search(r"RssAnon:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return float(found[1]) if found else 0.0


def children() -> list[int]:
    return [
        int(child)
        for task in os.listdir("/proc/self/task")
        for child in Path(f"/proc/self/task/{task}/children").read_text().split()
    ]


def held(during: float, before: Held | None) -> Held:
    """during: what the workers held in the epoch, KiB; before: after the last epoch."""
    gc.collect()
    end = time.monotonic() + PATIENCE
    while True:
        found = Held(
            anonymous(os.getpid()) + during,
            len(os.listdir("/proc/self/fd")),
            len(os.listdir("/proc/self/task")),
        )
        if (
            before is None
            or time.monotonic() > end
            or (found.descriptors <= before.descriptors and found.threads <= before.threads)
        ):
            return found
        time.sleep(0.01)


def epochs(batches: Any, count: int, most: int | None = None, keep: int = 0) -> list[Held]:
    """most: batches of an epoch, before it is left; keep: of the last batches that somebody holds
    on to.
    """
    kept: deque[Any] = deque(maxlen=keep)
    found: list[Held] = []
    for epoch in range(count):
        batches.set_epoch(epoch)
        iterator, workers = iter(batches), 0.0
        for step, batch in enumerate(itertools.islice(iterator, most)):
            kept.append(batch)
            if step == 1:
                workers = sum(map(anonymous, children()))
        del iterator, batch
        found.append(held(workers, found[-1] if found else None))
    return found


def sized(folder: str, **options: Any) -> Any:
    data = fastload.open(folder, [T.RandomResizedCrop(24)])
    return fastload.DataLoader(
        data,
        4,
        shuffle=True,
        seed=3,
        num_workers=2,
        size_schedule=lambda epoch: 16 + epoch % 7,
        **options,
    )


CASES: dict[str, Callable[[str, int], list[Held]]] = {
    "native": lambda folder, count: epochs(loader("native", folder), count),
    "caller's thread": lambda folder, count: epochs(loader("inline", folder), count),
    "torch backend": lambda folder, count: epochs(loader("torch", folder), count),
    "PyTorch's engine": lambda folder, count: epochs(loader("own", folder), count),
    "PyTorch's engine, persistent": lambda folder, count: epochs(
        loader("own", folder, persistent_workers=True), count
    ),
    "sizes": lambda folder, count: epochs(sized(folder), count),
    "mix": lambda folder, count: epochs(loader("native", folder, mix=T.CutMix(alpha=1.0)), count),
    "left early": lambda folder, count: epochs(loader("native", folder), count, most=2),
    "kept batches": lambda folder, count: epochs(loader("native", folder), count, keep=3),
    "bad images": lambda folder, count: epochs(
        loader("native", bad(folder), on_error="substitute", max_bad=1.0), count
    ),
}


def bad(folder: str) -> str:
    for path in sorted(Path(folder).rglob("*.jpg"))[::6]:
        path.write_bytes(path.read_bytes()[:300])
    return folder


def slope(values: list[float]) -> float:
    """Theil's and Sen's: the median over all pairs."""
    return statistics.median(
        (b - a) / (j - i) for (i, a), (j, b) in itertools.combinations(enumerate(values), 2)
    )


def measure(name: str, count: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="fastload-life-") as scratch:
        os.environ["XDG_CACHE_HOME"] = f"{scratch}/cache"
        found = CASES[name](images(Path(scratch) / "images"), count)[count // 5 :]
    return Result(slope([each.kib for each in found]), found[0], found[-1])


def apart(name: str, count: int) -> Result:
    """In a process of its own: what another case has left would count."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        result = measure(name, count)
        os.write(writes, repr([result.slope, *map(list, result[1:])]).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        numbers = [float(number) for number in re.findall(r"-?\d[\d.e-]*", pipe.read())]
    os.waitpid(child, 0)
    first, last = (Held(numbers[at], int(numbers[at + 1]), int(numbers[at + 2])) for at in (1, 4))
    return Result(numbers[0], first, last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("names", nargs="*", help=", ".join(CASES))
    given = parser.parse_args()
    wrong = 0
    for name in given.names or CASES:
        result = apart(name, given.epochs)
        wrong += not result.good
        held_now = (
            f"{result.last.kib / 1024:.0f} MiB, descriptors {result.first.descriptors} to "
            f"{result.last.descriptors}"
        )
        threads = f"threads {result.first.threads} to {result.last.threads}"
        print(
            f"{'  ' if result.good else '! '}{name:30} {result.slope:+8.1f} KiB per epoch; "
            f"{held_now}, {threads}",
            flush=True,
        )
    print(f"{wrong} of {len(given.names or CASES)} grow")
    return bool(wrong)


if __name__ == "__main__":
    print(f"fastload {fastload.__version__}")
    sys.exit(main())
