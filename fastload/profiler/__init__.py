"""The profiler: what limits training, with a confidence interval.

`print(profile(loader, step))` is the shortest use.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from fastload.errors import UsageError
from fastload.profiler import cuts as cut
from fastload.profiler import machine, stages, within
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.job import not_measured
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.live import Watch, watch
from fastload.profiler.report import Report
from fastload.profiler.steps import EmulatedStep
from fastload.profiler.verdict import decide, headroom
from fastload.profiler.within import Within

__all__ = ["EmulatedStep", "Report", "Watch", "profile", "watch"]


def profile(
    loader: Iterable[object],
    step: Callable[[Any], object],
    *,
    seconds: float = 40.0,
    to_device: Callable[[Any], Any] | None = None,
    on_done: Callable[[], None] = lambda: None,
    cuts: bool = False,
) -> Report:
    """Profile any torch-style loader with any training step; the loader is iterated, the step is
    called many times.

    step:      takes a batch and trains on it; EmulatedStep(images_per_s) plays one.
    seconds:   budget of the measuring, s; at least 1.
    to_device: moves a batch to where the step wants it; without it the step gets batches as the
        loader made them.
    on_done:   called after each run, for progress.
    cuts:      also the loader cut off after each transform, where it is PyTorch's over a data set with a Compose; beyond the budget.

    Small data sets have many epoch edges, and each one counts as the loader's. Raises UsageError,
    and what loader and step raise.
    """
    if not callable(step):
        raise UsageError(
            f"profile: step is {type(step).__name__}, want a function of one batch; see "
            "EmulatedStep"
        )
    if not seconds >= 1:
        raise UsageError(f"profile: seconds is {seconds}, want at least 1")
    budget = Budget(seconds, time.perf_counter())
    with Within(loader) as seen:
        ladder = Ladder(loader, step, to_device)
        rungs, costs, how = ladder.climb(budget, on_done), ladder.costs(), stages.COUNTED
        evidence = ladder.why(budget, rungs, on_done)
        spans = ladder.spans[
            "training" if headroom(rungs).low > 1 else "loader"
        ]  # where the loader's speed is in question
        del ladder
    if not costs and seen.costs:
        costs, how, evidence = seen.costs, within.HOW, seen.evidence(evidence, spans)
    elif not costs and (found := stages.plan_of(loader)):
        costs, how = stages.replay(found, 0.06 * seconds), stages.REPLAYED
    facts = _facts(step)
    return Report(
        decide(rungs, costs, evidence), rungs, facts, _setting(loader), machine.facts(),
        -budget.left(0.0), costs, how if costs else "",
        evidence=evidence, cuts=cut.measure(cut.of_torch(loader), Budget(seconds, 0.0),
        on_done) if cuts else (),
        not_measured=("what would help (fastload profile --recipe does)",
        *not_measured(facts.kind)),
    )  # fmt: skip


def _setting(loader: Iterable[object]) -> Setting:
    return Setting(
        workers=getattr(loader, "num_workers", None), batch_size=getattr(loader, "batch_size", None)
    )


def _facts(step: object) -> StepFacts:
    kind = getattr(step, "kind", "callable")
    return StepFacts(kind, getattr(step, "rate", None) if kind == "emulated" else None)
