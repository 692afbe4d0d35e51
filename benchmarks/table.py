"""Rows as Markdown, put between markers in README and docs, so that no number there is typed by hand.

<!-- benchmarks: loader -->
…replaced…
<!-- /benchmarks -->
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import row
from benchmarks.row import Row
from fastload.errors import UsageError

MARKERS = re.compile(r"(<!-- benchmarks: (\w+) -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)


def markdown(rows: Sequence[Row]) -> str:
    """The table and, below it, what it was measured on."""
    if not rows:
        raise UsageError("table: no rows; run `python -m benchmarks loader` first")
    names = [name for name in rows[0].settings if len({str(r.settings.get(name)) for r in rows}) > 1]
    also = sorted({name for r in rows for name in r.also})
    head = [*names, "variant", "images/s", "lowest to highest", "ratio (95 % CI)", *(name.replace("_", " ") for name in also)]
    lines = [_line(head), _line("---:" if name not in {*names, "variant"} else "---" for name in head)]
    for r in rows:
        figures = [_number(r.also[name]) if name in r.also else "" for name in also]
        lines.append(_line([*(r.settings.get(name, "") for name in names), r.variant, _number(r.median), _range(r), _ratio(r), *figures]))
    return "\n".join([*lines, "", footnote(rows)]) + "\n"


def footnote(rows: Sequence[Row]) -> str:
    first = rows[0]
    here, soft, pil = first.machine, first.software, first.software["pillow"]
    shared = {name: value for name, value in first.settings.items() if len({str(r.settings.get(name)) for r in rows}) == 1}
    data = first.data
    parts = [
        f"{here['gpu']}, {here['cpu']}" if first.benchmark == "gpu" else f"{here['cpu']}, {here['cores_usable']} cores",
        f"{data['name']}: {data['images']} images, {data['mean_bytes']} bytes and {data['mean_pixels']} px each on average" if data else "",
        ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shared.items()),
        f"page cache {first.page_cache}",
        f"{first.repetitions} interleaved repetitions, medians",
        f"load average {first.load} before",
        f"torch {soft['torch']}, torchvision {soft['torchvision']}, {pil['name']} {pil['version']} (libjpeg-turbo {pil['libjpeg_turbo']})",
        f"commit {first.commit[:12]}{' with changes' if first.dirty else ''}, {first.date}",
    ]
    return "; ".join(part for part in parts if part) + "."


def update(path: Path, results: Path, *, check: bool = False) -> bool:
    """Put the tables into a file; True if that changes it. With check nothing is written."""
    text = path.read_text(encoding="utf-8")
    new = MARKERS.sub(lambda found: found[1] + markdown(row.latest(row.read(results / f"{found[2]}.jsonl"))) + found[3], text)
    if new != text and not check:
        path.write_text(new, encoding="utf-8")
    return new != text


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _number(value: float) -> str:
    """Three digits at least, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(r: Row) -> str:
    return f"{_number(r.low)} to {_number(r.high)}"


def _ratio(r: Row) -> str:
    return "1" if r.ratio is None else f"{r.ratio:.2f} ({r.ratio_low:.2f} to {r.ratio_high:.2f})"
