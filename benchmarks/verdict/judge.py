"""One scenario after the other: its truth, the profiler's verdict, a watched loop's, and what
simple rules would say.
"""

import os
import re
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import fastload
from benchmarks.report import facts
from benchmarks.verdict import rows, truth, work
from benchmarks.verdict.scenarios import HEADLINES, Scenario, every_one
from fastload.errors import UsageError
from fastload.profiler import Report, profile

SECONDS = 0.25  # of one run without the profiler, at scale 1; the scenarios may take another
WATCHED, FEWEST = 0.5, 20  # s and batches of a watched loop, at least
BUDGET = 8  # runs without the profiler that a profile may take
REPLICATES = 30  # of a rung in a profile's budget
# Ten that are far from every edge, for twenty verdicts each.
STABLE = (
    "read 2.0 torch-1", "decode 2.0 torch-1", "augment 3.0 torch-1", "python 3.0 iterable-1",
    "collate 2.0 torch-0", "copy 1.5 torch-1",
    "dataset 3.0 torch-2", "read 0.2 torch-1", "decode 3.0 640 px native-1", "augment 0.2 torch-1",
)  # fmt: skip
TIMES = 20


def matching(found: list[Any], pattern: str | None) -> list[Any]:
    """Those whose names have the regular expression. Raises UsageError if nothing is left."""
    try:
        left = [one for one in found if re.search(pattern or "", one.name)]
    except re.error as error:
        raise UsageError(
            f"verdict: --only {pattern!r} is no regular expression ({error}); mend it"
        ) from error
    if not left:
        raise UsageError(
            f"verdict: --only {pattern!r} fits none of {len(found)} names; try a cause, as in "
            "--only decode"
        )
    return left


def never() -> bool:
    return False


def run(
    results: Path, scenarios: list[Scenario], scale: float, on_done: Callable[[], None],
    say: Callable[[str], object],
    *, seconds: float = SECONDS, play: bool = False, late: Callable[[], bool] = never,
) -> None:  # fmt: skip
    """Rows of the scenarios that have none yet. scale: of all times; seconds: of a run, at scale 1;
    play: CPU time, but where neighbours are to take it.

    late: whether it is too late to begin another.
    """
    file, common = rows.path(results, "scenarios"), facts.common()
    for scenario in scenarios:
        if scenario.name not in rows.done(file):
            if late():
                return
            work.emulate(play and "neighbour" not in scenario.costs)
            row = {
                **scenario_row(scenario, scale, scale * seconds),
                **common,
                "load": round(os.getloadavg()[0], 2),
            }
            rows.add(file, row)
            say(line(row))
        on_done()


def scenario_row(scenario: Scenario, scale: float, seconds: float) -> dict[str, Any]:
    """seconds: of a run without the profiler."""
    started = time.perf_counter()
    scenario = truth.calibrated(scenario.scaled(scale), seconds)
    true = truth.measure(scenario, seconds)
    middle = time.perf_counter()
    found = profiled(scenario, seconds)
    end = time.perf_counter()
    watch = (
        watched(scenario, WATCHED * scale) if scenario.step_kind != "ahead" else None
    )  # without a GPU's events its waits are the host's
    return {
        "scenario": scenario.name, "group": scenario.group, "scale": scale,
        "run_s": seconds, "loader": scenario.loader, "workers": scenario.workers,
        "cpu": "played" if work.emulating() and scenario.loader != "native" else "burned",
        "truth": truth.facts(true), "profile": said(found), "watch": said(watch) if watch else None,
        "truth_s": round(middle - started, 2), "profile_s": round(end - middle, 2),
    }  # fmt: skip


def budget(scenario: Scenario, seconds: float) -> float:
    """s for a profile, so that a replicate has a late batch at least, as the 1.3 s of a usual
    profile's have.
    """
    period = scenario.every * max(
        scenario.step, scenario.costs.get("read", 0.0)
    ) + scenario.costs.get("jitter", 0.0)
    return max(
        1.0, BUDGET * seconds, REPLICATES * period / 1e3 if scenario.group == "jitter" else 0.0
    )


def profiled(scenario: Scenario, seconds: float) -> Report:
    with truth.neighbours(int(scenario.costs.get("neighbour", 0))):
        loader, step = work.make_loader(scenario), work.make_step(scenario)
        return profile(
            loader, step, seconds=budget(scenario, seconds), to_device=work.make_copy(scenario)
        )


def watched(scenario: Scenario, seconds: float) -> Report | None:
    """A loop of so many s under fastload.watch; None where it says too little."""
    with truth.neighbours(int(scenario.costs.get("neighbour", 0))):
        loader, step = work.make_loader(scenario), work.make_step(scenario)
        copy = work.make_copy(scenario) or (lambda batch: batch)
        with fastload.watch(loader, every=0) as seen:
            end = time.perf_counter() + seconds
            for number, batch in enumerate(loader, start=1):
                step(copy(batch))
                if time.perf_counter() > end and number >= FEWEST:
                    break
    try:
        return seen.report
    except UsageError:
        return None


def said(report: Report) -> dict[str, Any]:
    """The verdict, and what it was made from."""
    whole = report.to_json()
    s = report.verdict.stall
    return {
        "headline": report.verdict.headline, "severity": list(report.verdict.severity),
        "stall": round(s.value, 4),
        "low": round(s.low, 4), "high": round(s.high, 4),
        "headroom": round(report.verdict.headroom.value, 3),
        "wall_and_cpu_us": {stage.name: [round(1e6 * stage.wall_s),
        round(1e6 * stage.cpu_s)] for stage in report.stages},
        "replicates": rounded(whole["replicates"]),
        "evidence": rounded(whole["evidence"]),
    }  # fmt: skip


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def right(row: dict[str, Any], who: str = "profile") -> bool:
    """Whether the first cause that is named is a right one."""
    return row[who] is not None and row[who]["headline"] in {
        text for cause in row["truth"]["causes"] for text in HEADLINES[cause]
    }


def line(row: dict[str, Any]) -> str:
    true, found = row["truth"], row["profile"]
    mark = "right" if right(row) else "WRONG"
    return (
        f"{mark}  {row['scenario']}: {' or '.join(true['causes'])}, stall "
        f"{100 * true['stall']:.0f} %; "
        f"said {found['headline']}, {100 * found['stall']:.0f} %; others had "
        f"{100 * true['others']:.0f} % of the cores"
    )


def stability(
    results: Path, pattern: str | None, scale: float, on_done: Callable[[], None],
    say: Callable[[str], object],
    late: Callable[[], bool] = never,
) -> None:  # fmt: skip
    """Twenty verdicts on each of ten scenarios; the ten take turns."""
    file, common = rows.path(results, "stability"), facts.common()
    by_name = {scenario.name: scenario for scenario in every_one()}
    for number, name in product(range(1, TIMES + 1), STABLE):
        key = f"{name} #{number}"
        if key not in rows.done(file) and re.search(pattern or "", name):
            if late():
                return
            scenario = truth.calibrated(by_name[name].scaled(scale), SECONDS * scale)
            row = {
                "scenario": key,
                "of": name,
                "scale": scale,
                "profile": said(profiled(scenario, SECONDS * scale)),
                **common,
            }
            rows.add(file, row)
            say(f"{key}: {row['profile']['headline']}")
        on_done()
