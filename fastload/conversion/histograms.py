"""How sizes are spread, as numbers, as text and as a picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

BINS, RANK = 12, 99  # bins; the last holds what is above this percentile too
BARS = " ▏▎▍▌▋▊▉█"
WIDE = 40  # characters of the longest bar
PANEL = (320, 200)  # px of one histogram in the picture, width and height
MARGIN, GREY, BLUE = 24, (90, 90, 90), (52, 105, 175)


@dataclass(frozen=True)
class Histogram:
    """Counts [BINS] between edges [BINS + 1]; fewer bins where few numbers are possible."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


def histogram(values: NDArray[Any]) -> Histogram | None:
    """Of whole numbers; None without any."""
    if not len(values):
        return None
    low, high = int(values.min()), max(int(np.percentile(values, RANK)), int(values.min()) + 1)
    edges = np.linspace(low, high, min(BINS, high - low) + 1)
    counts, _ = np.histogram(np.minimum(values, high), edges)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def text(spread: Histogram, wide: int = WIDE) -> list[tuple[str, str, str]]:
    """Rows: the bin's lower edge, a bar of at most `wide` characters, the count."""
    most = max(spread.counts)
    rows = []
    for edge, count in zip(spread.edges, spread.counts, strict=False):
        eighths = round(count / most * wide * 8)
        rows.append(
            (f"{edge:,.0f}", "█" * (eighths // 8) + BARS[eighths % 8].strip(), f"{count:,}")
        )
    return rows


def picture(histograms: Mapping[str, Histogram]) -> Image.Image:
    """One panel for each, below one another in two columns."""
    wide, high = PANEL
    rows = -(-len(histograms) // 2)
    image = Image.new("RGB", (2 * wide, max(rows, 1) * high), "white")
    draw = ImageDraw.Draw(image)
    for number, (name, spread) in enumerate(histograms.items()):
        _panel(draw, number % 2 * wide, number // 2 * high, name, spread)
    return image


def _panel(draw: ImageDraw.ImageDraw, left: int, top: int, name: str, spread: Histogram) -> None:
    wide, high = PANEL
    inner, floor = wide - 2 * MARGIN, top + high - MARGIN
    most = max(spread.counts)
    for number, count in enumerate(spread.counts):
        x0, x1 = (left + MARGIN + inner * at // len(spread.counts) for at in (number, number + 1))
        tall = round((high - 3 * MARGIN) * count / most)
        if count:
            draw.rectangle((x0, floor - max(tall, 1), x1 - 2, floor), fill=BLUE)
    draw.line((left + MARGIN, floor + 1, left + wide - MARGIN, floor + 1), fill=GREY)
    draw.text((left + MARGIN, top + 6), f"{name}  (largest bin: {most:,})", fill="black")
    draw.text((left + MARGIN, floor + 4), f"{spread.edges[0]:,.0f}", fill=GREY)
    draw.text((left + wide - MARGIN - 48, floor + 4), f"{spread.edges[-1]:,.0f} +", fill=GREY)
