"""What it costs to give the parts of a conversion to other processes.

    python -m benchmarks.conversion.spread [IMAGES] [REPETITIONS] [VARIANT …]

Variants take turns: threads, processes, ray (where it is installed), two workers each. Every one
ends with its files on the disk. `started` is the time until the first worker could be given a part,
which a long conversion does not feel; `images_per_s` is what comes after it.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.conversion.simulate_real import write_images
from fastload.conversion import job
from fastload.conversion.cluster.engines import fleet_of
from fastload.conversion.cluster.fleet import Fleet

WORKERS, SHARD = 2, 1 << 20
VARIANTS = ("threads", "processes", "ray")


class Timed:
    """A fleet, and when its first worker was given a part."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.first = fleet, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fleet, name)

    def give(self, *arguments: Any) -> None:
        self.first = self.first or time.perf_counter()
        self.fleet.give(*arguments)


def once(root: Path, variant: str, images: int) -> dict[str, float]:
    out = root / "out"
    options = job.Options(shard_bytes=SHARD, workers=WORKERS, overwrite=True)
    prepared = job.prepare(str(root / "in"), str(out), options)
    begin, timed = time.perf_counter(), None
    if variant != "threads":
        timed = Timed(fleet_of(variant, WORKERS))
    job.run(prepared, on=job.On(timed) if timed else None)
    end = time.perf_counter()
    started = timed.first - begin if timed else 0.0
    return {"s": end - begin, "started": started, "images_per_s": images / (end - begin - started)}


def main() -> None:
    images = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    variants = sys.argv[3:] or list(VARIANTS)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_images(root / "in", images)
        rows: dict[str, list[dict[str, float]]] = {variant: [] for variant in variants}
        for _ in range(repetitions):
            for variant in variants:
                rows[variant].append(once(root, variant, images))
    for variant, found in rows.items():
        rates = [row["images_per_s"] for row in found]
        said = {
            "variant": variant, "images": images, "workers": WORKERS,
            "images_per_s": round(statistics.median(rates)),
            "lowest": round(min(rates)), "highest": round(max(rates)),
            "started_s": round(statistics.median(row["started"] for row in found), 2),
            "s": round(statistics.median(row["s"] for row in found), 2),
            "load": round(os.getloadavg()[0], 1),
        }  # fmt: skip
        print(json.dumps(said))


if __name__ == "__main__":
    main()
