"""Rows as Markdown: tables, each with what it was measured on."""

from collections.abc import Iterable, Sequence

from benchmarks.report import row
from benchmarks.report.row import Row


def every(rows: Sequence[Row]) -> str:
    """All tables of a benchmark, the main one first."""
    return "\n".join(
        (f"{name}:\n\n" if name else "") + markdown(part) for name, part in row.tables(rows).items()
    )


def markdown(rows: Sequence[Row]) -> str:
    """The table and, below it, what it was measured on."""
    names = [
        name for name in rows[0].settings if len({str(r.settings.get(name)) for r in rows}) > 1
    ]
    also = sorted({name for r in rows for name in r.also if not name.endswith(("_low", "_high"))})
    compared = any(r.ratio is not None for r in rows)
    noted = ["note"] if any(r.note for r in rows) else []
    figures = [
        *(["ratio (95 % CI)"] if compared else []),
        *(name.replace("_", " ") for name in also),
    ]
    lines = [_line([*names, "variant", rows[0].unit, "lowest to highest", *figures, *noted])]
    lines.append(
        _line([*["---"] * (len(names) + 1), *["---:"] * (len(figures) + 2), *["---"] * len(noted)])
    )
    for r in rows:
        figures = [*([_ratio(r)] if compared else []), *(_figure(r, name) for name in also)]
        shown = [_number(r.median), _range(r)] if r.repetitions else ["none", ""]
        notes = [r.note.replace("|", "\\|")] if noted else []
        lines.append(
            _line(
                [*(r.settings.get(name, "") for name in names), r.variant, *shown, *figures, *notes]
            )
        )
    return "\n".join([*lines, "", footnote(rows)]) + "\n"


def footnote(rows: Sequence[Row]) -> str:
    first = rows[0]
    here = first.machine
    same = [
        name
        for name in first.settings
        if name != "table" and len({str(r.settings.get(name)) for r in rows}) == 1
    ]
    data = first.data
    parts = [
        f"{here['gpu']}, " * (first.benchmark == "gpu")
        + f"{here['cpu'].replace('(R)', '')}, {here['cores_usable']} cores",
        f"{data['name']}: {data['images']} images, {data['mean_bytes']} bytes and "
        f"{data['mean_pixels']} px each on average"
        if data
        else "",
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
    return (
        "windows of a process of its own, one variant after another"
        if loaders
        else "interleaved repetitions"
    )


def _libraries(r: Row) -> str:
    """Those that the numbers hang on."""
    native, pil = r.software.get("native", {}), r.software["pillow"]
    if r.benchmark == "decode":
        return (
            f"libjpeg-turbo {native['libjpeg-turbo']}, Highway {native['highway']}, compiler "
            f"{native['compiler']}"
        )
    torch = f"torch {r.software['torch']}, torchvision {r.software['torchvision']}"
    return f"{torch}, {pil['name']} {pil['version']} (libjpeg-turbo {pil['libjpeg_turbo']})"


def _beside(rows: Sequence[Row]) -> str:
    """Other loaders that stand in the rows."""
    said = {"DALI": ("dali",), "FFCV": ("ffcv", "numba")}
    results = [
        name
        for start, names in said.items()
        if any(r.variant.startswith(start) for r in rows)
        for name in names
    ]
    upper = {"dali": "DALI", "ffcv": "FFCV", "numba": "Numba"}
    return "".join(
        f", {upper[name]} {rows[0].software[name]}"
        for name in results
        if rows[0].software.get(name)  # else the row's note has it: of an environment of its own
    )


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
    return _number(r.also[name]) + (
        "" if low is None or high is None else f" ({_number(low)} to {_number(high)})"
    )


def _range(r: Row) -> str:
    return f"{_number(r.low)} to {_number(r.high)}"


def _ratio(r: Row) -> str:
    if not r.repetitions:
        return ""
    return "1" if r.ratio is None else f"{r.ratio:.2f} ({r.ratio_low:.2f} to {r.ratio_high:.2f})"
