"""Two reports side by side: has training become slower, and which part of it? A plan may stand in
the place of either.

It is meant for a check that runs with every change.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fastload.errors import UsageError
from fastload.measure import RESAMPLES, SEED, Interval
from fastload.metrics import planned
from fastload.profiler import foretold
from fastload.profiler.report import SCHEMA
from fastload.spec import Floats, Json
from fastload.system import limits

SLOWER = 0.95  # after by before, below which the whole interval has to lie for a regression
FASTER = 1 / SLOWER
RATES = {
    "training": "training_img_per_s",
    "loader alone": "loader_img_per_s",
    "step alone": "step_img_per_s",
}
SAME = (
    "step.kind",
    "step.assumed_img_per_s",
    "setting.recipe",
    "setting.images",
    "setting.batch_size",
    "setting.device",
    "machine.cpu",
    "machine.usable_cores",
    "machine.gpu",
)  # fmt: skip  where these differ, rates do too


@dataclass(frozen=True)
class Comparison:
    """Before and after. rates: after by before."""

    rates: dict[str, Interval]
    verdicts: tuple[str, str]
    stalls: tuple[float, float]
    stages: dict[str, tuple[float | None, float | None]]  # CPU us per image
    differ: tuple[str, ...]  # what else differs, in words

    @property
    def slower(self) -> bool:
        return self.rates["training"].high < SLOWER

    def lines(self) -> list[str]:
        word = (
            "SLOWER"
            if self.slower
            else "FASTER"
            if self.rates["training"].low > FASTER
            else "NO CLEAR DIFFERENCE"
        )
        before, after = (
            f"{label}, stall {100 * stall:.1f} %"
            for label, stall in zip(self.verdicts, self.stalls, strict=True)
        )
        out = [f"{word}   before: {before}   after: {after}"]
        out += [*(f"Not the same: {text}." for text in self.differ), ""]
        out += [
            f"{name:<13} {rate.value:.3f} x  [{rate.low:.3f}, {rate.high:.3f}]"
            for name, rate in self.rates.items()
        ]
        for name, costs in self.stages.items():
            out.append(
                f"stage {name}: "
                + " -> ".join("not there" if cost is None else f"{cost:,.0f}" for cost in costs)
                + " us CPU/image"
            )
        return out

    def to_json(self) -> Json:
        return {
            "schema": "fastload.comparison/1",
            "slower": self.slower,
            "after_by_before": {
                name: {"value": r.value, "ci95_low": r.low, "ci95_high": r.high}
                for name, r in self.rates.items()
            },
            "verdicts": list(self.verdicts),
            "stall_shares": list(self.stalls),
            "stages_cpu_us_per_img": {name: list(costs) for name, costs in self.stages.items()},
            "not_the_same": list(self.differ),
        }


def read(path: str) -> Json:
    """A report written with --json. Raises UsageError."""
    try:
        with open(path, "rb") as file:
            report = json.loads(limits.small(file, limits.REPORT))
    except OSError as error:
        raise UsageError(
            f"profile: {path}: cannot be read ({error.strerror}); give a report written with --json"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"profile: {path}: is no JSON ({error}); give a report written with --json"
        ) from error
    schema = report.get("schema") if isinstance(report, dict) else None
    if schema in planned.SCHEMAS:
        try:
            report, schema = foretold.report(report), SCHEMA
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"profile: {path}: is a plan that foretells no rates ({type(error).__name__}: "
                f"{error}); make it anew with fastload plan --json"
            ) from error
    if schema != SCHEMA:
        raise UsageError(
            f"profile: {path}: schema is {schema!r}, want {SCHEMA!r}; give a report written with "
            "--json"
        )
    if wrong := [name for name in RATES.values() if not _rates(report, name)]:
        raise UsageError(
            f"profile: {path}: replicates.{wrong[0]} is no list of rates; the file is damaged, "
            "profile again"
        )
    return dict(report)


def compare(before: Json, after: Json) -> Comparison:
    """Of two documents that `read` gave. Raises UsageError where their steps cannot be compared."""
    _check_steps(before, after)
    rates = {name: _ratio(_rates(after, key), _rates(before, key)) for name, key in RATES.items()}
    stages = [_stages(before), _stages(after)]
    names = dict.fromkeys((*stages[0], *stages[1]))
    return Comparison(
        rates,
        (_headline(before), _headline(after)),
        (_stall(before), _stall(after)),
        {name: (stages[0].get(name), stages[1].get(name)) for name in names},
        tuple(
            f"{key} was {_at(before, key)}, is {_at(after, key)}"
            for key in SAME
            if _at(before, key) != _at(after, key) and not _untold(key, before, after)
        ),
    )


def _check_steps(before: Json, after: Json) -> None:
    """An emulated step has the rate that somebody gave it: against any other step, or at another
    rate, a ratio says nothing of a change.
    """
    kinds, rates = (
        [_at(report, f"step.{key}") for report in (before, after)]
        for key in ("kind", "assumed_img_per_s")
    )
    if not all(isinstance(kind, str) for kind in kinds) or "emulated" not in kinds:
        return
    if kinds[0] != kinds[1]:
        raise UsageError(
            f"profile: --compare: the step before was {kinds[0]}, after {kinds[1]} (want the same "
            "kind: an emulated step has an assumed rate); profile both in the same way"
        )
    if rates[0] != rates[1] and None not in rates:
        raise UsageError(
            f"profile: --compare: the emulated step before gave {rates[0]} images/s, after "
            f"{rates[1]} (want the same rate); give both profiles the same --step-rate or --assume"
        )


def _untold(key: str, *reports: Json) -> bool:
    """Whether one of them is a plan, which says nothing of that."""
    return any("step" not in report and _at(report, key) is None for report in reports)


def _headline(report: Json) -> str:
    label, stage = _at(report, "verdict.label"), _at(report, "verdict.stage")
    return f"{label}: {stage}" if stage else str(label)


def _stall(report: Json) -> float:
    """Of the medians, as the report has it."""
    return 1 - float(np.median(_rates(report, "training_img_per_s"))) / float(
        np.median(_rates(report, "step_img_per_s"))
    )


def _stages(report: Json) -> dict[str, float]:
    """CPU time per image by stage, us. Entries that are no stages are left out."""
    stages = _at(report, "stages")
    pairs = (
        [(_at(one, "name"), _at(one, "cpu_us_per_img")) for one in stages]
        if isinstance(stages, list)
        else []
    )
    return {
        name: float(cost)
        for name, cost in pairs
        if isinstance(name, str) and isinstance(cost, (int, float))
    }


def _at(value: object, path: str) -> object:
    """The value at a dotted path; None where there is none."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _rates(report: Json, name: str) -> list[float]:
    rates = _at(report, f"replicates.{name}")
    if not isinstance(rates, list):
        return []
    good = all(isinstance(rate, (int, float)) and 0 < rate < 1e12 for rate in rates)
    return [float(rate) for rate in rates] if good else []


def _ratio(after: Sequence[float], before: Sequence[float]) -> Interval:
    """median / median; the two runs share nothing, so each is resampled by itself."""
    draw = np.random.Generator(np.random.Philox(SEED))
    median: Callable[..., Floats] = np.median
    tops, bottoms = (
        np.array(rates)[draw.integers(0, len(rates), (RESAMPLES, len(rates)))]
        for rates in (after, before)
    )
    low, high = np.percentile(median(tops, axis=-1) / median(bottoms, axis=-1), [2.5, 97.5])
    return Interval(float(median(after) / median(before)), float(low), float(high))
