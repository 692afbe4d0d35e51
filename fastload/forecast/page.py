"""A forecast as one HTML file. Its pictures are SVG inside it; it has no scripts and fetches
nothing.

It has light and dark colours, and can be printed.
"""

from collections.abc import Iterable, Sequence

from fastload.forecast import lines, plots, words
from fastload.forecast.findings import Forecast
from fastload.forecast.run import CPU, OVERLAP, READ, START, WORDS
from fastload.profiler import page as profile
from fastload.profiler.charts import Bar, chart, escaped

STYLE = (
    profile.STYLE
    + """
:root { --cpu: #d97706; --read: #9333ea; --other: #6b7280; --front: #2563eb; }
@media (prefers-color-scheme: dark) {
  :root { --cpu: #fbbf24; --read: #c084fc; --other: #9ca3af; --front: #60a5fa; } }
body { max-width: 760px; } .mid { text-anchor: middle; } .quiet { fill: var(--soft); }
header { border: 0; padding: 8px 0 0; } h1 { font-size: 22px; font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px;
  margin: 16px 0; padding: 0; list-style: none; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; } .tiles b { display: block; font-size: 27px; line-height: 1.3;
  white-space: nowrap; }
.tiles span { color: var(--soft); font-size: 14px; display: block; }
.works { fill: var(--bar); } .cpu { fill: var(--cpu); } .read { fill: var(--read); }
.other { fill: var(--other); } .grid { stroke: var(--line); stroke-width: 1; fill: none; }
.front { stroke: var(--front); stroke-width: 2.5; fill: none; stroke-linejoin: round; }
.reach { stroke: var(--soft); stroke-width: 1.5; opacity: .6; }
.best { fill: var(--front); stroke: var(--card); stroke-width: 2; }
.rest { fill: var(--card); stroke: var(--soft); stroke-width: 2; }
.goal { fill: var(--bad); } .limit { fill: none; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 0; list-style: none; margin: 8px 0;
  color: var(--soft); font-size: 14px; } .keys .key { margin: 0 6px 0 0; border-radius: 3px; }
.scroll { overflow-x: auto; } .scroll td, .scroll th { white-space: nowrap; padding-right: 16px; }
.scroll td.long { white-space: normal; min-width: 200px; }
tr.best td:first-child { font-weight: 600; } details { margin: 10px 0; }
caption { text-align: left; color: var(--soft); font-size: 14px; padding: 0 0 6px; }
"""
)
LONG = ' class="long"'  # of a table's cell that may break
KEYS = {"bar": "GPUs work", CPU: WORDS[CPU], READ: WORDS[READ], "other": "other waiting"}


def write(found: Forecast) -> str:
    """The document. Every text is escaped."""
    title = escaped(f"fastload plan: {lines.headline(found)}")
    body = [
        _header(found), _strip(found), _options(found), _sensitivity(found), _notes(found)
    ]  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{profile.POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n<body>"
        + "\n".join(part for part in body if part)
        + "\n</body></html>\n"
    )


def _header(found: Forecast) -> str:
    """The answer, as a few large numbers."""
    asked, run, cost = found.asked, found.run, found.cost
    gpus = f"{asked.machine.gpus} GPU{'s' * (asked.machine.gpus > 1)}, " if asked.gpu else ""
    tiles = [(words.time(run.total.value), "time to train", words.between(run.total))]
    if cost and found.price is not None:
        tiles.append(
            (
                words.number(cost.value),
                f"cost, at {found.price:,.2f} per hour",
                _between(cost, words.number),
            )
        )
    busy = run.busy
    what = "of the time the step takes" if run.together else "of the time GPUs work"
    tiles.append((words.share(busy.value), what, _between(busy, words.share)))
    if found.cores is not None:
        each = found.cores.value / asked.machine.gpus
        tiles.append(
            (
                words.number(each),
                "cores per GPU keep them busy",
                f"there are {asked.machine.cores} cores",
            )
        )
    if (kwh := found.energy.kwh) is not None:
        tiles.append((f"{words.number(kwh.value)} kWh", "energy", _between(kwh, words.number)))
    shown = "".join(
        f"<li><b>{escaped(big)}</b><span>{escaped(what)}</span><span>{escaped(more)}</span></li>"
        for big, what, more in tiles
    )
    where = f"{len(asked.sizes)} epochs on {gpus}{asked.machine.cores} cores ({asked.machine.name})"
    facts = (
        lines.accuracy(found), lines.whose(found), lines.waiting(found), *lines.chosen(found)
    )  # fmt: skip
    told = "".join(f"<p>{escaped(_sentence(fact))}</p>" for fact in facts if fact)
    return (
        f"<header><h1>{escaped(asked.recipe.name)}: {escaped(where)}</h1></header>"
        f'<ul class="tiles">{shown}</ul>{told}'
    )


def _between(value: object, said: object) -> str:
    return f"{said(value.low)} to {said(value.high)}"  # type: ignore[operator, attr-defined]


def _strip(found: Forecast) -> str:
    """The run, with its table."""
    present = {cause for cause, share in found.waiting.items() if share >= 0.001}
    shown = {"bar", *({CPU, READ} & present), *({"other"} if {OVERLAP, START} & present else ())}
    keys = "".join(
        f'<li><span class="key" style="background: var(--{name})"></span>{escaped(text)}</li>'
        for name, text in KEYS.items()
        if name in shown
    )
    table = _table(lines.EPOCHS, lines.epoch_rows(found, most=None), "Epochs in a row alike")
    return (
        '<h2>The run, epoch by epoch</h2><p class="soft">From left to right as time passes. Above '
        f'are the sides of the images in px.</p>{plots.strip(found)}<ul class="keys">{keys}</ul>'
        f"<details><summary>As a table</summary>{table}</details>"
    )


def _options(found: Forecast) -> str:
    """The choices: points where accuracies are known, else bars; and all of them as a table."""
    if not found.options:
        return ""
    plot = plots.pareto(found)
    if plot:
        plot += (
            '<p class="soft">Upwards and to the left is better. Filled points are not beaten by '
            "any other. Lines show what it may take. Numbers are those of the table; "
            "accuracies are published, times are forecast.</p>"
        )
    else:
        plot = chart("Time to train, h", list(_bars(found)))
    rows = [
        (f"{number}. {row[0].removesuffix(' *')}", *row[1:])
        for number, row in enumerate(lines.option_rows(found), 1)
    ]
    best = [one in found.front for one in found.options]
    used = [column for column in range(len(lines.OPTIONS)) if any(row[column] for row in rows)]
    table = _table(
        [lines.OPTIONS[column] for column in used],
        [[row[column] for column in used] for row in rows],
        "In bold: not beaten by any other" if any(best) else "",
        best,
    )
    sources = {one.source: None for one in found.options if one.source}
    told = "".join(f"<li>{escaped(source)}</li>" for source in sources)
    more = f"<details><summary>Sources of the accuracies</summary><ul>{told}</ul></details>"
    return f"<h2>Compared: {escaped(found.compared or '')}</h2>{plot}{table}" + more * bool(told)


def _bars(found: Forecast) -> Iterable[Bar]:
    for number, one in enumerate(found.options, 1):
        if one.hours is not None:
            hours = one.hours
            text = words.time(hours.value * words.HOUR)
            yield Bar(f"{number}. {one.name}", hours.value, text, hours.low, hours.high)


def _sensitivity(found: Forecast) -> str:
    """What the run would take if something were different."""
    runs = {"as it is": found.run, **{f"if {name}": run for name, run in found.what_ifs.items()}}
    bars = [
        Bar(
            name, run.total.value, words.time(run.total.value), run.total.low, run.total.high
        )
        for name, run in runs.items()
    ]  # fmt: skip
    facts = "".join(
        f"<p>{escaped(_sentence(fact))}</p>"
        for fact in (lines.cores(found), lines.reading(found), lines.energy(found))
        if fact
    )
    return f"<h2>What would change it</h2>{chart('Time to train', bars)}{facts}"


def _notes(found: Forecast) -> str:
    """Where the numbers come from, and the command."""

    def listed(facts: Sequence[str]) -> str:
        return f"<ul>{''.join(f'<li>{escaped(fact)}</li>' for fact in facts)}</ul>"

    return (
        f"<h2>How it is known</h2>{listed(lines.sources(found))}"
        f"<h3>Extrapolated</h3>{listed(found.extrapolated)}"
        f"<h3>Not included</h3>{listed(found.left_out)}"
        f"<h3>The command</h3><pre>{escaped(found.command)}</pre>"
    )


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    best: Sequence[bool] = (),
) -> str:
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in columns)
    body = ""
    for number, row in enumerate(rows):
        kind = ' class="best"' if number < len(best) and best[number] else ""
        cells = "".join(f"<td{LONG * (len(cell) > 40)}>{escaped(cell)}</td>" for cell in row)
        body += f"<tr{kind}>{cells}</tr>"
    above = f"<caption>{escaped(caption)}</caption>" if caption else ""
    name = escaped(caption or "table")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
