"""The one row that every benchmark writes, and the JSON-lines files that keep them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fastload.errors import UsageError
from fastload.measure import Interval, Sample, ratio

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Row:
    """One variant measured once on one machine, in `unit`."""

    benchmark: str
    variant: str
    settings: dict[str, Any]  # what the variants of one comparison share
    median: float
    low: float
    high: float
    spread: float  # (high - low) / median
    repetitions: int
    reference: str | None  # the variant that `ratio` compares with
    ratio: float | None  # median / the reference's median
    ratio_low: float | None  # 95 % bootstrap confidence interval
    ratio_high: float | None
    page_cache: str  # "warm", "cold" or "not used"
    data: dict[str, Any]  # facts.data_set
    machine: dict[str, Any]  # facts.machine
    software: dict[str, Any]  # facts.software
    commit: str
    dirty: bool
    date: str  # UTC
    load: float  # average of 1 minute before the run: other work on the machine
    also: dict[str, float] = field(
        default_factory=dict
    )  # further figures, the unit in the name; NAME_low, NAME_high: NAME's interval
    unit: str = "images/s"
    values: list[float] = field(
        default_factory=list
    )  # of every repetition, in order; older rows have none
    note: str = ""  # the variant's own settings, or why there is no number: repetitions is 0 then

    @property
    def origin(self) -> tuple[str, str]:
        """A later run of the same code on the same machine replaces this row."""
        return self.commit, json.dumps(self.machine, sort_keys=True)

    @property
    def subject(self) -> tuple[str, ...]:
        return (
            self.benchmark,
            self.variant,
            *(json.dumps(part, sort_keys=True) for part in (self.settings, self.data)),
        )


def measured(sample: Sample, reference: Sample | None) -> dict[str, Any]:
    """The fields of a row that come from the clock."""
    results = None if reference is None else ratio(sample, reference)
    return {
        "median": sample.median, "low": sample.low, "high": sample.high, "spread": sample.spread,
        "repetitions": len(sample.values),
        "values": list(sample.values),
        "ratio": results and results.value, "ratio_low": results and results.low,
        "ratio_high": results and results.high,
    }  # fmt: skip


def figure(name: str, results: Interval) -> dict[str, float]:
    """For `also`: an estimate with its 95 % confidence interval."""
    return {name: results.value, f"{name}_low": results.low, f"{name}_high": results.high}


def read(path: Path) -> list[Row]:
    """Rows of a results file; none if there is no file. Raises UsageError for what is no row."""
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            rows.append(Row(**json.loads(line)))
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"{path}, line {number}: is no benchmark row ({error}); mend or remove the line"
            ) from error
    return rows


def line(row: Row) -> str:
    return json.dumps(asdict(row), sort_keys=False)


def save(path: Path, new: Sequence[Row]) -> None:
    """Add rows; those of the same subject, commit and machine are replaced."""
    replaced = {(row.origin, row.subject) for row in new}
    kept = [row for row in read(path) if (row.origin, row.subject) not in replaced]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line(row) + "\n" for row in (*kept, *new)), encoding="utf-8")


def latest(rows: Iterable[Row]) -> list[Row]:
    """The rows of the last commit, machine and data in the file, and of those on no data: what
    tables and plots show.
    """
    results = list(rows)
    data: dict[str, Any] = next((row.data for row in reversed(results) if row.data), {})
    return [row for row in results if row.origin == results[-1].origin and row.data in (data, {})]


def tables(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows by the table that they belong to:

    "" is the main one, the others are named in the settings.
    """
    results: dict[str, list[Row]] = {}
    for row in rows:
        results.setdefault(row.settings.get("table", ""), []).append(row)
    return results
