"""Rows as Markdown, put between markers in README and docs, so that no number there is typed by
hand.

<!-- benchmarks: loader -->
…replaced…
<!-- /benchmarks -->

`<!-- benchmarks: decode layer stages -->` takes the further table "layer stages" of decode.jsonl;
`<!-- benchmarks: peers (pipeline: crop, flip) -->` only the rows with that setting;
`<!-- benchmarks: headline -->` is README's table.
"""

import re
from pathlib import Path

from benchmarks.pages import headline
from benchmarks.report import row
from benchmarks.report.table import markdown
from benchmarks.verdict import tables as verdict
from fastload.errors import UsageError

MARKERS = re.compile(
    r"(<!-- benchmarks: (\w+)(?: (\w+(?: \w+)*))?(?: \((\w+): ([^)\n]+)\))? -->\n).*?"
    r"(<!-- /benchmarks -->)",
    re.DOTALL,
)


def update(path: Path, results: Path, *, check: bool = False) -> bool:
    """Put the tables into a file; True if that changes it. With check nothing is written."""
    text = path.read_text(encoding="utf-8")
    new = MARKERS.sub(
        lambda found: (
            found[1] + _between(results, found[2], found[3] or "", found[4], found[5]) + found[6]
        ),
        text,
    )
    if new != text and not check:
        path.write_text(new, encoding="utf-8")
    return new != text


def _between(
    results: Path, benchmark: str, name: str, setting: str | None, value: str | None
) -> str:
    if benchmark == "verdict":
        return verdict.markdown(results, name)
    if benchmark == "headline":
        return headline.markdown(headline.rows(results))
    rows = row.read(results / f"{benchmark}.jsonl")
    if not rows:
        raise UsageError(
            f"table: {benchmark} has no rows; run `python -m benchmarks {benchmark}` first"
        )
    found = row.tables(row.latest(rows))
    if name not in found:
        known = ", ".join(filter(None, found)) or "none"
        raise UsageError(
            f"table: {benchmark} has no table {name} (want one of: {known}); mend the marker"
        )
    kept = [r for r in found[name] if setting is None or str(r.settings.get(setting)) == value]
    if not kept:
        raise UsageError(
            f"table: {benchmark} has no row whose {setting} is {value!r}; mend the marker"
        )
    return markdown(kept)
