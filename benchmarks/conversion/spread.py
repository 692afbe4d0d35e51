"""What it costs to give the parts of a conversion to other processes.

    python -m benchmarks.conversion.spread --data DIR [--images N] [--repetitions N] [VARIANT …]

A variant is what `--on` says, or `threads`, with a number of workers: `processes:1 processes:2`
says how a conversion scales. Without a number it is two; without variants threads, processes and
ray (where it is installed) take turns. The images of DIR are copied once, and have as many names as
are wanted. Every variant ends with its files on the disk, and what it has written is removed before
the next one begins: 200,000 photographs take 22 GB. All have to write the same index.
`images_per_s` is the rate from when a worker was given the first part to when the last part was
made; `fixed_s` is the time before and after, for which a long conversion is no longer. `efficiency`
is the rate per worker against that of the same engine with one worker.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.conversion.convert import lay_out
from fastload.conversion import job
from fastload.conversion.cluster.engines import fleet_of
from fastload.conversion.cluster.fleet import MADE, Event, Fleet
from fastload.sources.shard_index import INDEX

WORKERS = 2
VARIANTS = ("threads", "processes", "ray")


class Timed:
    """A fleet, when its first worker was given a part, and when the last one was made."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.first, self.last = fleet, 0.0, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fleet, name)

    def give(self, *arguments: Any) -> None:
        self.first = self.first or time.perf_counter()
        self.fleet.give(*arguments)

    def wait(self, seconds: float) -> list[Event]:
        events = self.fleet.wait(seconds)
        if any(event.kind == MADE for event in events):
            self.last = time.perf_counter()
        return events


def engine_of(variant: str) -> tuple[str, int]:
    """What `--on` says, and how many workers."""
    engine, _, count = variant.partition(":")
    return engine, int(count or WORKERS)


def once(root: Path, variant: str, images: int, shard_bytes: int) -> dict[str, Any]:
    out, (engine, count) = root / "out", engine_of(variant)
    options = job.Options(shard_bytes=shard_bytes, workers=count)
    prepared = job.prepare(str(root / "in"), str(out), options)
    os.sync()
    begin = time.perf_counter()
    timed = None if engine == "threads" else Timed(fleet_of(engine, count))
    job.run(prepared, on=job.On(timed) if timed else None)
    all_s = time.perf_counter() - begin
    making = timed.last - timed.first if timed else all_s
    index = hashlib.sha256((out / INDEX).read_bytes()).hexdigest()
    shutil.rmtree(out)
    return {
        "s": all_s, "fixed": all_s - making, "images_per_s": images / making, "index": index,
    }  # fmt: skip


def efficiency(variant: str, rates: dict[str, float]) -> float | None:
    """Against the same engine with one worker; None: that was not measured."""
    engine, count = engine_of(variant)
    alone = rates.get(f"{engine}:1")
    return round(rates[variant] / count / alone, 3) if alone else None


def said(
    variant: str, found: list[dict[str, Any]], medians: dict[str, float], images: int
) -> dict[str, Any]:
    """What is printed of a variant."""
    rates = [row["images_per_s"] for row in found]
    return {
        "variant": variant, "images": images, "workers": engine_of(variant)[1],
        "images_per_s": round(medians[variant]),
        "lowest": round(min(rates)), "highest": round(max(rates)),
        "efficiency": efficiency(variant, medians),
        "fixed_s": round(statistics.median(row["fixed"] for row in found), 2),
        "s": round(statistics.median(row["s"] for row in found), 2),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversion.spread")
    kinds = f"{', '.join(VARIANTS)}, perhaps with :N"
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=kinds)
    parser.add_argument("--data", required=True, help="folder of classes")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--shard-mib", type=int, default=64)
    parser.add_argument("--folder", help="where to work")
    given = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {each: [] for each in given.variants or VARIANTS}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        root = Path(folder)
        images = lay_out(given.data, str(root / "in"), given.images)
        for _ in range(given.repetitions):
            for variant, found in rows.items():
                found.append(once(root, variant, images, given.shard_mib << 20))
    if len({row["index"] for found in rows.values() for row in found}) > 1:
        raise SystemExit("the indexes differ: one of the variants has written other bytes")
    medians = {
        variant: statistics.median(row["images_per_s"] for row in found)
        for variant, found in rows.items()
    }
    for variant, found in rows.items():
        print(json.dumps({"shard_mib": given.shard_mib, **said(variant, found, medians, images)}))


if __name__ == "__main__":
    main()
