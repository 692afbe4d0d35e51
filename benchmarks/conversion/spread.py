"""What it costs to give the parts of a conversion to other processes.

    python -m benchmarks.conversion.spread --data DIR [--images N] [--repetitions N] [VARIANT …]

Variants take turns: threads, processes, ray (where it is installed), two workers each. Every one
ends with its files on the disk. `images_per_s` is the rate from when a worker was given the first
part to when the last part was made; `fixed_s` is the time before and after, for which a long
conversion is no longer.
"""

import argparse
import itertools
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from fastload.conversion import job
from fastload.conversion.cluster.engines import fleet_of
from fastload.conversion.cluster.fleet import MADE, Event, Fleet

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


def linked(data: Path, folder: Path, count: int) -> None:
    """A folder of classes with so many images: hard links to those of data, again and again."""
    files = sorted(path for path in data.glob("*/*") if path.is_file())
    for number, path in enumerate(itertools.islice(itertools.cycle(files), count)):
        to = folder / path.parent.name / f"{number:07}{path.suffix}"
        to.parent.mkdir(parents=True, exist_ok=True)
        to.hardlink_to(path)


def once(root: Path, variant: str, images: int, shard_bytes: int) -> dict[str, float]:
    out = root / "out"
    options = job.Options(shard_bytes=shard_bytes, workers=WORKERS, overwrite=True)
    prepared = job.prepare(str(root / "in"), str(out), options)
    begin = time.perf_counter()
    timed = None if variant == "threads" else Timed(fleet_of(variant, WORKERS))
    job.run(prepared, on=job.On(timed) if timed else None)
    all_s = time.perf_counter() - begin
    making = timed.last - timed.first if timed else all_s
    return {"s": all_s, "fixed": all_s - making, "images_per_s": images / making}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conversion.spread")
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS))
    parser.add_argument("--data", type=Path, required=True, help="folder of classes")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--shard-mib", type=int, default=64)
    parser.add_argument("--folder", help="where to work; on the file system of the data")
    given = parser.parse_args()
    variants, images = given.variants or list(VARIANTS), given.images
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        root = Path(folder)
        linked(given.data, root / "in", images)
        rows: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
        for _ in range(given.repetitions):
            for variant in variants:
                rows[variant].append(once(root, variant, images, given.shard_mib << 20))
    for variant, found in rows.items():
        rates = [row["images_per_s"] for row in found]
        said = {
            "variant": variant, "images": images, "workers": WORKERS, "shard_mib": given.shard_mib,
            "images_per_s": round(statistics.median(rates)),
            "lowest": round(min(rates)), "highest": round(max(rates)),
            "fixed_s": round(statistics.median(row["fixed"] for row in found), 2),
            "s": round(statistics.median(row["s"] for row in found), 2),
            "load": round(os.getloadavg()[0], 1),
        }  # fmt: skip
        print(json.dumps(said))


if __name__ == "__main__":
    main()
