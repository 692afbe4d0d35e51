"""A report as one HTML file: pictures drawn as SVG inside it, no scripts, nothing fetched; light and dark, and it prints."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass

from fastload.profiler import verdict as v
from fastload.profiler.report import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { --ink: #111827; --soft: #4b5563; --paper: #f9fafb; --card: #ffffff; --line: #d1d5db; --bar: #2563eb;
  --good: #15803d; --warn: #b45309; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --ink: #f3f4f6; --soft: #b6bcc6; --paper: #111827; --card: #1f2937; --line: #4b5563;
  --bar: #60a5fa; --good: #4ade80; --warn: #fbbf24; --bad: #f87171; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 24px; max-width: 980px; color: var(--ink); background: var(--paper); }
header { border-left: 8px solid var(--edge); padding: 2px 0 2px 16px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 16px; margin: 28px 0 8px; } p { margin: 4px 0; }
.soft { color: var(--soft); } svg { width: 100%; height: auto; background: var(--card); border: 1px solid var(--line); }
text { fill: var(--ink); font: 13px system-ui, sans-serif; } .bar { fill: var(--bar); } .range { stroke: var(--ink); stroke-width: 1.5; }
.limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line); padding: 12px; font-size: 12px; line-height: 1.4; }
@media print { body { max-width: none; background: #fff; } }
"""
EDGES = {"OK": "--good", "MODERATE": "--warn", "HIGH": "--bad"}
LEFT, RIGHT, ROW, WIDTH = 190, 190, 28, 940  # px of a chart: names, numbers, a bar's row, everything


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
    lines = str(report).splitlines()
    title = f"fastload profile: {report.verdict.headline}"
    s = report.verdict.stall
    facts = (
        f"Stall {100 * s.value:.1f} % [{100 * s.low:.1f}, {100 * s.high:.1f}] · "
        f"accelerator utilisation {100 * report.verdict.utilisation:.0f} % "
        f"(MLPerf Storage asks {100 * v.AU_GATE:.0f} %) · {' or '.join(report.verdict.severity)}"
    )
    header = (
        f'<header style="--edge: var({edge})"><h1>{_text(report.verdict.headline)}</h1><p>{_text(facts)}</p>'
        f"<p>{_text(lines[1].strip())}</p><p class=soft>{_text(report.step.note)}</p></header>"
    )
    parts = [
        header,
        *_charts(report),
        f"<h2>The whole report</h2><pre>{_text(chr(10).join(lines))}</pre>",
        f"<h2>Machine</h2><pre>{_text(json.dumps(report.machine, indent=1, default=str))}</pre>",
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{_text(title)}</title><style>{STYLE}</style></head>\n<body>'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _charts(report: Report) -> list[str]:
    rungs, known = report.rungs, report.evidence
    samples = (
        ("step alone", rungs.step), ("loader alone", rungs.loader), ("training", rungs.training),
        ("step beside the loader", known.beside), ("step with copies", known.transfer),
    )  # fmt: skip
    rates = [Bar(name, s.median, f"{s.median:,.0f} images/s", s.low, s.high) for name, s in samples if s is not None]
    out = [_chart("Rates; the line is what the step alone could take", rates, rungs.step.median)]
    stages = [
        Bar(stage.name, stage.wall_s, f"{1e3 * stage.cpu_s:.2f} ms CPU, {1e3 * stage.blocked_s:.2f} ms waiting") for stage in report.stages
    ]
    out += [_chart("Stages: time of one thread per image", stages)] if stages else []
    workers = [
        Bar(f"{at.workers} workers", at.loader.median, f"{at.loader.median:,.0f} images/s", at.loader.low, at.loader.high)
        for at in report.workers
    ]
    out += [_chart("Loader alone by number of workers", workers, rungs.step.median)] if workers else []
    other = [
        Bar(p.alternative.name, p.loader.median, f"{p.loader.median:,.0f} images/s", p.loader.low, p.loader.high) for p in report.remedies
    ]
    now = Bar("loader as it is", rungs.loader.median, f"{rungs.loader.median:,.0f} images/s")
    return out + ([_chart("What else was measured: loader alone", [now, *other], rungs.step.median)] if other else [])


def _chart(title: str, bars: Sequence[Bar], limit: float | None = None) -> str:
    """Horizontal bars with ranges from 0; limit: a line. A limit far beyond the bars would flatten them and is left out."""
    longest = max([bar.high or bar.value for bar in bars] + [1e-12])
    limit = limit if limit is not None and limit <= 4 * longest else None
    scale = (WIDTH - LEFT - RIGHT) / max(longest, limit or 0.0)
    height = ROW * len(bars) + 12
    rows = "".join(_row(bar, 6 + ROW * place, scale) for place, bar in enumerate(bars))
    if limit is not None:
        x = LEFT + limit * scale
        rows += f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
    told = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return f'<h2>{_text(title)}</h2><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_text(told)}">{rows}</svg>'


def _row(bar: Bar, top: int, scale: float) -> str:
    middle, length = top + ROW / 2, max(1.0, bar.value * scale)
    name = bar.name if len(bar.name) <= 26 else bar.name[:25] + "…"
    out = f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{_text(name)}</text>'
    out += f'<rect class="bar" x="{LEFT}" y="{top + 5}" width="{length:.1f}" height="{ROW - 10}"/>'
    if bar.low is not None and bar.high is not None:
        out += f'<line class="range" x1="{LEFT + bar.low * scale:.1f}" x2="{LEFT + bar.high * scale:.1f}" y1="{middle}" y2="{middle}"/>'
    return out + f'<text x="{WIDTH - RIGHT + 10}" y="{middle + 4}">{_text(bar.text)}</text>'


def _text(text: str) -> str:
    return html.escape(text)
