"""What looking on costs: the same training with and without, in turns."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.utils.data

import fastload
from benchmarks import facts
from benchmarks.verdict import rows, work
from fastload.measure import interleaved, ratio
from fastload.profiler import attached as recorder

PAIRS, BATCHES, WARM_UP = 15, 45, 5
MS = 2.0  # CPU time of an image, as one photograph takes; of the step, per batch
SCRIPT = """
import sys, time
from benchmarks.verdict import overhead
print(overhead.train(overhead.loader()))
"""


class Photos(torch.utils.data.Dataset[Any]):
    """Four transforms and MS of CPU time per image."""

    def __init__(self) -> None:
        self.transform = work.Compose([work.Blur(MS / 4e3), work.Loop(MS / 4e3), work.Blur(MS / 4e3), work.Loop(MS / 4e3)])

    def __len__(self) -> int:
        return BATCHES * 16

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.zeros(3, 64, 64)), time.process_time()  # of the worker, so far


def loader() -> Any:
    return torch.utils.data.DataLoader(Photos(), 16, num_workers=1)


def train(batches: Any) -> float:
    """CPU seconds of this process and its worker per batch: what others do on the machine changes it less than the clock.

    After WARM_UP batches: what starting costs is no share of a training.
    """
    first = last = 0.0
    for number, (images, worker) in enumerate(batches):
        work.burn(MS / 1e3, images.sum)
        last = time.process_time() + float(worker.max())
        first = last if number == WARM_UP else first
    return (last - first) / (BATCHES - WARM_UP - 1)


def plain() -> float:
    return 1 / train(loader())


def watched() -> float:
    batches = loader()
    with fastload.watch(batches, every=0):
        return 1 / train(batches)


def attached() -> float:
    """The same as a script below `fastload profile -- python …`."""
    return _script([sys.executable, "-m", "fastload", "profile", "--whole", "--"])


def unattached() -> float:
    return _script([])


def _script(before: list[str]) -> float:
    with tempfile.TemporaryDirectory(prefix="fastload-overhead-") as folder:
        path = Path(folder) / "train.py"
        path.write_text(SCRIPT, encoding="utf-8")
        done = subprocess.run([*before, sys.executable, str(path)], capture_output=True, text=True, check=True, cwd=facts.ROOT)
    return 1 / float(next(line for line in done.stdout.splitlines() if line.replace(".", "").replace("e-", "").isdigit()))


def run(results: Path, say: Callable[[str], object]) -> None:
    """One row for each way to look on: its CPU time per batch by that without it, with an interval."""
    common = facts.common()
    for name, (without, with_it) in {"watch": (plain, watched), "profile -- COMMAND": (unattached, attached)}.items():
        started = time.perf_counter()
        found = interleaved({"without": without, "with": with_it}, PAIRS)
        cost = ratio(found["without"], found["with"])  # both are batches per CPU second
        row = {
            "scenario": name, "cost": round(cost.value - 1, 5), "low": round(cost.low - 1, 5), "high": round(cost.high - 1, 5),
            "us_per_batch": round(1e6 * recorder.cost(), 2), "ms_per_batch": round(1e3 / found["without"].median, 3),
            "pairs": PAIRS, "seconds": round(time.perf_counter() - started, 1),
            "values": {key: [round(value, 3) for value in sample.values] for key, sample in found.items()}, **common,
        }  # fmt: skip
        rows.add(rows.path(results, "overhead"), row)
        say(f"{name}: {100 * row['cost']:.2f} % [{100 * row['low']:.2f}, {100 * row['high']:.2f}] of CPU time per batch")
