"""A profile of a running training, from its waits.

Neither step nor loader runs alone, so their rates are estimates, and the report says so.
"""

from dataclasses import replace

import numpy as np

from fastload.attach import log
from fastload.attach.stages import unseen
from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.profiler import machine, tried, unpriced
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.foreseen import foreseen
from fastload.profiler.interference import Taken
from fastload.profiler.iterations import FEWEST, SCANT, Iterations, training
from fastload.profiler.logs import Process
from fastload.profiler.report import Report
from fastload.profiler.verdict import decide, late_share, spikes
from fastload.spec import Array, Json
from fastload.system.machine import usable_cores

WINDOWS = 10  # of the run, as replicates
EVEN = 0.8  # mean worker by slowest worker, from which they differ by chance
STRAGGLES = 0.10  # of time, that one rank waits longer for data than the others
COUNTED = "counted in the loader's own threads since it was made"
HOW = "timed in the workers, every tenth batch; read is what data set and decoding wait for"
ESTIMATE = (
    "ESTIMATED from waits: step alone is the time between batches, loader alone is what "
    "the workers' times allow."
)
REPLAYED = (
    "Step alone: the loop on kept batches; loader alone: batches made and discarded; both "
    "within the running program."
)


def report(processes: list[Process], seconds: float) -> Report:
    """What the logs say. Raises UsageError where they say too little."""
    ranks = [rank for process in processes if (rank := training(process)) is not None]
    if not ranks:
        raise UsageError(_nothing(processes))
    ranks.sort(key=lambda rank: rank.process.rank)
    slowest = max(ranks, key=lambda rank: rank.stall)
    family = of(slowest.process, processes)
    costs, starved = stages(family)
    how = HOW
    if not costs:
        costs, how = counted(slowest.facts), COUNTED
    rungs = measured(slowest) or estimated(slowest, family)
    others = [rank.stall for rank in ranks if rank is not slowest]
    straggler = slowest.process.rank if others and slowest.stall - max(others) > STRAGGLES else None
    facts, replayed = slowest.facts, measured(slowest) is not None
    workers = facts.get("num_workers")
    evidence = Evidence(
        starved, workers, usable_cores(), spikes(slowest.wait), late(family), straggler
    )
    setting = Setting(
        backend=facts.get("backend"), workers=workers, batch_size=facts.get("batch_size")
    )
    kind, note = ("replayed", REPLAYED) if replayed else ("attached", ESTIMATE)
    count = len(slowest.t)
    if not replayed and count < FEWEST:
        note = f"PARTIAL: only {count} batches were seen, the first ones too. {note}"
    told, here = slowest.process.facts, machine.facts()
    rungs = replace(rungs, handover=tried.handover(told, rungs))
    priced = tried.remedies(told, rungs)
    return Report(
        decide(rungs, costs, evidence), rungs, StepFacts(kind, None, note), setting,
        here, seconds, costs, how if costs else "", evidence=evidence,
        not_measured=_not_measured(told, replayed=replayed),
        tried=tried.read(told), foreseen=foreseen(slowest, family, rungs), remedies=priced,
        unpriced=unpriced.of_command(told, priced, {cost.name for cost in costs}, here["gpu"]),
        taken=taken(slowest, family),
    )  # fmt: skip


def of(trainer: Process, processes: list[Process]) -> list[Process]:
    """The process and its workers; all processes where workers have another parent (forkserver)."""
    family = [
        process for process in processes if process is trainer or process.parent == trainer.pid
    ]
    return family if len(family) > 1 else processes


def measured(iterations: Iterations) -> Rungs | None:
    """The rungs that --ladder ran; None where there are fewer than three of each."""
    records = iterations.process.of(log.RUNG)
    rates = {}
    for name in ("step", "loader", "training"):
        rows = records[
            (records["name"] == name.encode())
            & (records["loader"] == iterations.loader)
            & (records["wall"] > 0)
        ]
        rates[name] = rows["images"] / rows["wall"]
    count = min(map(len, rates.values()))
    if count < 3:
        return None
    step, loader, together = (
        Sample(tuple(map(float, values[-count:]))) for values in rates.values()
    )
    return Rungs(step, loader, together)


def estimated(iterations: Iterations, processes: list[Process]) -> Rungs:
    """Rates of stretches of the run."""
    fetches = [
        process.of(log.FETCH) for process in processes if process.pid != iterations.process.pid
    ] or [np.zeros(0)]
    fetched = np.concatenate(
        [rows for rows in fetches if rows.dtype.names] or [iterations.process.of(log.FETCH)[:0]]
    )
    values, even = [], evenness(processes)
    for picks in np.array_split(
        np.arange(len(iterations.t)), min(WINDOWS, max(3, len(iterations.t) // 5))
    ):
        part = iterations.of(picks)
        images = float(part.images.sum())
        whole = float(part.length.sum())
        waited = float(part.wait.sum())
        values.append(
            (
                images / max(whole - waited, 1e-9),
                _loader_rate(part, fetched, images / whole, even),
                images / whole,
            )
        )
    step, loader, together = (Sample(column) for column in zip(*values, strict=True))
    return Rungs(step, loader, together, pooled=True)


def evenness(processes: list[Process]) -> float:
    """Mean time per image of the workers, divided by the slowest worker's. 1 where all are similar.

    Batches come in order, so all wait for the slowest worker.
    """
    fetches = [rows for process in processes if len(rows := process.of(log.FETCH)) >= FEWEST]
    takes = [float(rows["wall"].sum() / max(rows["images"].sum(), 1)) for rows in fetches]
    even = float(np.mean(takes)) / max(takes) if takes and max(takes) > 0 else 1.0
    return even if even < EVEN else 1.0


def _loader_rate(part: Iterations, fetched: Array, training_rate: float, even: float) -> float:
    """Images/s that the loader could give: its workers without a pause, or `next` without a step.

    It is at least the rate that the loader gave.
    """
    workers = part.facts.get("num_workers") or 0
    if not workers:
        return max(training_rate, float(part.images.sum() / max(part.wait.sum(), 1e-9)))
    during = fetched[
        (fetched["t"] < part.t[-1] + part.length[-1]) & (fetched["t"] + fetched["wall"] > part.t[0])
    ]
    if not len(during):
        return training_rate
    return max(
        training_rate,
        even * float(workers * during["images"].sum() / max(during["wall"].sum(), 1e-9)),
    )


def stages(processes: list[Process]) -> tuple[tuple[StageCost, ...], float]:
    """Costs of the stages per image, and the share of their time that workers waited for a core."""
    fetches = np.concatenate([process.of(log.FETCH) for process in processes])
    rows = np.concatenate([process.of(log.STAGE) for process in processes])
    total, starved = fetches["wall"].sum(), fetches["starved"].sum()
    share = float(min(1.0, starved / total)) if total else 0.0
    names = list(dict.fromkeys(rows["name"].tolist()))
    if not names:
        return (), share
    images = float(rows[rows["name"] == b"dataset"]["images"].sum()) or 1.0
    sums = {
        name: (
            rows[rows["name"] == name]["wall"].sum() / images,
            rows[rows["name"] == name]["cpu"].sum() / images,
        )
        for name in names
    }
    wall = sum(value[0] for value in sums.values())
    outside = sum(
        max(0.0, sums[name][0] - sums[name][1]) for name in (b"dataset", b"decode") if name in sums
    )
    # Only batches that were split by stage: other work on the machine comes and goes.
    deep = fetches[np.isin(fetches["t"], rows["t"])]
    late = float(deep["starved"].sum()) / images if len(deep) else share * wall
    reading = float(max(0.0, outside - late))  # waiting, but not for a core
    costs = [StageCost("read", reading, 0.0)]
    order = {b"dataset": 0, b"decode": 1, b"collate": 3}
    for name in sorted(names, key=lambda name: order.get(name, 2)):
        held, cpu = map(float, sums[name])
        costs.append(
            StageCost(
                name.decode("ascii", "replace"),
                cpu if name in (b"dataset", b"decode") else max(held, cpu),
                cpu,
            )
        )
    return tuple(costs), share


def late(processes: list[Process]) -> float:
    """Share of the workers' time that late batches take beyond a typical one.

    Waiting for cores is not counted.
    """
    fetches = np.concatenate([process.of(log.FETCH) for process in processes])
    return late_share(fetches["wall"] - fetches["starved"])


def counted(facts: Json) -> tuple[StageCost, ...]:
    """What fastload's native loader counted; empty for others."""
    counts = facts.get("stages") or {}
    return tuple(
        StageCost(name, count["wall_s"] / count["samples"], count["cpu_s"] / count["samples"])
        for name, count in counts.items()
        if count["samples"]
    )


def taken(iterations: Iterations, family: list[Process]) -> Taken | None:
    """What the loader takes from the training's process; None without workers."""
    seen = iterations.process.facts.get("taken")
    length = float(iterations.length.sum())
    if not seen or not seen["wall_s"] or not iterations.facts.get("num_workers") or not length:
        return None
    busy = sum(count["cpu_s"] for count in (iterations.facts.get("stages") or {}).values())
    workers = [process for process in family if process.pid != iterations.process.pid]
    busy += sum(float(process.of(log.FETCH)["cpu"].sum()) for process in workers)
    return Taken(
        float(iterations.cpu.sum()) / length,
        seen["python_s"] / seen["wall_s"],
        busy / seen["wall_s"] if busy else None,
    )


def _nothing(processes: list[Process]) -> str:
    batches = sum(int((process.of(log.WAIT)["images"] >= 0).sum()) for process in processes)
    want = f"want {SCANT + 2} of one epoch's batches or more"
    if not batches:
        return (
            "profile: no DataLoader of PyTorch or fastload gave a batch in the command's "
            f"processes ({want}); check the command"
        )
    return (
        f"profile: only {batches} batches were seen ({want}); let it run longer (--steps, "
        "--seconds)"
    )


def _not_measured(facts: Json, *, replayed: bool) -> tuple[str, ...]:
    alone = () if replayed else ("step and loader alone (--ladder)",)
    workers = () if tried.others(facts) else ("other numbers of workers",)
    return (*filter(None, (unseen(),)), *alone, "cold page cache", *workers)
