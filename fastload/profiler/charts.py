"""Bar charts of the HTML report, as SVG."""

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 640  # px of a chart: on a phone its letters are still read
ROW = 46  # px of a bar's row: its name and number stand above it
LINE = 20  # px of each further line of its name
LETTER = 12.0  # px, of a phone's bold letters
EDGE = 16  # px left and right of the bars
MOST = int((WIDTH - 2 * EDGE) / LETTER)  # letters of a line
REACH = 1.5  # times the longest bar, to which ranges are drawn: one far value flattens no others
LIMIT = "the dashed line is what the step alone could take"


@dataclass(frozen=True)
class Bar:
    """One row of a chart; low and high: the range of the replicates."""

    name: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None
    waits: float = 0.0  # the last part of the value, drawn in a colour of its own


def chart(title: str, bars: Sequence[Bar], limit: float | None = None) -> str:
    """Horizontal bars from 0, with their ranges. limit: the rate of the step alone, as a line.

    A limit far beyond the bars would flatten them: it is not drawn.
    """
    most = max([bar.value for bar in bars] + [1e-12])
    longest = min(max([bar.high or bar.value for bar in bars] + [most]), REACH * most)
    limit = limit if limit is not None and limit <= 4 * longest else None
    scale = (WIDTH - 2 * EDGE) / max(longest, limit or 0.0)
    rows, height = "", 6
    for bar in bars:
        lines = _lines(bar)
        rows += _row(bar, lines, height, scale)
        height += ROW + LINE * (len(lines) - 1)
    height += 6
    if limit is not None:
        x = EDGE + limit * scale
        rows += f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        title = f"{title}; {LIMIT}"
    spoken = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return (
        f'<h3>{escaped(title)}</h3><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escaped(spoken)}">{rows}</svg>'
    )


def _lines(bar: Bar) -> list[str]:
    """Of the bar's name; the last one has room for its number."""
    lines = textwrap.wrap(bar.name, MOST) or [""]
    return lines if len(lines[-1]) + 2 + len(bar.text) <= MOST else [*lines, ""]


def _row(bar: Bar, lines: Sequence[str], top: int, scale: float) -> str:
    out = "".join(
        f'<text class="name" x="{EDGE}" y="{top + 15 + LINE * number}">{escaped(line)}</text>'
        for number, line in enumerate(lines)
        if line
    )
    top += LINE * (len(lines) - 1)
    middle, length, waits = top + 31, max(1.0, bar.value * scale), bar.waits * scale
    out += (
        f'<text x="{WIDTH - EDGE}" y="{top + 15}" text-anchor="end">{escaped(bar.text)}</text>'
        f'<rect class="bar" x="{EDGE}" y="{top + 23}" width="{length:.1f}" height="16"/>'
    )
    if bar.waits:
        x = EDGE + length - waits
        out += f'<rect class="wait" x="{x:.1f}" y="{top + 23}" width="{waits:.1f}" height="16"/>'
    if bar.low is not None and bar.high is not None:
        out += _range(EDGE + bar.low * scale, EDGE + bar.high * scale, middle)
    return out


def _range(low: float, high: float, middle: int) -> str:
    """From low to high, px. One that goes on beyond the chart ends in an arrow."""
    edge = WIDTH - EDGE / 2
    end = f"M{high:.1f} {middle - 4}v8"
    if high > edge:
        high, end = edge, f"M{edge - 5:.1f} {middle - 5}l5 5l-5 5"
    path = f"M{low:.1f} {middle - 4}v8M{low:.1f} {middle}H{high:.1f}{end}"
    return f'<path class="halo" d="{path}"/><path class="range" d="{path}"/>'


def escaped(text: str) -> str:
    """Text for HTML: names of recipes and stages are somebody else's."""
    return html.escape(text)
