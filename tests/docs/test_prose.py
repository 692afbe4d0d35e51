"""The pages are readable as text: lines of prose have at most 100 characters, sentences at most 35
words, pages at most 1,500, and the paths that the design and the internals name exist. Each has a
line in the navigation of the site.
"""

import re
from pathlib import Path

import pytest

from tests.conftest import TREE, needs_checkout
from tests.docs.prose import plain, prose, sentences

WIDTH, MOST_WORDS, LONGEST = 100, 1500, 35
# Each reason is one line of it: `python -m benchmarks backends` prints it, and a test reads it.
GENERATED = {"backends.md"}
PAGES = [
    *(page for page in sorted((TREE / "docs").rglob("*.md")) if page.name not in GENERATED),
    TREE / "CONTRIBUTING.md",
    TREE / "README.md",
]


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


def test_a_linter_of_prose_gets_the_words_on_their_own_lines() -> None:
    page = "# A `head`\n\nOne `a.\nb` of [x y](z.md):\n\n```\ncode\n```\n| a |\n- `i` and `i`\n"
    assert plain(page) == "A c1c.\n\nOne c2c\n of x y:.\n\n\n\n\n\n- c3c and c4c\n"


def paths(text: str) -> set[str]:
    """What a page's code spans name in the checkout's folders, and the targets of its links."""
    spans = re.findall(r"`((?:fastload|kernels|tests|benchmarks|fuzz|docs)/[\w./-]*)`", text)
    return set(spans) | set(re.findall(r"\]\(([^)#:]+)\)", text))


def test_paths_are_spans_and_links() -> None:
    assert paths("`kernels/x.h`, `no path`, [a](../b.md), [c](https://d.e), fastload/f.py") == {
        "kernels/x.h",
        "../b.md",
    }


DESIGN = [
    TREE / "docs" / "design.md",
    TREE / "docs" / "contracts.md",
    TREE / "docs" / "glossary.md",
    *sorted((TREE / "docs" / "internals").glob("*.md")),
]
# User pages whose sentences are short too.
PLAIN = [
    TREE / "docs" / "tutorial.md",
    *sorted((TREE / "docs" / "guides").glob("*.md")),
    *sorted((TREE / "docs" / "migrate").glob("*.md")),
    *(
        TREE / "docs" / name
        for name in (
            "../README.md",
            "README.md",
            "bad-images.md",
            "convert.md",
            "custom-ops.md",
            "dali.md",
            "decode.md",
            "differences.md",
            "features.md",
            "formats.md",
            "fuzzing.md",
            "gpu.md",
            "images.md",
            "how-decoding-works.md",
            "how-randomness-works.md",
            "loader.md",
            "mixing.md",
            "peers.md",
            "profiler.md",
            "progressive.md",
            "recipes.md",
            "reliability.md",
            "resume.md",
            "training.md",
            "views.md",
        )
    ),
]


@pytest.mark.parametrize("page", DESIGN, ids=lambda page: page.name)
def test_a_page_of_the_design_is_short(page: Path) -> None:
    assert len(page.read_text().split()) <= MOST_WORDS


def test_sentences_end_at_stops_items_and_paragraphs() -> None:
    page = "# A head\n\nOne `a. b` of\nthree. Two [x. y](z.md)!\n- item\n- 2.5 px. End\n"
    assert list(sentences(page)) == [
        (1, "A head"),
        (3, "One code of three."),
        (3, "Two x."),
        (3, "y!"),
        (5, "item"),
        (6, "2.5 px."),
        (6, "End"),
    ]


@pytest.mark.parametrize("page", [*DESIGN, *PLAIN], ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    long = {
        number: sentence
        for number, sentence in sentences(page.read_text())
        if len(re.findall(r"\S*\w\S*", sentence)) > LONGEST
    }
    assert long == {}


@needs_checkout
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
    assert {page.name for page in DESIGN[3:]} - {"README.md"} <= listed


# The list of pages, for who reads them in the checkout; and notebooks, which the site does not show
LEFT_OUT = {
    "README.md",
}
FROM_ROOT = {"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "third_party/README.md"}


def test_every_page_stands_once_in_the_sites_navigation() -> None:
    docs, config = TREE / "docs", (TREE / "mkdocs.yml").read_text()
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    # `.ci/site` makes pages of them
    pages |= {str(path.relative_to(docs).with_suffix(".md")) for path in docs.rglob("*.ipynb")}
    listed = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", config, re.MULTILINE)
    wanted = pages - LEFT_OUT | FROM_ROOT
    missing, gone = sorted(wanted - {*listed}), sorted({*listed} - wanted)
    assert missing == [], "put a line for each into the navigation at mkdocs.yml's end"
    assert gone == []
    assert len(listed) == len({*listed})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_lists_and_tables_are_those_of_the_site_too(page: Path) -> None:
    """The site's Markdown wants four spaces before a list in a list, and a blank line before a
    table; a forge is content with less.
    """
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ {1,3}[-*] .*", text, re.MULTILINE) == []
    assert re.findall(r"^(?![|\n]|<!--).*\n\|.*", text, re.MULTILINE) == []
    assert re.findall(r"^\|.*\n\n\|(?!.*\n\|[\s:|-]+$).*", text, re.MULTILINE) == []
