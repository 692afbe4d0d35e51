"""One peer in its own process, on its own cores: `python -m benchmarks.peers.child SPEC`; the
peer's environment may lack fastload's.

For every line on stdin it runs one epoch and answers with a line of JSON: images, seconds,
cpu_seconds, first_seconds, of the epoch; steady_rate, images/s after its first quarter; the first
answer has memory_mib, at half of the epoch, start_seconds, from the process's start to the first
batch, and versions too.
"""

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


def one_epoch(
    spec: dict[str, Any],
    epoch: Callable[[], Iterator[Any]],
    quiet: Callable[[], float],
    *,
    first: bool,
) -> dict[str, Any]:
    """Over all batches, which must be uint8 images of the size asked for; times in s, memory in
    MiB.
    """
    images, memory, began, used, start = 0, 0.0, 0.0, cpu_seconds(), time.perf_counter()
    quarter: tuple[int, float] = (0, start)  # images and time when a quarter has come
    for batch in epoch():
        began = began or time.perf_counter()
        check(batch, spec["size"])
        images += len(batch)
        if not quarter[0] and 4 * images >= spec["images"]:
            quarter = images, time.perf_counter()
        if first and not memory and (spec["once"] or 2 * images >= spec["images"]):
            memory = memory_mib()
        if spec["once"]:
            break
    end = quiet()
    seconds = end - start
    out = {
        "images": images,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds() - used,
        "first_seconds": began - start,
        "steady_rate": (images - quarter[0]) / (end - quarter[1]),
    }
    return out | ({"memory_mib": memory, "start_seconds": began - spec["started"]} if first else {})


class Anew:
    """Each epoch by a new loader, whose making counts; the last one's end does not."""

    def __init__(self, make: Callable[..., Any], spec: dict[str, Any]) -> None:
        self.make, self.spec, self.held = make, spec, None
        self.cache: tempfile.TemporaryDirectory[str] | None = None

    def __call__(self) -> Iterator[Any]:
        self.held = self.make(self.spec)
        return self.held()

    def forget(self) -> None:
        """The last epoch's loader, and what it has kept on disk: the next one's cache is another
        folder.
        """
        self.held = None
        gc.collect()
        if self.cache is not None:
            self.cache.cleanup()
        self.cache = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        os.environ["XDG_CACHE_HOME"] = self.cache.name


def check(batch: Any, size: int) -> None:
    """Raise ValueError for what is no batch of images [N, 3, size, size] or [N, size, size, 3],
    uint8.
    """
    shape, dtype = tuple(batch.shape), str(batch.dtype).removeprefix("torch.")
    if dtype != "uint8" or shape[1:] not in ((3, size, size), (size, size, 3)):
        raise ValueError(
            f"a batch of {dtype} {list(shape)} (want uint8 [N, 3, {size}, {size}] or [N, {size}, "
            f"{size}, 3])"
        )


def session() -> Iterator[int]:
    """Processes of this one's session: itself and its workers."""
    own = os.getsid(0)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == own:
                yield int(name)
        except ProcessLookupError:  # ended meanwhile
            continue


def cpu_seconds() -> float:
    """Spent so far by the session, with workers that have ended."""
    total = 0
    for process in session():
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return total / TICKS


def memory_mib() -> float:
    """Of the session; what processes share counts once (PSS)."""
    total = 0
    for process in session():
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def versions(spec: dict[str, Any]) -> dict[str, str]:
    """Of the packages that the peer is; what is not there has none."""
    out = {}
    for name in spec["packages"]:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def main() -> None:
    spec = json.loads(sys.argv[1])
    os.sched_setaffinity(0, spec["cores"])  # before anything is imported that counts cores
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    module = import_module(f"benchmarks.peers.{spec['module']}")
    epoch = Anew(module.make, spec) if spec["new"] else module.make(spec)
    quiet = getattr(module, "quiet", time.perf_counter)
    first = True
    for _ in sys.stdin:
        if spec["new"]:
            epoch.forget()
        results = one_epoch(spec, epoch, quiet, first=first)
        print(
            json.dumps(results | ({"versions": versions(spec)} if first else {})),
            file=answers,
            flush=True,
        )
        first = False


if __name__ == "__main__":
    main()
