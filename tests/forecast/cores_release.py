"""Cores per GPU, predicted from one core and checked on the cores that are here.

    python -m tests.forecast.cores_release --data DIR --recipe hot --gpu h100 --seconds 40

The loader is measured on one core (`--on`), by `plan`'s own measurement. From it `plan`'s model
says how many cores keep the GPU busy 95 % of the time: more than are here. So for each number of
cores of this machine it also says the fastest GPU that they keep busy. Such GPUs are then played by
the clock beside a loader on just those cores, somewhat slower and faster ones too, and the share of
the time in which each works is measured. Between these lies the fastest one that is busy 95 % of
the time: it is compared with the prediction.

Each number of cores has a process of its own, whose threads may run on these only. Run it on a
machine that does nothing else. `--rates` are the shares of the predicted GPU that are played.
"""

import argparse
import itertools
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastload import lowering, recipes
from fastload.forecast import steps
from fastload.forecast.bands import Range, exactly
from fastload.forecast.machines import Machine
from fastload.forecast.measuring import Measured, measure
from fastload.forecast.model import BUSY, Question, needed_cores
from fastload.forecast.model import run as run_of
from fastload.profiler import job as profiling
from fastload.profiler.ladder import Ladder
from fastload.profiler.steps import EmulatedStep
from fastload.recipes import rates as by_name
from fastload.system.machine import affinity

RATES = (0.85, 0.95, 1.05, 1.15)  # times the predicted GPU
HALVINGS = 40
LONG = 1_000_000  # images of an epoch: starts of epochs are no matter of cores
REPLICATES = 3
STEP_S = 20.0  # of each GPU that is played


def asked(recipe: Any, size: int, gpu: Any, cores: int) -> Question:
    """One GPU at the full size, on so many cores like those that are measured."""
    return Question(
        recipe, (size,), LONG, 1.0, Machine("cores", cores, 1, "h100"), gpu, here=False
    )  # fmt: skip


def fastest(busy: Callable[[float], float]) -> float:
    """Images/s of the fastest GPU that is busy; the faster it is, the less it works."""
    low, high = 1.0, 1e6
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if busy(middle) >= BUSY else (low, middle)
    return low


def predicted(question: Question, measured: Measured) -> Range:
    """Images/s of the fastest GPU that is busy, SAM included; low: to be safe."""
    more = steps.sam(question.recipe)

    def busy(end: str, rate: float) -> float:
        gpu = replace(question.gpu, images_per_s=exactly(rate * more), at=question.sizes[0])
        return float(getattr(run_of(replace(question, gpu=gpu), measured).busy, end))

    ends = (fastest(lambda rate, end=end: busy(end, rate)) for end in ("value", "low", "high"))
    return Range(*ends)


def crossing(rates: Sequence[float], busy: Sequence[float]) -> float | None:
    """The rate at which a GPU is busy 95 % of the time, on a line between two that were played."""
    points = list(zip(rates, busy, strict=True))
    for (one, before), (two, after) in itertools.pairwise(points):
        if before >= BUSY > after:
            return one + (before - BUSY) / (before - after) * (two - one)
    return None


def on_cores(cores: int, work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` returns, in a process of its own that has so many cores."""
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    mine = affinity()
    os.sched_setaffinity(0, sorted(mine)[:cores])  # the child has it from its first thread on
    try:
        child = context.Process(target=_child, args=(answers, work, cores, *arguments))
        child.start()
    finally:
        os.sched_setaffinity(0, mine)
    child.join()
    if child.exitcode:
        raise SystemExit(f"the process on {cores} cores failed")
    return answers.get()


def _child(answers: Any, work: Callable[..., Any], *arguments: Any) -> None:
    answers.put(work(*arguments))


def _make(data: str, name: str, cores: int) -> tuple[Any, int, Callable[..., Any]]:
    """The recipe, its full size, and what makes its loader, as `plan` has them."""
    recipe = recipes.load(name)
    pipeline = lowering.open(data, list(recipe.ops())).pipeline
    job = profiling.Job(recipe, data, 1e6, workers=cores)

    def make(size: int, workers: int | None) -> Any:
        one = job if workers is None else replace(job, workers=workers)
        return profiling.sized_loader(one, pipeline, "native", size)

    return recipe, max(recipe.size_per_epoch()), make


def measured_on(cores: int, data: str, name: str, seconds: float) -> Measured:
    _, size, make = _make(data, name, cores)
    return measure(make, (size,), None, cores, cores, seconds)


def played(
    cores: int, data: str, name: str, rates: Sequence[float], seconds: float
) -> list[list[float]]:
    """Busy shares of GPUs of those rates, each several times, in turns."""
    _, size, make = _make(data, name, cores)
    ladder = Ladder(make(size, None), EmulatedStep(1e6))
    seen: list[list[float]] = [[] for _ in rates]
    for _ in range(REPLICATES):
        for rate, shares in zip(rates, seen, strict=True):
            ladder.step.rate = rate  # type: ignore[attr-defined]
            shares.append(min(1.0, ladder.trained(seconds / REPLICATES) / rate))
    return seen


def check(given: argparse.Namespace, cores: int, question: Question, measured: Measured) -> None:
    """Print a row for so many cores."""
    question = replace(question, machine=replace(question.machine, cores=cores))
    ahead = predicted(question, measured)
    rates = [by * ahead.value for by in given.rates]
    seen = on_cores(cores, played, given.data, given.recipe, rates, given.step_seconds)
    busy = [float(np.median(shares)) for shares in seen]
    truth = crossing(rates, busy)
    row = {
        "cores": cores, "predicted_img_per_s": ahead.to_json(),
        "played": [
            {"rate": rate, "busy": shares} for rate, shares in zip(rates, seen, strict=True)
        ],
        "fastest_busy_img_per_s": truth, "error": truth and ahead.value / truth - 1,
        "inside": truth and ahead.low <= truth <= ahead.high,
    }  # fmt: skip
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--recipe", default="hot")
    parser.add_argument("--gpu", default="h100", help="of the table of rates")
    parser.add_argument("--seconds", type=float, default=40.0, help="of measuring")
    parser.add_argument("--on", type=int, default=1, help="cores on which the loader is measured")
    parser.add_argument("--step-seconds", type=float, default=STEP_S, help="of each GPU")
    parser.add_argument("--cores", type=int, nargs="+", help="default: 1, and all that are here")
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    given = parser.parse_args()
    recipe = recipes.load(given.recipe)
    gpu, size = steps.named(by_name.rate(given.gpu), recipe), max(recipe.size_per_epoch())
    measured = on_cores(given.on, measured_on, given.data, given.recipe, given.seconds)
    question = asked(recipe, size, gpu, 1)
    needed, whole = needed_cores(question, measured), steps.per_image(gpu, (size,), 1, recipe)
    print(
        json.dumps({
            "gpu": given.gpu, "recipe": given.recipe, "size_px": size,
            "step_img_per_s": 1 / whole.value[0],
            "measured_on": given.on, "measured_img_per_s": measured.loader[size].values,
            "cores_needed": needed and needed.to_json(),
        }),
        flush=True,
    )  # fmt: skip
    for cores in given.cores or sorted({1, len(affinity())}):
        check(given, cores, question, measured)


if __name__ == "__main__":
    main()
