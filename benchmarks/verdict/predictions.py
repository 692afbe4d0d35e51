"""What the profiler says a change would give, and what training then gives without the profiler."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.report import facts
from benchmarks.verdict import rows, truth, work
from benchmarks.verdict.judge import BUDGET, SECONDS, matching, never
from benchmarks.verdict.scenarios import STEP, Scenario
from fastload.measure import interleaved
from fastload.profiler.batches import Feed, alone
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.remedies import REPLICATES, SHORTER, Alternative, Priced

LONGER = (
    2  # than a profile of the verdict's: what a remedy gains is measured in half as long replicates
)
CHANGED = 1.15  # measured after by measured before, from which a pair counts
KINDS = {"read": "faster reads", "decode": "cheaper decoding", "augment": "cheaper transform",
    "python": "no Python transform",
         "collate": "cheaper collate"}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change to one scenario."""

    kind: str
    before: Scenario
    after: Scenario

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.before.name} to {self.after.name}"


def every_one() -> Iterator[Change]:
    for (cause, kind), workers, (now, then) in product(
        KINDS.items(), (0, 1), ((3.0, 1.5), (2.0, 0.5), (3.0, 0.0), (1.6, 1.0))
    ):

        def costs(ratio: float, cause: str = cause) -> Mapping[str, float]:
            return {cause: ratio * STEP, "read" if cause != "read" else "dataset": 0.2 * STEP}

        before = Scenario(f"{cause} {now} torch-{workers}", "torch", workers, costs(now))
        yield Change(kind, before, replace(before, name=f"{then}", costs=costs(then)))
    for cause, ratio in product(("read", "decode", "augment"), (1.5, 2.0, 2.5, 4.0)):
        before = Scenario(f"{cause} {ratio} torch-1", "torch", 1, {cause: ratio * STEP})
        yield Change("another worker", before, replace(before, name="2 workers", workers=2))
    for workers, ratio in product((1, 2), (1.5, 2.0, 3.0)):
        before = Scenario(
            f"augment {ratio} native-{workers}",
            "native",
            workers,
            {"decode": 1.0, "augment": 1.0},
            1 / ratio,
            side=160,
        )
        yield Change(
            "fastload without an op", before, replace(before, name="without", costs={"decode": 1.0})
        )
        large = Scenario(
            f"decode {ratio} native-{workers}",
            "native",
            workers,
            {"decode": 1.0},
            1 / ratio,
            side=640,
        )
        yield Change("fastload on smaller images", large, replace(large, name="320 px", side=320))


def run(
    results: Path, pattern: str | None, scale: float, on_done: Callable[[], None],
    say: Callable[[str], object],
    late: Callable[[], bool] = never,
) -> None:  # fmt: skip
    """Rows of the changes that have none yet."""
    file, common = rows.path(results, "predictions"), facts.common()
    for change in matching(list(every_one()), pattern):
        if change.name not in rows.done(file):
            if late():
                return
            row = {**measure(change, scale), **common}
            rows.add(file, row)
            then, found = round(row["predicted"]), round(row["measured"])
            say(
                f"{change.name}: predicted {then}, measured {found} images/s, before "
                f"{row['before']:.0f}"
            )
        on_done()


def measure(change: Change, scale: float) -> dict[str, Any]:
    seconds = SECONDS * scale
    before = truth.calibrated(change.before.scaled(scale), seconds)
    after = replace(change.after.scaled(scale), step=before.step)
    first, other = truth.train(before, seconds), truth.train(after, seconds)
    predicted = predict(before, after, max(1.0, LONGER * BUDGET * seconds))
    again, last = truth.train(before, seconds), truth.train(after, seconds)
    return {
        "scenario": change.name, "kind": change.kind, "scale": scale, "predicted": round(predicted,
        1),
        "before": round((first.rate + again.rate) / 2, 1),
        "measured": round((other.rate + last.rate) / 2, 1),
        "others": round((first.others + other.others + again.others + last.others) / 4, 3),
    }  # fmt: skip


def predict(before: Scenario, after: Scenario, seconds: float) -> float:
    """As `fastload profile` does it: the ladder as it is, the other loader alone, in turns with
    this one.
    """
    budget = Budget(seconds, time.perf_counter())
    ladder = Ladder(work.make_loader(before), work.make_step(before))
    rungs = ladder.climb(budget, lambda: None)
    del ladder
    now, then = Feed(work.make_loader(before)), Feed(work.make_loader(after))
    turns = {
        "loader": partial(alone, then, SHORTER * budget.run),
        "now": partial(alone, now, SHORTER * budget.run),
    }
    rates = interleaved(turns, REPLICATES)
    changed = Priced(Alternative("", "", "", ()), **rates, handover=then.handover)
    return changed.predicted(rungs)


def errors(found: list[dict[str, Any]]) -> list[float]:
    """Absolute error of the predictions of changes that mattered, as a share of what was
    measured.
    """
    return [
        abs(row["predicted"] / row["measured"] - 1)
        for row in found
        if abs(row["measured"] / row["before"] - 1) >= CHANGED - 1
    ]
