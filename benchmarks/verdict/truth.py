"""What limits a scenario, without the profiler: its throughput, and its throughput with each cause
taken away.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import cpu
from benchmarks.verdict import work
from benchmarks.verdict.scenarios import CPU, IMAGES, Scenario
from fastload.system.machine import usable_cores

CLEAR = 1.2  # the first cause's gain by the second's, from which there is one cause
EDGES = 0.035, 0.065  # of the stall: in between, both answers are right
DISTURBED = (
    0.1  # share of the cores that other people's processes have, above which they may be the cause
)
SETTLE = 4  # batches that count for nothing, besides those that were prefetched
FEWEST = 12  # batches of a run


@dataclass(frozen=True)
class Run:
    """One training without the profiler."""

    rate: float  # images/s
    wait: float  # share of the time in `next`
    busy: float  # share of all cores, as top shows it
    others: float  # share of all cores that other people's processes had
    cpu: float  # s of the training and its workers, per image


@dataclass(frozen=True)
class Truth:
    stall: float
    gains: dict[str, float]  # by cause: images/s without it by images/s with it
    causes: tuple[str, ...]  # the right answers: one, or those that are within CLEAR of the first
    run: Run

    @property
    def clear(self) -> bool:
        return len(self.causes) == 1


@contextmanager
def neighbours(count: int) -> Iterator[list[int]]:
    """Processes that burn CPU time; their pids. They end by themselves if this one is killed."""
    code = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
    found = [subprocess.Popen([sys.executable, "-S", "-c", code]) for _ in range(count)]
    try:
        yield [one.pid for one in found]
    finally:
        for one in found:
            one.kill()
            one.wait()


def calibrated(scenario: Scenario, seconds: float) -> Scenario:
    """A scenario of fastload's loader has its step as a share of what the loader takes on this
    machine.
    """
    if scenario.loader != "native":
        return scenario
    alone = replace(
        scenario,
        step=0.0,
        costs={name: cost for name, cost in scenario.costs.items() if name != "neighbour"},
    )
    return replace(
        scenario, step=1e3 * scenario.step * work.NATIVE_BATCH / train(alone, seconds).rate
    )


def measure(scenario: Scenario, seconds: float) -> Truth:
    """The base takes its turn twice, so that a drifting machine shows less."""
    first = train(scenario, seconds)
    step = step_alone(scenario, seconds)
    without = {cause: train(scenario.without(cause), seconds).rate for cause in scenario.causes}
    second = train(scenario, seconds)
    rate = (first.rate + second.rate) / 2
    base = Run(
        rate,
        *(
            (getattr(first, name) + getattr(second, name)) / 2
            for name in ("wait", "busy", "others", "cpu")
        ),
    )
    gains = {cause: found / rate for cause, found in without.items()}
    if base.others > DISTURBED and (free := designed(scenario, base.cpu)):
        gains["others"] = free / rate
    stall = max(0.0, 1 - rate / step)
    return Truth(stall, gains, causes(stall, gains), base)


def causes(stall: float, gains: dict[str, float]) -> tuple[str, ...]:
    """The right answers.

    Training that does not wait is limited by its step; at the edge that is right as well.
    """
    best = max(gains.values(), default=0.0)
    found = tuple(
        sorted(
            (name for name, gain in gains.items() if gain * CLEAR > best),
            key=lambda name: -gains[name],
        )
    )
    if stall < EDGES[0]:
        return ("step",)
    return ("step", *found) if stall < EDGES[1] else found


def designed(scenario: Scenario, cpu: float = 0.0) -> float | None:
    """images/s on a machine with free cores, from the times alone; None where they do not say.

    cpu: s per image, of fastload's loader, whose threads do nothing else; its step is in ms per
        batch.
    """
    known = {"read", *CPU, "copy"}
    if not set(scenario.costs) <= known:
        return None
    if scenario.loader == "native":
        return min(1e3 * work.NATIVE_BATCH / scenario.step, scenario.workers / cpu) if cpu else None
    copy = scenario.costs.get("copy", 0.0)
    workers = (
        scenario.workers if scenario.only_worker is None else scenario.workers / 2
    )  # batches come in order: all wait for one
    load = (sum(scenario.costs.values()) - copy) / max(workers, 1)
    step = scenario.step + copy
    return 1e3 * IMAGES / (max(load, step) if workers else load + step)


def train(scenario: Scenario, seconds: float) -> Run:
    """images/s of the training loop as anybody writes it, over `seconds` and FEWEST batches, and
    whole periods of late ones.
    """
    with neighbours(int(scenario.costs.get("neighbour", 0))) as pids:
        loader, step = work.make_loader(scenario), work.make_step(scenario)
        copy = work.make_copy(scenario) or (lambda batch: batch)
        batches = iter(loader)
        for _ in range(SETTLE + 2 * scenario.workers):
            step(copy(next(batches)))
        settle = getattr(step, "settle", time.perf_counter)
        images, count, waited, before = 0, 0, 0.0, _cpu(pids)
        start = settle()
        while (
            (now := time.perf_counter()) - start < seconds
            or count < FEWEST
            or count % scenario.every
        ):
            batch, count = next(batches), count + 1
            waited += time.perf_counter() - now
            images += work.images_in(batch)
            step(copy(batch))
        length, after = settle() - start, _cpu(pids)
        del batches, loader
    played = images / length * work_ms(scenario) / 1e3 / usable_cores()
    ours, busy = ((b - a) / length / usable_cores() for a, b in zip(before, after, strict=True))
    own = ours * usable_cores() * length / images
    return Run(
        images / length, waited / length, min(1.0, busy + played), max(0.0, busy - ours), own
    )


def step_alone(scenario: Scenario, seconds: float) -> float:
    """Images/s of the step on one batch that is there; its copies belong to the data path."""
    step, batch = (
        work.make_step(scenario),
        next(iter(work.make_loader(replace(scenario, workers=0, costs=_harmless(scenario))))),
    )
    settle, images = getattr(step, "settle", time.perf_counter), 0
    step(batch)  # an emulated GPU's clock starts with its first step
    start = settle()
    while time.perf_counter() - start < seconds / 2:
        step(batch)
        images += work.images_in(batch)
    return images / (settle() - start)


def _harmless(scenario: Scenario) -> dict[str, float]:
    return {"decode": 1.0} if scenario.loader == "native" else {}


def work_ms(scenario: Scenario) -> float:
    """CPU time that is only played, ms per image."""
    return (
        sum(scenario.costs.get(cause, 0.0) for cause in CPU) / IMAGES
        if work.emulating() and scenario.loader != "native"
        else 0.0
    )


def _cpu(pids: list[int]) -> tuple[float, float]:
    """CPU seconds so far: of this process, its workers and `pids`; of the whole machine."""
    ours = cpu.ours() + sum(map(cpu.of, pids))
    fields = [
        int(text)
        for text in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    ]
    return ours, (sum(fields[:8]) - fields[3] - fields[4]) / cpu.TICK


def facts(truth: Truth) -> dict[str, Any]:
    return {
        "stall": round(truth.stall, 4), "causes": list(truth.causes), "gains": {name: round(gain,
        3) for name, gain in truth.gains.items()},
        "images_per_s": round(truth.run.rate, 1), "wait": round(truth.run.wait, 4),
        "busy": round(truth.run.busy, 3),
        "others": round(truth.run.others, 3),
    }  # fmt: skip
