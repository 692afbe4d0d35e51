"""A report as text: the verdict first, then short tables.

At most 40 lines, unless more was asked for.
"""

import textwrap

from fastload.profiler import stored, tables
from fastload.profiler.findings import Findings
from fastload.profiler.headline import headline

MAX_LINES = 40
CUT = "... (the rest is in --html and --json)"
WIDTH = 140  # of the fine print


def lines(report: Findings, most: int | None = MAX_LINES, width: int = tables.WHOLE) -> list[str]:
    """The report's lines, without styles.

    most: then stages, sizes and remedies are cut, and long fine print. What was asked for by an
    option stays, however long it is.
    width: of the lines of tables. Those that had to be made narrower have more lines than `most`.
    """
    if any(len(line) > width for line in _tables(report)):
        most = None
    fine = _fine_print(report)
    fine = ["", *fine] if fine else []
    asked = any(priced.alternative.asked for priced in report.remedies)
    kept = [
        (headline(report), True),
        (tables.rates(report), True),
        (_store(report), True),
        (tables.stages(report, width), False),
        (tables.sizes(report, width), False),
        (tables.cuts(report, width), True),
        (tables.workers(report, width), True),
        (tables.reading(report), True),
        (tables.remedies(report, width), asked),
    ]
    parts = [(["", *part], keep) for part, keep in kept if part]
    if most is not None and sum(len(part) for part, _ in parts) - 1 + len(fine) > most:
        fine = fine[: most // 2]
        parts = _cut(parts, most - len(fine) + 1)
    shown = [line for part, _ in parts for line in part][1:]
    # What is cut of neighbouring parts is said once.
    twice = (one == CUT == other for one, other in zip(shown, [None, *shown], strict=False))
    return [line for line, again in zip(shown, twice, strict=True) if not again] + fine


def _store(report: Findings) -> list[str]:
    return [
        line
        for part in stored.lines(report.store, report.rungs.step.median)
        for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")
    ]


def _tables(report: Findings) -> list[str]:
    """Lines whose width can be chosen."""
    made = (tables.stages, tables.sizes, tables.cuts, tables.workers, tables.remedies)
    return [line for table in made for line in table(report)]


def _cut(parts: list[tuple[list[str], bool]], most: int) -> list[tuple[list[str], bool]]:
    """The parts cut to `most` lines, the last ones first; what was asked for stays whole."""
    over, out = sum(len(part) for part, _ in parts) - most, []
    for part, keep in reversed(parts):
        cut = 0 if keep or over <= 0 else min(len(part), over + 1)
        over -= max(0, cut - 1)
        out.append(([*part[: len(part) - cut], CUT] if cut else part, keep))
    return out[::-1]


def _fine_print(report: Findings) -> list[str]:
    why: dict[str, list[str]] = {}
    for reason in report.setting.why_backend:  # "backend native cannot run this plan: op 3 …"
        start, _, rest = reason.partition(": ")
        why.setdefault(start, []).append(rest)
    parts = [f"{start[:1].upper()}{start[1:]}: {'; '.join(rest)}." for start, rest in why.items()]
    tried = report.tried
    if tried and report.remedies and (text := tried.text or tried.problem):
        parts.append(f"{text[:1].upper()}{text[1:]}.")
    parts += [f"Not tried: {one.text}." for one in report.unpriced]
    parts += [f"Not included: {'; '.join(report.not_included)}."] if report.not_included else []
    parts += [f"Not measured: {'; '.join(report.not_measured)}."] if report.not_measured else []
    return [line for part in parts for line in textwrap.wrap(part, WIDTH, subsequent_indent="  ")]
