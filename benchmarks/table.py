"""Rows as Markdown, put between markers in README and docs, so that no number there is typed by hand.

<!-- benchmarks: loader -->
…replaced…
<!-- /benchmarks -->

`<!-- benchmarks: decode stages -->` takes the further table "stages" of decode.jsonl;
`<!-- benchmarks: peers (pipeline: crop, flip) -->` only the rows with that setting.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import row
from benchmarks.row import Row
from benchmarks.verdict import tables as verdict
from fastload.errors import UsageError

MARKERS = re.compile(r"(<!-- benchmarks: (\w+)(?: (\w+))?(?: \((\w+): ([^)\n]+)\))? -->\n).*?(<!-- /benchmarks -->)", re.DOTALL)


def every(rows: Sequence[Row]) -> str:
    """All tables of a benchmark, the main one first."""
    return "\n".join((f"{name}:\n\n" if name else "") + markdown(part) for name, part in row.tables(rows).items())


def markdown(rows: Sequence[Row]) -> str:
    """The table and, below it, what it was measured on."""
    names = [name for name in rows[0].settings if len({str(r.settings.get(name)) for r in rows}) > 1]
    also = sorted({name for r in rows for name in r.also if not name.endswith(("_low", "_high"))})
    compared = any(r.ratio is not None for r in rows)
    noted = ["note"] if any(r.note for r in rows) else []
    figures = [*(["ratio (95 % CI)"] if compared else []), *(name.replace("_", " ") for name in also)]
    lines = [_line([*names, "variant", rows[0].unit, "lowest to highest", *figures, *noted])]
    lines.append(_line([*["---"] * (len(names) + 1), *["---:"] * (len(figures) + 2), *["---"] * len(noted)]))
    for r in rows:
        figures = [*([_ratio(r)] if compared else []), *(_figure(r, name) for name in also)]
        shown = [_number(r.median), _range(r)] if r.repetitions else ["none", ""]
        notes = [r.note.replace("|", "\\|")] if noted else []
        lines.append(_line([*(r.settings.get(name, "") for name in names), r.variant, *shown, *figures, *notes]))
    return "\n".join([*lines, "", footnote(rows)]) + "\n"


def footnote(rows: Sequence[Row]) -> str:
    first = rows[0]
    here = first.machine
    same = [name for name in first.settings if name != "table" and len({str(r.settings.get(name)) for r in rows}) == 1]
    data = first.data
    parts = [
        f"{here['gpu']}, " * (first.benchmark == "gpu") + f"{here['cpu']}, {here['cores_usable']} cores",
        f"{data['name']}: {data['images']} images, {data['mean_bytes']} bytes and {data['mean_pixels']} px each on average" if data else "",
        ", ".join(f"{name.replace('_', ' ')} {first.settings[name]}" for name in same),
        f"page cache {first.page_cache}" if first.page_cache != "not used" else "",
        f"{_counts(rows)} {_repetitions(first)}, medians",
        f"load average {first.load} before",
        _libraries(first) + _beside(rows),
        f"commit {first.commit[:12]}{' with changes' if first.dirty else ''}, {first.date}",
    ]
    return "; ".join(part for part in parts if part) + "."


def _counts(rows: Sequence[Row]) -> str:
    counts = sorted({r.repetitions for r in rows if r.repetitions})  # 0: a peer that failed
    return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(rows[0].repetitions)


def _repetitions(r: Row) -> str:
    if r.benchmark == "train":
        return "paired seeds"
    loaders = r.benchmark == "gpu" and r.data
    return "windows of a process of its own, one variant after another" if loaders else "interleaved repetitions"


def _libraries(r: Row) -> str:
    """Those that the numbers hang on."""
    native, pil = r.software.get("native", {}), r.software["pillow"]
    if r.benchmark == "decode":
        return f"libjpeg-turbo {native['libjpeg-turbo']}, Highway {native['highway']}, compiler {native['compiler']}"
    torch = f"torch {r.software['torch']}, torchvision {r.software['torchvision']}"
    return f"{torch}, {pil['name']} {pil['version']} (libjpeg-turbo {pil['libjpeg_turbo']})"


def _beside(rows: Sequence[Row]) -> str:
    """Other loaders that stand in the rows."""
    said = {"DALI": ("dali",), "FFCV": ("ffcv", "numba")}
    found = [name for start, names in said.items() if any(r.variant.startswith(start) for r in rows) for name in names]
    upper = {"dali": "DALI", "ffcv": "FFCV", "numba": "Numba"}
    return "".join(f", {upper[name]} {rows[0].software[name]}" for name in found if name in rows[0].software)


def update(path: Path, results: Path, *, check: bool = False) -> bool:
    """Put the tables into a file; True if that changes it. With check nothing is written."""
    text = path.read_text(encoding="utf-8")
    new = MARKERS.sub(lambda found: found[1] + _between(results, found[2], found[3] or "", found[4], found[5]) + found[6], text)
    if new != text and not check:
        path.write_text(new, encoding="utf-8")
    return new != text


def _between(results: Path, benchmark: str, name: str, setting: str | None, value: str | None) -> str:
    if benchmark == "verdict":
        return verdict.markdown(results, name)
    rows = row.read(results / f"{benchmark}.jsonl")
    if not rows:
        raise UsageError(f"table: {benchmark} has no rows; run `python -m benchmarks {benchmark}` first")
    found = row.tables(row.latest(rows))
    if name not in found:
        known = ", ".join(filter(None, found)) or "none"
        raise UsageError(f"table: {benchmark} has no table {name} (want one of: {known}); mend the marker")
    kept = [r for r in found[name] if setting is None or str(r.settings.get(setting)) == value]
    if not kept:
        raise UsageError(f"table: {benchmark} has no row whose {setting} is {value!r}; mend the marker")
    return markdown(kept)


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _number(value: float) -> str:
    """Three digits at least, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _figure(r: Row, name: str) -> str:
    """Of `also`, with its interval if it has one."""
    if name not in r.also:
        return ""
    low, high = (r.also.get(name + end) for end in ("_low", "_high"))
    return _number(r.also[name]) + ("" if low is None or high is None else f" ({_number(low)} to {_number(high)})")


def _range(r: Row) -> str:
    return f"{_number(r.low)} to {_number(r.high)}"


def _ratio(r: Row) -> str:
    if not r.repetitions:
        return ""
    return "1" if r.ratio is None else f"{r.ratio:.2f} ({r.ratio_low:.2f} to {r.ratio_high:.2f})"
