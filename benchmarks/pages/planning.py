"""`python -m benchmarks planning`: the table of docs/planning.md, of runs that are published."""

from pathlib import Path

from fastload.forecast import published

BEGIN, END = "<!-- published runs -->\n", "<!-- /published runs -->\n"
COLUMNS = ("run", "epochs", "published, min", "forecast, min", "off", "what differs", "source")


def table() -> str:
    """Runs of which the rates are of the very machine and recipe come first."""
    lines = [" | ".join(COLUMNS), "---|---:|---:|---:|---:|---|---"]
    for one in sorted(published.load().timed, key=lambda each: not each.same):
        name = one.name if one.same else f"{one.name} (other rates)"
        cells = (
            name, str(one.epochs), f"{one.minutes:.2f}".rstrip("0").rstrip("."),
            f"{one.forecast():.1f}", f"{100 * one.off:+.1f} %", one.differs, one.source,
        )  # fmt: skip
        lines.append(" | ".join(cells))
    return "".join(f"| {line} |\n" if "---" not in line else f"|{line}|\n" for line in lines)


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


def write(docs: Path) -> Path:
    path = docs / "planning.md"
    path.write_text(page(path.read_text()))
    return path
