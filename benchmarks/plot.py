"""Bars of a results file, as PNG and SVG beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.row import Row
from benchmarks.table import footnote
from fastload.errors import UsageError

COLOURS = ("#9aa0a6", "#1f77b4", "#2ca02c", "#d62728")  # the reference is grey


def draw(rows: Sequence[Row], where: Path) -> list[Path]:
    """Write where.png and where.svg; one panel per setting, one bar per variant, whiskers from lowest to highest."""
    if not rows:
        raise UsageError(f"plot: {where.with_suffix('.jsonl')} has no rows; run that benchmark first")
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "fastload", "svg.fonttype": "none"}  # the same rows give the same file; text stays text
    from matplotlib import pyplot as plt

    names = [name for name in rows[0].settings if len({str(r.settings.get(name)) for r in rows}) > 1]
    panels = list(dict.fromkeys(tuple(r.settings.get(name) for name in names) for r in rows))
    figure, axes = plt.subplots(1, len(panels), figsize=(max(5, 2.6 * len(panels)), 4), sharey=True, squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        _bars(axis, [r for r in rows if tuple(r.settings.get(name) for name in names) == panel])
        axis.set_title("\n".join(f"{name} {value}" for name, value in zip(names, panel, strict=True)), fontsize=9)
    axes[0][0].set_ylabel("images/s")
    figure.text(0.01, 0.01, footnote(rows), fontsize=5, wrap=True)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    paths = [where.with_suffix(end) for end in (".png", ".svg")]
    for path in paths:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _bars(axis: Any, rows: Sequence[Row]) -> None:
    for place, r in enumerate(rows):
        whiskers = [[r.median - r.low], [r.high - r.median]]
        axis.bar(place, r.median, color=COLOURS[place % len(COLOURS)], yerr=whiskers, capsize=3)
        axis.annotate(f"{r.median:,.0f}", (place, r.high), ha="center", va="bottom", fontsize=8)
    axis.set_xticks(range(len(rows)), [r.variant for r in rows], rotation=20, ha="right", fontsize=7)
