"""Bar charts of the HTML report, as SVG."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 1050  # px of a chart
ROW = 28  # px of a bar's row
LETTER = 7.4  # px
MOST = 48  # letters of a name
LIMIT = "the dashed line is what the step alone could take"


@dataclass(frozen=True)
class Bar:
    """One row of a chart; low and high: the range of the replicates."""

    name: str
    value: float
    text: str
    low: float | None = None
    high: float | None = None


def chart(title: str, bars: Sequence[Bar], limit: float | None = None) -> str:
    """Horizontal bars from 0, with their ranges. limit: the rate of the step alone, as a line.

    A limit far beyond the bars would flatten them: it is not drawn.
    """
    longest = max([bar.high or bar.value for bar in bars] + [1e-12])
    limit = limit if limit is not None and limit <= 4 * longest else None
    left = 24 + LETTER * max(min(len(bar.name), MOST) for bar in bars)
    right = 24 + LETTER * max(len(bar.text) for bar in bars)
    scale = (WIDTH - left - right) / max(longest, limit or 0.0)
    height = ROW * len(bars) + 12
    rows = "".join(_row(bar, 6 + ROW * row, scale, left, right) for row, bar in enumerate(bars))
    if limit is not None:
        x = left + limit * scale
        rows += f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        title = f"{title}; {LIMIT}"
    spoken = "; ".join(f"{bar.name}: {bar.text}" for bar in bars)
    return (
        f'<h2>{escaped(title)}</h2><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escaped(spoken)}">{rows}</svg>'
    )


def _row(bar: Bar, top: int, scale: float, left: float, right: float) -> str:
    middle, length = top + ROW / 2, max(1.0, bar.value * scale)
    name = bar.name if len(bar.name) <= MOST else bar.name[: MOST - 1] + "…"
    out = f'<text x="{left - 10:.1f}" y="{middle + 4}" text-anchor="end">{escaped(name)}</text>'
    out += (
        f'<rect class="bar" x="{left:.1f}" y="{top + 5}" width="{length:.1f}" height="{ROW - 10}"/>'
    )
    if bar.low is not None and bar.high is not None:
        low, high = left + bar.low * scale, left + bar.high * scale
        path = f"M{low:.1f} {middle - 4}v8M{low:.1f} {middle}H{high:.1f}M{high:.1f} {middle - 4}v8"
        out += f'<path class="halo" d="{path}"/><path class="range" d="{path}"/>'
    return out + f'<text x="{WIDTH - right + 12:.1f}" y="{middle + 4}">{escaped(bar.text)}</text>'


def escaped(text: str) -> str:
    """Text for HTML: names of recipes and stages are somebody else's."""
    return html.escape(text)
