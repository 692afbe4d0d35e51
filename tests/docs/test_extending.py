"""The code of docs/extending.md is the toy package's, which tests/extending runs."""

import re
from pathlib import Path

from fastload import extending
from tests.conftest import TREE

PAGE = TREE / "docs" / "extending.md"
TOY = TREE / "tests" / "toy_package"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_python_is_the_packages() -> None:
    named = [re.fullmatch(r"# (toy/\w+\.py)\n(.*)", block, re.DOTALL) for block in blocks("python")]
    known = [match for match in named if match]
    assert len(known) >= 6
    for match in known:
        assert match[2] in (TOY / match[1]).read_text(), match[1]


def test_the_entry_points_are_the_packages() -> None:
    (block,) = blocks("toml")
    assert block in (TOY / "pyproject.toml").read_text()


def test_all_that_is_exported_is_there_and_has_words() -> None:
    plain = ("Batch", "Files")  # a list; a class of the extension, which the page tells of
    for name in extending.__all__:
        thing = getattr(extending, name)
        assert name in plain or (isinstance(thing, type) and thing.__doc__), name


def test_names_come_without_an_import(program: object, tmp_path: Path) -> None:
    assert callable(program)
    code = (
        "import sys; before = set(sys.modules); from fastload.extending import BackendFacts;"
        "from fastload.extending import Format;"
        "print(sorted(name for name in set(sys.modules) - before if name.endswith('_native')))"
    )
    assert program("-c", code, cwd=tmp_path).stdout == "[]\n"
