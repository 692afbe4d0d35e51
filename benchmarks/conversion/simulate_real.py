"""The simulation's model against real processes of this machine.

    python -m benchmarks.conversion.simulate_real [REPETITIONS]

Workers that mostly sleep make the shards of a small data set, so that a few cores are enough for
many of them. One is slower than the others, and one is killed in the middle. The simulation is told
how long a unit takes alone, and has to say how long all of them take.
"""

import io
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.conversion.simulate import Assumed, Simulation
from fastload.conversion import job
from fastload.conversion.cluster.fleet import Order
from tests.conversion.fleet_helpers import fleet

WORKERS, IMAGES, SHARD = 8, 600, 10_000  # bytes of a shard: about 120 units
SLEEP, SLOWER = 0.5, 10.0  # s of a unit; how much slower worker 0 is
KILLED_AT = 2.0  # s after its first unit began: worker 1 dies
DYING: list[threading.Timer] = []  # in worker 1: what ends it


def write_images(folder: Path, count: int) -> None:
    """Small JPEGs in two classes."""
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 256, (24, 25, 3), np.uint8)
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "JPEG", quality=90)
        path = folder / f"class{number % 2}" / f"{number:04}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(out.getvalue())


def sleeping(name: str, order: Order | None) -> None:
    """What a worker does before each unit; without one, after it."""
    if order is None:
        return
    if name == "1" and not DYING:
        DYING.append(threading.Timer(KILLED_AT, os.kill, (os.getpid(), signal.SIGKILL)))
        DYING[0].start()
    time.sleep(SLEEP * (SLOWER if name == "0" else 1))


def prepared(root: Path, name: str) -> job.Job:
    options = job.Options(shard_bytes=SHARD, workers=1)
    return job.prepare(str(root / "in"), str(root / name), options)


def alone(root: Path) -> tuple[int, float]:
    """How many units there are, and how long one takes without the sleep, in s."""
    begin = time.perf_counter()
    count = job.run(prepared(root, "alone")).shards
    return count, (time.perf_counter() - begin) / count


def real(root: Path, name: str) -> float:
    """How long the fleet takes for all units, in s."""
    begin = time.perf_counter()
    job.run(prepared(root, name), on=job.On(fleet(WORKERS, sleeping)))
    return time.perf_counter() - begin


def predicted(units: int, unit_s: float) -> float:
    assumed = Assumed(
        workers=WORKERS, images=units, per_unit=1, images_per_s=1 / (SLEEP + unit_s), speeds=0.0,
        slow=0.0, mean_life=1e12, restart=0.05, upload=0.0, store_units_per_s=1e9, driver=unit_s,
        tick=0.5,
    )  # fmt: skip
    simulation = Simulation(assumed)
    simulation.speed[0] = (SLEEP + unit_s) / (SLEEP * SLOWER + unit_s)
    simulation.at(KILLED_AT, "die", 1)
    return simulation.run().seconds


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_images(root / "in", IMAGES)
        units, unit_s = alone(root)
        took = [real(root, f"out{number}") for number in range(repetitions)]
    model, median = predicted(units, unit_s), statistics.median(took)
    print(
        f"{units} units on {WORKERS} workers: {median:.2f} s ({min(took):.2f} to {max(took):.2f}); "
        f"the model says {model:.2f} s, {100 * (model / median - 1):+.1f} %; "
        f"load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
