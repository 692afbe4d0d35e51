"""One process of `python -m benchmarks rows`: it opens the data set, and measures.

Its arguments are JSON; it answers with a line of JSON, and waits for one between the batch and the
look at its memory, so that all ranks have theirs meanwhile.
"""

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import fastload
from fastload import transforms as T
from fastload.order import shuffling  # noqa: F401 - what the first loader would import

SIDE, BATCH = 64, 64
TURNS = 3  # of the rate


def main(given: dict[str, Any]) -> None:
    for path in filter(os.path.exists, given["dropped"]):
        drop(path)
    before = memory()
    opening, data = timed(lambda: opened(given["where"]))
    world, rank = given["ranks"], given["rank"]
    sampler = fastload.DistributedSampler(len(data), world, rank, seed=3)
    loader = loader_of(data, sampler)
    first, epoch = timed(lambda: first_batch(loader))
    said: dict[str, Any] = {
        "open": opening, "first": first, "memory_before": before, "peak": peak(),
    }  # fmt: skip
    if rank == 0 and given["measures"]:
        said |= measures(loader, epoch, given)
    print(json.dumps(said), flush=True)
    sys.stdin.readline()
    print(json.dumps({"memory": memory()}), flush=True)
    sys.stdin.readline()


def measures(loader: Any, epoch: Any, given: dict[str, Any]) -> dict[str, float]:
    """Further times, s, and rates of the data set and of the small one, images/s."""
    steps, small = given["steps"], loader_of(opened(given["small"]), None)
    explaining, _ = timed(loader.explain)
    setting, _ = timed(lambda: loader.set_epoch(random.randrange(1, 90)) or first_batch(loader))
    state = loader.state_dict()
    step = random.randrange(len(loader))
    state |= {"step": step, "position": step * BATCH * given["ranks"]}
    again = loader_of(loader.dataset, loader.sampler)
    resuming, _ = timed(lambda: again.load_state_dict(state) or first_batch(again))
    rates: dict[str, list[float]] = {"rate": [], "small": []}
    for _ in range(TURNS):
        rates["rate"].append(rate(iter(loader), steps))
        rates["small"].append(rate(iter(small), steps))
    ratios = [big / little for big, little in zip(*rates.values(), strict=True)]
    return {
        "explain": explaining, "set_epoch": setting, "resume": resuming,
        **{name: statistics.median(each) for name, each in rates.items()},
        "ratio": statistics.median(ratios),
    }  # fmt: skip


def opened(where: str) -> Any:
    crop = T.RandomResizedCrop(SIDE)
    return fastload.open(where, [crop, T.RandomHorizontalFlip(), T.PILToTensor()])


def loader_of(data: Any, sampler: Any) -> Any:
    sampler = sampler or fastload.DistributedSampler(len(data), 1, 0, seed=3)
    return fastload.DataLoader(
        data, BATCH, sampler=sampler, num_workers=1, seed=1, backend="native", seek_index="use",
        drop_last=True,
    )  # fmt: skip


def first_batch(loader: Any) -> Any:
    epoch = iter(loader)
    next(epoch)
    return epoch


def rate(epoch: Any, steps: int) -> float:
    next(epoch)
    begin, count = time.perf_counter(), 0
    for _ in range(steps):
        try:
            count += len(next(epoch)[1])
        except StopIteration:
            break
    return count / (time.perf_counter() - begin)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = run()
    return time.perf_counter() - begin, found


def memory() -> int:
    """Bytes of this process, its part of what it shares: proc_pid_smaps(5)."""
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def peak() -> int:
    """The most bytes that this program has had: proc_pid_status(5). ru_maxrss is also of the one
    that has started it.
    """
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def drop(path: str) -> None:
    """From the page cache."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
