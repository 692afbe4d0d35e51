"""The pages are readable as text: lines of prose have at most 100 characters, the design page is
short, and the paths that it and the internals name exist.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import TREE

WIDTH, MOST_WORDS = 100, 1500
# Whole pages that `python -m benchmarks` prints; tests compare them with their generators.
GENERATED = {"ops.md", "pipelines.md", "backends.md", "parity.md"}
PAGES = [
    *(page for page in sorted((TREE / "docs").rglob("*.md")) if page.name not in GENERATED),
    TREE / "CONTRIBUTING.md",
]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a page but for tables, code, and rows that a benchmark writes."""
    fenced = written = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("<!-- benchmarks:"):
            written = True
        elif line.startswith("<!-- /benchmarks"):
            written = False
        elif not (fenced or written or line.startswith(("|", "    "))):
            yield number, line


def test_tables_code_and_generated_rows_are_no_prose() -> None:
    page = (
        "one\n```\ntwo\n```\n<!-- benchmarks: x -->\nthree\n<!-- /benchmarks -->\n"
        "| four |\n    five\n  six\n"
    )
    assert list(prose(page)) == [(1, "one"), (10, "  six")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_prose_is_wrapped(page: Path) -> None:
    long = {number: line for number, line in prose(page.read_text()) if len(line) > WIDTH}
    assert long == {}


def paths(text: str) -> set[str]:
    """What a page's code spans name in the checkout's folders, and the targets of its links."""
    spans = re.findall(r"`((?:fastload|kernels|tests|benchmarks|fuzz|docs)/[\w./-]*)`", text)
    return set(spans) | set(re.findall(r"\]\(([^)#:]+)\)", text))


def test_paths_are_spans_and_links() -> None:
    assert paths("`kernels/x.h`, `no path`, [a](../b.md), [c](https://d.e), fastload/f.py") == {
        "kernels/x.h",
        "../b.md",
    }


def test_the_design_is_one_page() -> None:
    assert len((TREE / "docs" / "design.md").read_text().split()) <= MOST_WORDS


DESIGN = [
    TREE / "docs" / "design.md",
    TREE / "docs" / "contracts.md",
    *sorted((TREE / "docs" / "internals").glob("*.md")),
]


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_what_the_design_names_exists(page: Path) -> None:
    named = paths(page.read_text())
    assert [
        name
        for name in sorted(named)
        if not (TREE / name).exists() and not (page.parent / name).exists()
    ] == []


def test_every_internal_page_is_listed() -> None:
    listed = paths((TREE / "docs" / "internals" / "README.md").read_text())
    assert {page.name for page in DESIGN[2:]} - {"README.md"} <= listed
