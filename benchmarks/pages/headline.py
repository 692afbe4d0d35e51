"""README's table and chart: the best-known loaders on one core, from the rows of `peers`."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import row
from benchmarks.report.row import Row
from benchmarks.report.table import footnote
from fastload.errors import UsageError

PIPELINE = "crop, flip"
LABELS = {
    "PyTorch, torchvision, Pillow": "PyTorch's `DataLoader`, torchvision",
    "DALI, CPU": "NVIDIA DALI, on the CPU",
    "FFCV": "FFCV",
    "fastload, folder": "**fastload**, one import changed",
    "fastload, folder, 2nd epoch on": "**fastload**, from its second epoch on",
    "fastload, shards with coefficient layers": "**fastload**, from coefficient layers",
}
PLAIN = str.maketrans({"*": "", "`": "", ",": ",\n"})  # a label of the chart, in two lines
GREY, BLUE = "#9aa0a6", "#1f77b4"


def on_one_core(results: Path, pipeline: str) -> dict[str, Row]:
    """What was measured of this pipeline, by variant."""
    main = row.tables(row.latest(row.read(results / "peers.jsonl"))).get("", [])
    asked = {"pipeline": pipeline, "cores": 1}.items()
    return {r.variant: r for r in main if asked <= r.settings.items() and r.repetitions}


def rows(results: Path) -> list[Row]:
    """In the order of LABELS. Raises UsageError where one was not measured."""
    found = on_one_core(results, PIPELINE)
    if missing := [variant for variant in LABELS if variant not in found]:
        raise UsageError(
            f"headline: peers has no row of {missing[0]} on one core; run `python -m benchmarks "
            "peers --setup` first"
        )
    return [found[variant] for variant in LABELS]


def markdown(found: Sequence[Row]) -> str:
    lines = ["| one CPU core | images/s | ratio (95 % CI) |", "| --- | ---: | ---: |"]
    for r in found:
        times = (
            "1"
            if r.ratio is None
            else f"{r.ratio:.1f} ({r.ratio_low or 0:.1f} to {r.ratio_high or 0:.1f})"
        )
        lines.append(f"| {LABELS[r.variant]} | {r.median:,.0f} | {times} |")
    return "\n".join([*lines, "", f"<sub>{footnote(found)}</sub>"]) + "\n"


def draw(found: Sequence[Row], where: Path) -> list[Path]:
    """Write where.png and where.svg: one panel, a lying bar for each loader, whiskers from lowest
    to highest.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "fastload", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(5.6, 3.1))  # legible on a phone too
    for position, r in enumerate(found):
        colour = BLUE if r.variant.startswith("fastload") else GREY
        whiskers = [[r.median - r.low], [r.high - r.median]]
        axis.barh(position, r.median, color=colour, xerr=whiskers, ecolor="#3c4043", capsize=2)
        times = "" if r.ratio is None else f"  ×{r.ratio:.1f}"
        axis.annotate(
            f"{r.median:,.0f}{times}", (r.high, position), xytext=(5, 0),
            textcoords="offset points", va="center", fontsize=9,
        )  # fmt: skip
    names = [LABELS[r.variant].translate(PLAIN) for r in found]
    axis.set_yticks(range(len(found)), names, fontsize=9)
    axis.set_title("Images per second on one CPU core", fontsize=10)
    axis.invert_yaxis()  # the first row on top
    axis.margins(x=0.35)  # for the label of the longest bar
    axis.set_xlim(left=0)
    axis.xaxis.set_major_formatter("{x:,g}")
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    paths = [where.with_suffix(end) for end in (".png", ".svg")]
    for path in paths:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths
