"""The figures of the verdict as Markdown, for `<!-- benchmarks: verdict NAME -->`: every number in
the docs comes from here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.verdict import overhead, predictions, rows
from benchmarks.verdict.judge import right
from benchmarks.verdict.truth import DISTURBED, EDGES, causes
from fastload.errors import UsageError
from fastload.profiler.verdict import CPU, DATA_BOUND, OPEN

Row = dict[str, Any]
# What other tools judge by, on the same trainings: (finds that training waits, names a CPU-bound
# loader).
RULES: dict[str, tuple[Callable[[Row], bool], Callable[[Row], bool]]] = {
    "share of waiting > 5 %": (lambda row: row["truth"]["wait"] > 0.05, lambda _: False),
    "share of waiting > 20 %": (lambda row: row["truth"]["wait"] > 0.2, lambda _: False),
    "CPU > 90 %": (lambda row: row["truth"]["busy"] > 0.9, lambda row: row["truth"]["busy"] > 0.9),
    "fewer than 2 workers": (lambda row: row["workers"] < 2, lambda _: False),
}
OURS = {"profile": "fastload profile", "watch": "fastload.watch"}
CONTROL = "control"  # the group without a fault
BURNING = {
    "dataset",
    "decode",
    "augment",
    "python",
    "collate",
    "payload",
}  # causes that are CPU-BOUND


def markdown(results: Path, name: str) -> str:
    """One table with its footnote. Raises UsageError where there are no rows, or no such table."""
    made = {
        "": _who,
        "groups": _groups,
        "stability": _stability,
        "predictions": _predictions,
        "overhead": _overhead,
    }
    if name not in made:
        raise UsageError(
            f"table: verdict has no table {name} (want one of: {', '.join(filter(None, made))}); "
            "mend the marker"
        )
    kind = "scenarios" if name in ("", "groups") else name
    found = rows.latest(rows.path(results, kind))
    if not found:
        raise UsageError(
            f"table: verdict has no {kind}; run `python -m benchmarks "
            f"verdict{'' if kind == 'scenarios' else f' --{kind}'}` first"
        )
    return "\n".join([*made[name](found), "", _footnote(found)]) + "\n"


def waits(row: Row) -> bool:
    return bool(row["truth"]["stall"] >= EDGES[1])


def rests(row: Row) -> bool:
    """The step is the limit, and nothing else is."""
    return bool(row["truth"]["stall"] < EDGES[0])


def without_others(true: Row) -> Row:
    """The truth as it is where only what was put in may be a cause."""
    gains = {name: gain for name, gain in true["gains"].items() if name not in ("others", "step")}
    return {**true, "causes": list(causes(true["stall"], gains))}


def clear(row: Row) -> bool:
    return len(row["truth"]["causes"]) == 1


def _who(found: Sequence[Row]) -> list[str]:
    """Everybody on the same trainings."""
    out = [
        _line(
            "judge",
            "waiting found",
            "false alarms",
            "false CPU-BOUND",
            "first cause right",
            "left open",
            "stall off by (median, p90)",
        ),
        RULE * 7 + "|",
    ]
    for who, text in OURS.items():
        judged = [row for row in found if row[who] is not None]
        labels = [(row, row[who]["headline"].partition(":")[0]) for row in judged]
        off = [100 * abs(max(0.0, row[who]["stall"]) - row["truth"]["stall"]) for row in judged]
        out.append(_line(
            text, _share(labels, lambda one: waits(one[0]), lambda one: one[1] in DATA_BOUND),
            _share(labels, lambda one: rests(one[0]), lambda one: one[1] in DATA_BOUND),
            _share(labels, lambda one: rests(one[0]), lambda one: one[1] == CPU),
            _share(judged, clear, lambda row, who=who: right(row, who)),
            _share(labels, lambda one: clear(one[0]), lambda one: one[1] == OPEN),
            f"{_quantiles(off)} points",
        ))  # fmt: skip
    alone = [{**row, "truth": without_others(row["truth"])} for row in found]
    if [row["truth"] for row in alone] != [row["truth"] for row in found]:
        strict = _share(alone, clear, right)
        out.append(
            _line(
                "fastload profile, if other people's work is no cause", "", "", "", strict, "", ""
            )
        )
    return [*out, *_simple_rules(found)]


def _simple_rules(found: Sequence[Row]) -> list[str]:
    """Rules of thumb on the same trainings; they name no stall."""
    out = []
    for text, (finds, names) in RULES.items():
        out.append(_line(
            text, _share(found, waits, finds), _share(found, rests, finds), _share(found, rests,
            names),
            _share(found, clear, lambda row, finds=finds, names=names: _named(row, finds(row),
            names(row))), "-", "-",
        ))  # fmt: skip
    return out


def _named(row: Row, finds: bool, cpu: bool) -> bool:
    """Without a name for the cause, a rule is right only where there is none; one that names the
    CPU, where a worker burns it.
    """
    cause = row["truth"]["causes"][0]
    return not finds if cause == "step" else cpu and cause in BURNING


def _groups(found: Sequence[Row]) -> list[str]:
    out = [
        _line(
            "scenarios",
            "number",
            "one clear cause",
            "first cause right",
            "of more causes, one named",
            "stall off by (median, p90)",
        ),
        RULE * 6 + "|",
    ]
    faulty = [row for row in found if row["group"] != CONTROL]
    groups = {
        group: [row for row in found if row["group"] == group]
        for group in dict.fromkeys(row["group"] for row in found)
    }
    for group, own in {**groups, "all with a fault": faulty, "all": found}.items():
        off = [100 * abs(max(0.0, row["profile"]["stall"]) - row["truth"]["stall"]) for row in own]
        mixed = _share(own, lambda row: not clear(row), right)
        out.append(
            _line(
                group,
                len(own),
                sum(map(clear, own)),
                _share(own, clear, right),
                mixed,
                f"{_quantiles(off)} points",
            )
        )
    return out


def _stability(found: Sequence[Row]) -> list[str]:
    by_name: dict[str, list[str]] = {}
    for row in found:
        by_name.setdefault(row["of"], []).append(row["profile"]["headline"])
    out = [_line("scenario", "verdict", "given"), RULE * 3 + "|"]
    for name, given in by_name.items():
        usual = max(set(given), key=given.count)
        out.append(_line(name, usual, f"{given.count(usual)} of {len(given)}"))
    return out


def _predictions(found: Sequence[Row]) -> list[str]:
    out = [_line("change", "pairs", "median error", "90th percentile"), RULE * 4 + "|"]
    for kind in [*dict.fromkeys(row["kind"] for row in found), ""]:
        off = [
            100 * error
            for error in predictions.errors([row for row in found if kind in ("", row["kind"])])
        ]
        if off:
            out.append(
                _line(
                    kind or "all",
                    len(off),
                    f"{np.median(off):.1f} %",
                    f"{np.percentile(off, 90):.1f} %",
                )
            )
    return out


def _overhead(found: Sequence[Row]) -> list[str]:
    out = [
        _line(
            "looking on",
            "CPU time of a training",
            "time of it",
            "pairs",
            "us per batch in the training process",
        ),
        RULE * 5 + "|",
    ]
    for row in found:
        cpu, wall = overhead.text(row["cpu"]), overhead.text(row["wall"])
        out.append(_line(row["scenario"], cpu, wall, row["pairs"], f"{row['us_per_batch']:.1f}"))
    return out


def _share(found: Sequence[Any], of: Callable[[Any], bool], have: Callable[[Any], bool]) -> str:
    those = [one for one in found if of(one)]
    number = sum(map(have, those))
    return f"{number} of {len(those)}" + (f" ({100 * number / len(those):.0f} %)" if those else "")


def _quantiles(values: Sequence[float]) -> str:
    return f"{np.median(values):.1f}, {np.percentile(values, 90):.1f}" if values else "-"


def _footnote(found: Sequence[Row]) -> str:
    first, last = found[0], found[-1]
    others = [
        row["truth"]["others"] if "truth" in row else row["others"]
        for row in found
        if "truth" in row or "others" in row
    ]
    parts = [
        f"{first['machine']['cpu']}, {first['machine']['cores_usable']} cores",
        f"torch {first['software']['torch']}",
        f"other people's processes had {100 * np.median(others):.0f} % of the cores (median), more "
        f"than {100 * DISTURBED:.0f} % in "
        f"{sum(value > DISTURBED for value in others)} of {len(others)} rows" if others else "",
        f"CPU time played in {sum(row.get('cpu') == 'played' for row in found)} of {len(found)} "
        "rows" if "cpu" in first else "",
        "all times x "
        f"{' and '.join(f'{scale:g}' for scale in sorted({row['scale'] for row in found}))}"
        if "scale" in first else "",
        f"runs of {first['run_s']:.2g} s" if "run_s" in first else "",
        f"commits {first['commit'][:12]} to {last['commit'][:12]}, {last['date']}",
    ]  # fmt: skip
    return "; ".join(part for part in parts if part) + "."


RULE = "|---"


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
