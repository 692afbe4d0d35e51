"""A report as one HTML file. Its charts are SVG inside it; it has no scripts and fetches nothing.

It has light and dark colours, and can be printed.
"""

from collections.abc import Iterable

from fastload.measure import Sample
from fastload.profiler import render
from fastload.profiler import verdict as v
from fastload.profiler.advice import advice
from fastload.profiler.charts import Bar, chart, escaped
from fastload.profiler.offers import offers
from fastload.profiler.remedies import Priced
from fastload.profiler.report import Report

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
:root { --ink: #111827; --soft: #4b5563; --paper: #f9fafb; --card: #ffffff; --line: #d1d5db;
  --bar: #2563eb; --wait: #d97706; --good: #15803d; --warn: #b45309; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f3f4f6; --soft: #b6bcc6; --paper: #111827; --card: #1f2937; --line: #4b5563;
    --bar: #60a5fa; --wait: #fbbf24; --good: #4ade80; --warn: #fbbf24; --bad: #f87171; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 20px 16px; max-width: 720px;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
header { border-left: 8px solid var(--edge); padding: 2px 0 2px 16px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 20px; margin: 36px 0 8px; }
h3 { font-size: 15px; margin: 20px 0 6px; } p { margin: 6px 0; }
.soft { color: var(--soft); font-size: 14px; } .do { font-size: 18px; font-weight: 600; }
svg { width: 100%; height: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; }
text { fill: var(--ink); font: 15px system-ui, sans-serif; } .bar { fill: var(--bar); }
.name { font-weight: 600; } .wait { fill: var(--wait); }
.key { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 12px; }
.range { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.halo { fill: none; stroke: var(--card); stroke-width: 4; }
.limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
pre { overflow-x: auto; background: var(--card); border: 1px solid var(--line); padding: 12px;
  font-size: 12px; line-height: 1.4; overflow-wrap: normal; } summary { cursor: pointer; }
table { border-collapse: collapse; width: 100%; font-size: 15px; }
td, th { padding: 6px 10px 6px 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td code { overflow-wrap: anywhere; }
@media (max-width: 480px) { text { font-size: 20px; }
  td, th { padding-right: 6px; font-size: 14px; }
  .offers tr:first-child { display: none; } .offers td { display: block; border: none; padding: 0; }
  .offers td[data-name]::before { content: attr(data-name) ": "; color: var(--soft); }
  .offers tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); } }
@media print { body { max-width: none; background: #fff; }
  pre { white-space: pre-wrap; font-size: 9px; } svg { break-inside: avoid; } }
"""
KEY = (
    '<p class="soft"><span class="key" style="background: var(--bar)"></span>CPU'
    '<span class="key" style="background: var(--wait)"></span>waiting</p>'
)
OFFERED = ("training, images/s", "times today's", "how it is known", "cost")  # of each remedy
EDGES = {"OK": "--good", "MODERATE": "--warn", "HIGH": "--bad"}


def write(report: Report) -> str:
    """The document. Every text is escaped."""
    title = escaped(f"fastload profile: {report.verdict.headline}")
    lines = render.lines(report, most=None)
    first = lines.index("")
    shown = [line for line in lines[1:first] if not line.startswith("DO ")]
    numbers = escaped("\n".join(lines[first + 1 :]))
    body = [
        _header(report, shown),
        _remedies(report),
        "<h2>Why</h2>",
        *_charts(report),
        _sure(report),
        "<h2>Details</h2>",
        f"<details><summary>All numbers</summary><pre>{numbers}</pre></details>",
        _machine(report),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _header(report: Report, meaning: Iterable[str]) -> str:
    """The verdict; meaning: its lines in words."""
    verdict = report.verdict
    edge = EDGES[verdict.severity[-1]] if verdict.label != v.OPEN else "--warn"
    do = advice(report)
    paragraphs = f'<p class="do">{escaped(do)}</p>' if do else ""
    paragraphs += "".join(f"<p>{escaped(line.strip())}</p>" for line in meaning)
    return (
        f'<header style="--edge: var({edge})"><h1>{escaped(verdict.headline)}</h1>'
        f"{paragraphs}</header>"
    )


def _remedies(report: Report) -> str:
    """What to do: each remedy with the training that it gives."""
    remedies = sorted(offers(report), key=lambda one: -one.gain.value)
    others = "".join(f"<li>{escaped(one.text)}</li>" for one in report.unpriced)
    more = f'<h3>Not tried</h3><ul class="soft">{others}</ul>' if others else ""
    if not remedies:
        return f"<h2>What to do</h2>{more}" if more else ""
    rows = ""
    for one in remedies:
        training, gained = one.training, one.gain
        how = f"<br><code>{escaped(one.how)}</code>" if one.how else ""
        cells = (
            f"{training.value:,.0f} ({training.low:,.0f} to {training.high:,.0f})",
            f"{gained.value:.2g} ({gained.low:.2g} to {gained.high:.2g})",
            one.basis,
            one.cost,
        )
        rows += f"<tr><td>{escaped(one.name)}{how}</td>"
        rows += "".join(
            f'<td data-name="{name}">{escaped(cell)}</td>'
            for name, cell in zip(OFFERED, cells, strict=True)
        )
        rows += "</tr>"
    head = "".join(f"<th>{name}</th>" for name in ("", *OFFERED))
    return f'<h2>What to do</h2><table class="offers"><tr>{head}</tr>{rows}</table>{more}'


def _sure(report: Report) -> str:
    """How sure the verdict is."""
    verdict, s = report.verdict, report.verdict.stall
    open_ = "" if verdict.label == v.OPEN else f" Severity: {' or '.join(verdict.severity)}."
    facts = (
        f"Training waits {100 * s.value:.1f} % of the time; the 95 % interval is "
        f"{100 * s.low:.1f} to {100 * s.high:.1f} %, of {len(report.rungs.training.values)} "
        f"replicates.{open_} Accelerator utilisation: {100 * verdict.utilisation:.0f} % "
        f"(MLPerf Storage asks {100 * v.AU_GATE:.0f} %)."
    )
    left = f"Not measured: {'; '.join(report.not_measured)}." if report.not_measured else ""
    return f'<h2>How sure</h2><p>{escaped(facts)}</p><p class="soft">{escaped(left)}</p>'


def _machine(report: Report) -> str:
    rows = ""
    for name, value in report.machine.items():
        shown = "none" if value is None else str(value)
        rows += f"<tr><td>{escaped(name.replace('_', ' '))}</td><td>{escaped(shown)}</td></tr>"
    return f"<details><summary>Machine</summary><table>{rows}</table></details>"


def _charts(report: Report) -> list[str]:
    """The charts that have something to show."""
    titled = (
        ("Rates", _rates(report)),
        ("Loader cut off after each stage", _cuts(report)),
        ("Loader cut off after each stage, cold", _cold_cuts(report)),
        ("Loader alone by number of workers", _workers(report)),
        ("What else was measured: loader alone", _loaders(report)),
        ("Training with it", _gains(report)),
    )
    limit = report.rungs.step.median
    charts = [chart(title, bars, limit) for title, bars in titled if bars]
    if report.stages:
        charts.insert(0, chart("Stages: time of one thread per image", _stages(report)) + KEY)
    return charts


def _bar(name: str, sample: Sample) -> Bar:
    return Bar(name, sample.median, f"{sample.median:,.0f} images/s", sample.low, sample.high)


def _rates(report: Report) -> list[Bar]:
    rungs, known = report.rungs, report.evidence
    samples = {
        "step alone": rungs.step,
        "loader alone": rungs.loader,
        "training": rungs.training,
        "step beside the loader": known.beside,
        "step with copies": known.transfer,
    }
    return [_bar(name, sample) for name, sample in samples.items() if sample is not None]


def _stages(report: Report) -> list[Bar]:
    return [
        Bar(
            stage.name,
            stage.cpu_s + stage.blocked_s,
            f"{1e3 * stage.cpu_s:.2f} ms CPU, {1e3 * stage.blocked_s:.2f} ms waiting",
            waits=stage.blocked_s,
        )
        for stage in report.stages
    ]


def _cuts(report: Report) -> list[Bar]:
    return [_bar(cut.name, cut.loader) for cut in report.cuts]


def _cold_cuts(report: Report) -> list[Bar]:
    return [_bar(cut.name, cut.cold) for cut in report.cuts if cut.cold]


def _workers(report: Report) -> list[Bar]:
    return [
        _bar(f"{at.workers} worker{'s' if at.workers > 1 else ''}", at.loader)
        for at in report.workers
    ]


def _loaders(report: Report) -> list[Bar]:
    """The loader as it is, and every other that was measured."""
    if not report.remedies:
        return []
    now = _bar("loader as it is", report.rungs.loader)
    return [now, *(_bar(p.alternative.name, p.loader) for p in report.remedies)]


def _gains(report: Report) -> list[Bar]:
    """Training as it is, and with each loader that is worth it."""
    gains = [_trained(p, report) for p in report.remedies if p.worth_it]
    return [_bar("as it is", report.rungs.training), *gains] if gains else []


def _trained(priced: Priced, report: Report) -> Bar:
    """Measured where it was, else predicted."""
    name, predicted = priced.alternative.name, priced.predicted(report.rungs)
    if priced.training is None:
        return Bar(name, predicted, f"{predicted:,.0f} images/s, predicted")
    measured = priced.training
    text = f"{measured.median:,.0f} images/s, predicted {predicted:,.0f}"
    return Bar(name, measured.median, text, measured.low, measured.high)
