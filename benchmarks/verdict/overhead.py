"""What looking on costs: the same training with and without, in turns, in CPU time and in time."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.utils.data

import fastload
from benchmarks.report import facts
from benchmarks.verdict import rows, work
from fastload.measure import Interval, Sample, ratio
from fastload.profiler import attached as recorder

PAIRS, BATCHES, WARM_UP = 30, 45, 5
MS = 2.0  # CPU time of an image, as one photograph takes
STEP = 0.01  # s, asleep, as beside a GPU: the worker is the limit, and what slows it shows in full
IMAGES = 16
MARK = "seconds per batch:"
SCRIPT = """
from benchmarks.verdict import overhead
print(overhead.MARK, *overhead.train(overhead.loader()))
"""
Cost = tuple[float, float]  # s per batch: CPU time of the training and its worker, and time


class Photos(torch.utils.data.Dataset[Any]):
    """Four transforms and MS of CPU time per image."""

    def __init__(self) -> None:
        self.transform = work.Compose(
            [work.Blur(MS / 4e3), work.Loop(MS / 4e3), work.Blur(MS / 4e3), work.Loop(MS / 4e3)]
        )

    def __len__(self) -> int:
        return BATCHES * IMAGES

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.zeros(3, 64, 64)), time.process_time()  # of the worker, so far


def loader() -> Any:
    return torch.utils.data.DataLoader(Photos(), IMAGES, num_workers=1)


def train(batches: Any) -> Cost:
    """After WARM_UP batches: what starting costs is no share of a training."""
    marks = []
    for _, worker in batches:
        work.nap(STEP)
        marks.append((time.process_time() + float(worker.max()), time.perf_counter()))
    (cpu, at), (last_cpu, end), count = marks[WARM_UP], marks[-1], len(marks) - WARM_UP - 1
    return (last_cpu - cpu) / count, (end - at) / count


def plain() -> Cost:
    return train(loader())


def watched() -> Cost:
    batches = loader()
    with fastload.watch(batches, every=0):
        return train(batches)


def attached() -> Cost:
    """The same as a script below `fastload profile -- python …`."""
    return _script([sys.executable, "-m", "fastload", "profile", "--whole", "--"])


def unattached() -> Cost:
    return _script([])


def _pair(ways: Sequence[Callable[[], Cost]], first: int) -> list[Cost]:
    """Without and with; which of them goes first changes, so that a drifting machine favours
    neither.
    """
    costs = {way: ways[way]() for way in (first, 1 - first)}
    return [costs[0], costs[1]]


def _script(before: list[str]) -> Cost:
    with tempfile.TemporaryDirectory(prefix="fastload-overhead-") as folder:
        path = Path(folder) / "train.py"
        path.write_text(SCRIPT, encoding="utf-8")
        done = subprocess.run(
            [*before, sys.executable, str(path)],
            capture_output=True,
            text=True,
            check=True,
            cwd=facts.ROOT,
        )
    said = next(line for line in done.stdout.splitlines() if line.startswith(MARK))
    cpu, wall = map(float, said.removeprefix(MARK).split())
    return cpu, wall


def more(without: list[float], with_it: list[float]) -> Interval:
    """What it costs beyond `without`, as a share, pair by pair."""
    factor = ratio(Sample(tuple(with_it)), Sample(tuple(without)))
    return Interval(factor.value - 1, factor.low - 1, factor.high - 1)


def run(results: Path, say: Callable[[str], object], pairs: int = PAIRS) -> None:
    """One row for each way to look on that has none: its CPU time and time per batch by those
    without it, with intervals.
    """
    file, common = rows.path(results, "overhead"), facts.common()
    for name, ways in {
        "watch": (plain, watched),
        "profile -- COMMAND": (unattached, attached),
    }.items():
        if name in rows.done(file):
            continue
        started, measured_pairs = (
            time.perf_counter(),
            [_pair(ways, first=number % 2) for number in range(pairs)],
        )
        columns = {
            kind: (
                [without[column] for without, _ in measured_pairs],
                [with_it[column] for _, with_it in measured_pairs],
            )
            for column, kind in enumerate(("cpu", "wall"))
        }
        row = {
            "scenario": name, **_figures(columns), "us_per_batch": round(1e6 * recorder.cost(), 2),
            "pairs": pairs,
            "seconds": round(time.perf_counter() - started, 1), "values_ms": _rounded(columns),
            **common,
        }  # fmt: skip
        rows.add(file, row)
        say(f"{name}: {text(row['cpu'])} of CPU time and {text(row['wall'])} of time per batch")


def text(cost: Sequence[float] | None) -> str:
    """cost: value, low, high, as shares; None: not measured."""
    if cost is None:
        return "-"
    value, low, high = (100 * part for part in cost)
    return f"{value:+.2f} % ({low:+.2f} to {high:+.2f})"


def _figures(columns: dict[str, tuple[list[float], list[float]]]) -> dict[str, Any]:
    """The shares by kind, each as [value, low, high]."""
    return {
        kind: [round(part, 5) for part in vars(more(*columns[kind])).values()] for kind in columns
    }


def _rounded(columns: dict[str, tuple[list[float], list[float]]]) -> dict[str, list[list[float]]]:
    return {
        kind: [[round(1e3 * value, 4) for value in side] for side in sides]
        for kind, sides in columns.items()
    }
