"""Pictures of a results file, as PNG and SVG beside it: bars of rates, points of a training
check.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import row
from benchmarks.report.row import Row
from benchmarks.report.table import footnote
from fastload.errors import UsageError

COLOURS = (
    "#9aa0a6",
    "#1f77b4",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
)  # the reference is grey
MOST_COLUMNS = 5  # standing bars of a panel: more names do not fit below
MOST_PANELS = 6  # side by side


def draw(rows: Sequence[Row], where: Path) -> list[Path]:
    """Write where.png and where.svg of the main table; one panel per setting, one bar per variant,
    whiskers from lowest to highest.
    """
    rows = _main(rows)
    if not rows:
        raise UsageError(
            f"plot: {where.with_suffix('.jsonl')} has no rows; run that benchmark first"
        )
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {
        "svg.hashsalt": "fastload",
        "svg.fonttype": "none",
    }  # the same rows give the same file; text stays text
    from matplotlib import pyplot as plt

    panels = _panels(rows)
    standing = (
        max(map(len, panels.values())) <= MOST_COLUMNS
        and len(panels) <= MOST_PANELS
        and rows[0].benchmark != "gpu"
    )
    figure = (
        _points(plt, rows)
        if rows[0].benchmark == "train"
        else (_columns if standing else _lines)(plt, panels)
    )
    figure.text(0.01, 0.01, footnote(rows), fontsize=5, wrap=True)
    paths = [where.with_suffix(end) for end in (".png", ".svg")]
    for path in paths:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows by the settings in which they differ, as a panel's title."""
    names = [
        name for name in rows[0].settings if len({str(r.settings.get(name)) for r in rows}) > 1
    ]
    panels: dict[str, list[Row]] = {}
    for r in rows:
        title = "\n".join(f"{name} {r.settings.get(name)}" for name in names)
        panels.setdefault(title, []).append(r)
    return panels


def _main(rows: Sequence[Row]) -> list[Row]:
    """The main table; of those of a GPU, whole loaders alone and beside training."""
    results = row.tables(rows)
    if not rows or rows[0].benchmark != "gpu":
        return results.get("", [])
    return [
        r
        for name, part in results.items()
        if name == "rates" or name.startswith("train_")
        for r in part
    ]


def _columns(plt: Any, panels: dict[str, list[Row]]) -> Any:
    """Panels side by side, on one scale."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(max(5, 2.6 * len(panels)), 4), sharey=True, squeeze=False
    )
    for axis, (title, rows) in zip(axes[0], panels.items(), strict=True):
        for at, r in enumerate(rows):
            axis.bar(
                at,
                r.median,
                color=COLOURS[at % len(COLOURS)],
                yerr=_whiskers(r),
                capsize=3,
            )
            axis.annotate(_label(r), (at, r.high), ha="center", va="bottom", fontsize=8)
        axis.set_xticks(
            range(len(rows)), [r.variant for r in rows], rotation=20, ha="right", fontsize=7
        )
        axis.set_title(title, fontsize=9)
    axes[0][0].set_ylabel(next(iter(panels.values()))[0].unit)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    return figure


def _lines(plt: Any, panels: dict[str, list[Row]]) -> Any:
    """Panels one below the other, each on its own scale, bars lying: room for many variants with
    long names.
    """
    counts = [len(rows) for rows in panels.values()]
    height = 0.24 * sum(counts) + 0.6 * len(panels) + 0.4  # inches
    ratios = {"height_ratios": counts}
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(8, height), squeeze=False, gridspec_kw=ratios
    )
    for axis, (title, rows) in zip(axes[:, 0], panels.items(), strict=True):
        for at, r in enumerate(rows):
            colour = COLOURS[1 if r.variant.startswith("fastload") else 0]
            axis.barh(at, r.median, color=colour, xerr=_whiskers(r), capsize=2)
            label = _label(r) + ("" if r.ratio is None else f"  ×{r.ratio:.2f}")
            axis.annotate(
                label,
                (r.high, at),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
            )
        axis.set_yticks(range(len(rows)), [r.variant for r in rows], fontsize=7)
        axis.set_title(title.replace("\n", ", "), fontsize=8, loc="left")
        axis.tick_params(axis="x", labelsize=6)
        axis.invert_yaxis()  # the first row on top
        axis.margins(x=0.15)  # for the label of the longest bar
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel(next(iter(panels.values()))[0].unit, fontsize=7)
    figure.tight_layout(rect=(0, 0.35 / height, 1, 1))
    return figure


def _points(plt: Any, rows: Sequence[Row]) -> Any:
    """One line per variant from below, one point per repetition; thin lines join what belongs
    together.
    """
    figure, axis = plt.subplots(figsize=(8, 0.55 * len(rows) + 1.2))
    for values in zip(*(r.values for r in rows), strict=True):
        axis.plot(values, range(len(rows)), color="#d0d4d8", linewidth=0.8, zorder=1)
    for at, r in enumerate(rows):
        axis.scatter(
            r.values,
            [at] * len(r.values),
            s=22,
            color=COLOURS[at % len(COLOURS)],
            zorder=2,
        )
    axis.set_yticks(range(len(rows)), [r.variant for r in rows], fontsize=8)
    axis.set_xlabel(f"{rows[0].unit}, one point per seed", fontsize=8)
    axis.set_xlim(0, 100)
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    return figure


def _label(r: Row) -> str:
    if not r.repetitions:
        return "failed, see the table"
    return f"{r.median:,.0f}" if r.unit == "images/s" else f"{r.median:,.3g}"


def _whiskers(r: Row) -> list[list[float]]:
    return [[r.median - r.low], [r.high - r.median]]
