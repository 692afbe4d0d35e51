"""A report as text: the verdict first, then short tables, at most 40 lines."""

import textwrap

from fastload.profiler import tables
from fastload.profiler.findings import Findings
from fastload.profiler.headline import headline

MAX_LINES = 40
CUT = "... (the rest is in --html and --json)"
WIDTH = 140  # of the fine print


def lines(report: Findings, most: int | None = MAX_LINES) -> list[str]:
    """The report's lines, without styles.

    most: then the fine print stays and tables before it are cut.
    """
    parts = [
        headline(report),
        tables.rates(report),
        tables.stages(report),
        tables.sizes(report),
        tables.cuts(report),
        tables.workers(report),
        tables.reading(report),
        tables.remedies(report),
    ]
    out = [line for part in parts if part for line in ("", *part)][1:]
    fine = _fine_print(report)
    fine = ["", *fine] if fine else []
    if most is not None and len(out) + len(fine) > most:
        fine = fine[: most // 2]
        out = [*out[: most - len(fine) - 1], CUT]
    return [*out, *fine]


def _fine_print(report: Findings) -> list[str]:
    why: dict[str, list[str]] = {}
    for reason in report.setting.why_backend:  # "backend native cannot run this plan: op 3 …"
        start, _, rest = reason.partition(": ")
        why.setdefault(start, []).append(rest)
    parts = [f"{start[:1].upper()}{start[1:]}: {'; '.join(rest)}." for start, rest in why.items()]
    parts += [f"Not included: {'; '.join(report.not_included)}."] if report.not_included else []
    parts += [f"Not measured: {'; '.join(report.not_measured)}."] if report.not_measured else []
    return [line for part in parts for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")]
