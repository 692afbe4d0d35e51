"""A report as one HTML file: pictures drawn as SVG inside it, no scripts, nothing fetched; light
and dark, and it prints.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from fastload.profiler import render
from fastload.profiler import verdict as v
from fastload.profiler.remedies import Priced
from fastload.profiler.report import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { --ink: #111827; --soft: #4b5563; --paper: #f9fafb; --card: #ffffff; --line: #d1d5db; --bar: #2563eb;
  --good: #15803d; --warn: #b45309; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --ink: #f3f4f6; --soft: #b6bcc6; --paper: #111827; --card: #1f2937; --line: #4b5563;
  --bar: #60a5fa; --good: #4ade80; --warn: #fbbf24; --bad: #f87171; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 24px; max-width: 1100px;
  color: var(--ink); background: var(--paper); }
header { border-left: 8px solid var(--edge); padding: 2px 0 2px 16px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 16px; margin: 28px 0 8px; } p { margin: 4px 0; }
.soft { color: var(--soft); } svg { width: 100%; height: auto; background: var(--card); border: 1px solid var(--line); }
text { fill: var(--ink); font: 13px system-ui, sans-serif; } .bar { fill: var(--bar); }
.range { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.halo { fill: none; stroke: var(--card); stroke-width: 4; }
.limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line); padding: 12px; font-size: 12px; line-height: 1.4; }
table { border-collapse: collapse; } td { padding: 1px 16px 1px 0; }
@media print { body { max-width: none; background: #fff; } pre { white-space: pre-wrap; font-size: 9px; } svg { break-inside: avoid; } }
"""
EDGES = {"OK": "--good", "MODERATE": "--warn", "HIGH": "--bad"}
ROW, WIDTH, LETTER, MOST = (
    28,
    1050,
    7.4,
    48,
)  # px of a chart: a bar's row, everything, a letter; letters of a name
LIMIT = "the dashed line is what the step alone could take"


@dataclass(frozen=True)
class Bar:
    """One row of a chart; low and high: the range of the replicates."""

    name: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None


def write(report: Report) -> str:
    """The document. Every text is escaped: names of recipes and stages are somebody else's."""
    edge = EDGES[report.verdict.severity[-1]] if report.verdict.label != v.OPEN else "--warn"
    lines = render.lines(report, most=None)
    title = f"fastload profile: {report.verdict.headline}"
    s = report.verdict.stall
    facts = (
        f"Stall {100 * s.value:.1f} % [{100 * s.low:.1f}, {100 * s.high:.1f}] · "
        f"accelerator utilisation {100 * report.verdict.utilisation:.0f} % "
        f"(MLPerf Storage asks {100 * v.AU_GATE:.0f} %) · {' or '.join(report.verdict.severity)}"
    )
    meaning = "".join(f"<p>{_text(line.strip())}</p>" for line in lines[1 : lines.index("")])
    header = (
        '<header style="--edge: '
        f'var({edge})"><h1>{_text(report.verdict.headline)}</h1><p>{_text(facts)}</p>{meaning}</header>'
    )
    machine = "".join(
        f"<tr><td>{_text(name.replace('_', ' '))}</td><td>{_text('none' if value is None else str(value))}</td></tr>"
        for name, value in report.machine.items()
    )
    parts = [
        header,
        *_charts(report),
        f"<h2>The whole report</h2><pre>{_text(chr(10).join(lines))}</pre>",
        f"<h2>Machine</h2><table>{machine}</table>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta '
        f'http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" '
        f'content="width=device-width"><title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _charts(report: Report) -> list[str]:
    rungs, known = report.rungs, report.evidence
    samples = (
        ("step alone", rungs.step), ("loader alone", rungs.loader), ("training", rungs.training),
        ("step beside the loader", known.beside), ("step with copies", known.transfer),
    )  # fmt: skip
    rates = [
        Bar(name, s.median, f"{s.median:,.0f} images/s", s.low, s.high)
        for name, s in samples
        if s is not None
    ]
    out = [_chart(f"Rates; {LIMIT}", rates, rungs.step.median)]
    stages = [
        Bar(
            stage.name,
            stage.wall_s,
            f"{1e3 * stage.cpu_s:.2f} ms CPU, {1e3 * stage.blocked_s:.2f} ms waiting",
        )
        for stage in report.stages
    ]
    out += [_chart("Stages: time of one thread per image", stages)] if stages else []
    warm, cold = (
        [(cut.name, cut.loader) for cut in report.cuts],
        [(cut.name, cut.cold) for cut in report.cuts if cut.cold],
    )
    for how, found in (("", warm), (", cold", cold)):
        bars = [
            Bar(name, s.median, f"{s.median:,.0f} images/s", s.low, s.high) for name, s in found
        ]
        out += (
            [_chart(f"Loader cut off after each stage{how}; {LIMIT}", bars, rungs.step.median)]
            if bars
            else []
        )
    workers = [
        Bar(
            f"{at.workers} worker{'s' if at.workers > 1 else ''}",
            at.loader.median,
            f"{at.loader.median:,.0f} images/s",
            at.loader.low,
            at.loader.high,
        )
        for at in report.workers
    ]
    out += (
        [_chart(f"Loader alone by number of workers; {LIMIT}", workers, rungs.step.median)]
        if workers
        else []
    )
    other = [
        Bar(
            p.alternative.name,
            p.loader.median,
            f"{p.loader.median:,.0f} images/s",
            p.loader.low,
            p.loader.high,
        )
        for p in report.remedies
    ]
    now = Bar(
        "loader as it is",
        rungs.loader.median,
        f"{rungs.loader.median:,.0f} images/s",
        rungs.loader.low,
        rungs.loader.high,
    )
    out += (
        [_chart(f"What else was measured: loader alone; {LIMIT}", [now, *other], rungs.step.median)]
        if other
        else []
    )
    gains = [_trained(p, report) for p in report.remedies if p.worth_it]
    now = Bar(
        "as it is",
        rungs.training.median,
        f"{rungs.training.median:,.0f} images/s",
        rungs.training.low,
        rungs.training.high,
    )
    return out + (
        [_chart(f"Training with it; {LIMIT}", [now, *gains], rungs.step.median)] if gains else []
    )


def _trained(priced: Priced, report: Report) -> Bar:
    """Measured where it was, else predicted."""
    predicted, found = priced.predicted(report.rungs), priced.training
    if found is None:
        return Bar(priced.alternative.name, predicted, f"{predicted:,.0f} images/s, predicted")
    return Bar(
        priced.alternative.name,
        found.median,
        f"{found.median:,.0f} images/s, predicted {predicted:,.0f}",
        found.low,
        found.high,
    )


def _chart(title: str, bars: Sequence[Bar], limit: float | None = None) -> str:
    """Horizontal bars with ranges from 0; limit: a line.

    A limit far beyond the bars would flatten them and is left out.
    """
    longest = max([bar.high or bar.value for bar in bars] + [1e-12])
    limit = limit if limit is not None and limit <= 4 * longest else None
    left = 24 + LETTER * max(min(len(bar.name), MOST) for bar in bars)
    right = 24 + LETTER * max(len(bar.text) for bar in bars)
    scale = (WIDTH - left - right) / max(longest, limit or 0.0)
    height = ROW * len(bars) + 12
    rows = "".join(_row(bar, 6 + ROW * place, scale, left, right) for place, bar in enumerate(bars))
    if limit is not None:
        x = left + limit * scale
        rows += f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    title = title if limit is not None else title.removesuffix(f"; {LIMIT}")
    return (
        f'<h2>{_text(title)}</h2><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{_text(told)}">{rows}</svg>'
    )


def _row(bar: Bar, top: int, scale: float, left: float, right: float) -> str:
    middle, length = top + ROW / 2, max(1.0, bar.value * scale)
    name = bar.name if len(bar.name) <= MOST else bar.name[: MOST - 1] + "…"
    out = f'<text x="{left - 10:.1f}" y="{middle + 4}" text-anchor="end">{_text(name)}</text>'
    out += (
        f'<rect class="bar" x="{left:.1f}" y="{top + 5}" width="{length:.1f}" height="{ROW - 10}"/>'
    )
    if bar.low is not None and bar.high is not None:
        low, high = left + bar.low * scale, left + bar.high * scale
        path = f"M{low:.1f} {middle - 4}v8M{low:.1f} {middle}H{high:.1f}M{high:.1f} {middle - 4}v8"
        out += f'<path class="halo" d="{path}"/><path class="range" d="{path}"/>'
    return out + f'<text x="{WIDTH - right + 12:.1f}" y="{middle + 4}">{_text(bar.text)}</text>'


def _text(text: str) -> str:
    return html.escape(text)
