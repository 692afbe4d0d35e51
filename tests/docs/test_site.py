"""The site's sources: every public name stands in the reference, and what checks the built site
finds what is wrong with it. `.ci/site` builds the site itself; test_prose.py holds the navigation.
"""

import importlib.util
import re
from pathlib import Path

import pytest

import fastload
import fastload.conversion.distributed
import fastload.extending
import fastload.image
import fastload.profiler
import fastload.recipes
import fastload.transforms
from tests.conftest import TREE

DOCS = TREE / "docs"


def documented() -> set[str]:
    text = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    return set(re.findall(r"^::: (fastload[\w.]*)$", text, re.MULTILINE))


@pytest.mark.parametrize(
    "module",
    [
        fastload,
        fastload.transforms,
        fastload.image,
        fastload.detection,
        fastload.metrics,
        fastload.recipes,
        fastload.profiler,
        fastload.extending,
        fastload.conversion.distributed,
    ],
    ids=lambda module: module.__name__,
)
def test_every_public_name_stands_in_the_reference(module) -> None:
    shown = {name.rpartition(".")[2] for name in documented()}
    assert (
        set(module.__all__) - shown - {"detection", "image", "metrics", "transforms"} == set()
    )  # pages


def test_every_name_of_the_reference_is_there() -> None:
    for path in documented() - {"fastload.progressive"}:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path


def test_the_landing_page_says_what_the_readme_says() -> None:
    readme, landing = (TREE / "README.md").read_text(), (DOCS / "index.md").read_text()
    example = re.search(r"<!-- example -->\n(```python\n.*?```)", readme, re.DOTALL)
    assert example
    assert example[1] in landing
    assert readme.split("\n\n")[1] in landing  # the sentence with the number
    commands = re.findall(r"^    S=.*fastload demo$", readme, re.MULTILINE)
    assert re.findall(r"^    S=.*$", landing, re.MULTILINE) == commands


def test_what_builds_the_site_is_pinned() -> None:
    group = re.search(r"^docs = \[(.*?)\]", (TREE / "pyproject.toml").read_text(), re.MULTILINE)
    assert group
    wanted = re.findall(r'"([^"]+)"', group[1])
    assert len(wanted) > 3
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", each) for each in wanted)


@pytest.fixture(scope="module")
def checker():
    path = TREE / ".ci" / "check_site.py"
    if not path.exists():
        pytest.skip("a source distribution has no .ci")
    spec = importlib.util.spec_from_file_location("check_site", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(checker, folder: Path, body: str) -> list[str]:
    (folder / "deep").mkdir(exist_ok=True)
    (folder / "deep" / "b.html").write_text('<h1 id="there">b</h1><a href="../a.html">a</a>')
    (folder / "a.html").write_text(body)
    return list(checker.problems(folder.resolve()))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="deep/b.html#there">b</a>',
        '<p id="x"></p><a href="#x">x</a>',
        '<a href="https://pytorch.org/docs">docs</a>',
        '<img src="data:image/png;base64,AA">',
        '<link rel="canonical" href="https://example.org/a.html">',
    ],
)
def test_good_links(checker, tmp_path, body) -> None:
    assert problems(checker, tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="c.html">c</a>', "a.html: c.html: nothing is there"),
        ('<a href="deep/b.html#no">b</a>', "a.html: deep/b.html#no: no such anchor"),
        ('<a href="#no">b</a>', "a.html: #no: no such anchor"),
        ('<a href="../x.html">x</a>', "a.html: ../x.html: leads out of the site"),
        (
            '<a href="/a.html">a</a>',
            "a.html: /a.html: begins at the server's root; want a relative one",
        ),
        ('<a href="https://nowhere">x</a>', "a.html: https://nowhere: no address"),
        ('<script src="https://cdn.example/x.js"></script>',
         "a.html: https://cdn.example/x.js: fetched from the network"),
        ('<link rel="stylesheet" href="https://fonts.example/f.css">',
         "a.html: https://fonts.example/f.css: fetched from the network"),
    ],
)  # fmt: skip
def test_bad_links(checker, tmp_path, body, problem) -> None:
    assert problems(checker, tmp_path, body) == [problem]


def test_an_example_as_prose_is_a_problem(checker, tmp_path) -> None:
    """Python-Markdown makes quotes of a prompt that stands in no code."""
    body = "<blockquote>\n<blockquote>\n<blockquote>\n<p>import fastload"
    assert problems(checker, tmp_path, body) == ["a.html: an example is shown as prose"]


def test_a_style_that_fetches_is_a_problem(checker, tmp_path) -> None:
    (tmp_path / "site.css").write_text("@font-face {src: url('https://fonts.example/x.woff2')}")
    assert problems(checker, tmp_path, "") == ["site.css: fetches from the network"]


def test_an_empty_site_is_a_problem(checker, tmp_path) -> None:
    assert list(checker.problems(tmp_path)) == [f"{tmp_path}: no page is there"]
