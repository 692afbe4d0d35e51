"""A profile of a loader and a step that the caller has made."""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from fastload.profiler import cuts, machine, stages, within
from fastload.profiler.cuts import Cut
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.job import REPLAY, not_measured
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.report import Report
from fastload.profiler.stored import FromStore
from fastload.profiler.verdict import decide, headroom
from fastload.profiler.within import Within

NO_REMEDIES = "what would help (fastload profile --recipe does)"


class Measured(NamedTuple):
    """What the ladder measured; how: where the costs come from."""

    rungs: Rungs
    evidence: Evidence
    costs: tuple[StageCost, ...]
    how: str
    store: FromStore | None


def run(
    loader: Iterable[object],
    step: Callable[[Any], object],
    to_device: Callable[[Any], Any] | None,
    seconds: float,
    on_done: Callable[[], None],
    *,
    cut: bool,
) -> Report:
    """The arguments of `profiler.profile`; cut: its `cuts`."""
    budget = Budget(seconds, time.perf_counter())
    rungs, evidence, costs, how, store = _measure(loader, step, to_device, budget, on_done)
    took = -budget.left(0.0)
    facts = _facts(step)
    return Report(
        decide(rungs, costs, evidence),
        rungs,
        facts,
        _setting(loader),
        machine.facts(),
        took,
        costs,
        how,
        evidence=evidence,
        cuts=_cuts(loader, seconds, on_done) if cut else (),
        store=store,
        not_measured=(NO_REMEDIES, *not_measured(facts.kind)),
    )


def _measure(
    loader: Iterable[object],
    step: Callable[[Any], object],
    to_device: Callable[[Any], Any] | None,
    budget: Budget,
    on_done: Callable[[], None],
) -> Measured:
    """The ladder, and the costs of stages by the best way there is."""
    with Within(loader) as workers:
        ladder = Ladder(loader, step, to_device)
        rungs, costs = ladder.climb(budget, on_done), ladder.costs()
        evidence, store = ladder.why(budget, rungs, on_done), ladder.stored.found()
        # When the loader's speed is in question
        spans = ladder.spans["training" if headroom(rungs).low > 1 else "loader"]
        del ladder  # its workers go, so that replaying has the machine to itself
    if costs:
        return Measured(rungs, evidence, costs, stages.COUNTED, store)
    if workers.costs:
        seen = workers.evidence(evidence, spans)
        return Measured(rungs, seen, workers.costs, within.HOW, store)
    plan = stages.plan_of(loader)
    if plan is None:
        return Measured(rungs, evidence, (), "", store)
    costs = stages.replay(plan, REPLAY * budget.seconds)
    return Measured(rungs, evidence, costs, stages.REPLAYED if costs else "", store)


def _cuts(loader: Iterable[object], seconds: float, on_done: Callable[[], None]) -> tuple[Cut, ...]:
    return cuts.measure(cuts.of_torch(loader), Budget(seconds, 0.0), on_done)


def _setting(loader: Iterable[object]) -> Setting:
    return Setting(
        workers=getattr(loader, "num_workers", None), batch_size=getattr(loader, "batch_size", None)
    )


def _facts(step: object) -> StepFacts:
    kind = getattr(step, "kind", "callable")
    return StepFacts(kind, getattr(step, "rate", None) if kind == "emulated" else None)
