"""The walks of docs/internals/walks.md are true: what they name exists, and an index is handed
through the files of its walk and no others.
"""

import ast
import re
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

import fastload
from fastload import transforms as T
from tests.conftest import TREE, needs_checkout

PAGE = (TREE / "docs" / "internals" / "walks.md").read_text()
MOST = 8
# A file at the head of a step, and the rest of the step.
STEP = re.compile(r"^\d+\. `([\w./]+)`: (.*?)(?=^\d+\. |\n\n|\Z)", re.MULTILINE | re.DOTALL)
# In a C++ file the name stands before its arguments, maybe after its class.
CPP = r"(?<![\w.>:]){name}\("


def walks() -> dict[str, dict[str, str]]:
    """Of each walk by its heading: the text of each step by its file."""
    parts = re.split(r"^## (.*)$", PAGE, flags=re.MULTILINE)[1:]
    return {
        heading: dict(STEP.findall(text))
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


INDEX = next(iter(walks().values()))  # the files of the first walk


@pytest.mark.parametrize("walk", walks())
def test_a_walk_is_short(walk: str) -> None:
    assert 5 < len(walks()[walk]) <= MOST


def defined(path: Path) -> set[str]:
    """Names that a Python file defines, methods also as Class.method."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if hasattr(one, "name")}
    return names


def names_in(path: str, names: set[str]) -> set[str]:
    """Those of the names that a file defines; of `object.method` the method."""
    if path.endswith(".py"):
        known = defined(TREE / path)
        return {name for name in names if name in known or lower(name) in known}
    source = (TREE / path).read_text()
    return {name for name in names if re.search(CPP.format(name=re.escape(lower(name))), source)}


def lower(name: str) -> str:
    return name.rpartition(".")[2] if name[0].islower() else name


# Records that go through a walk, and no step of it defines.
RECORDS = {"Work", "CropRecords"}


@needs_checkout
@pytest.mark.parametrize("walk", walks())
def test_what_a_walk_names_is_in_its_files(walk: str) -> None:
    steps = walks()[walk]
    named = {path: set(re.findall(r"`([\w.:]+)`", text)) - RECORDS for path, text in steps.items()}
    assert [path for path, names in named.items() if not names_in(path, names)] == []
    every = set().union(*named.values())
    assert every - set().union(*(names_in(path, every) for path in steps)) == set()


def helpers() -> tuple[str, ...]:
    """Files and folders of Python that the index's walk calls helpers."""
    listed = PAGE.partition("Helpers, which know no file of the walk:")[2].partition("\n## ")[0]
    return tuple(name for name in re.findall(r"`([\w./]+)`", listed) if name.startswith("fastload"))


class Followed:
    """Calls between fastload's files while it is on: (caller's file, file), by thread."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str | None, str]] = Counter()

    def __enter__(self):
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def note(self, frame, event, _) -> None:  # type: ignore[no-untyped-def]
        if event != "call" or not (path := ours(frame)):
            return
        caller = frame.f_back
        while caller is not None and ours(caller) is None:
            caller = caller.f_back
        self.calls[None if caller is None else ours(caller), path] += 1


def ours(frame) -> str | None:  # type: ignore[no-untyped-def]
    """The path of a frame's file in the checkout, if it is fastload's."""
    root = str(Path(fastload.__file__).parents[1]) + "/"
    name = frame.f_code.co_filename
    return name.removeprefix(root) if name.startswith(f"{root}fastload/") else None


@pytest.fixture
def calls(tmp_path, encode, make_image) -> Counter[tuple[str | None, str]]:
    folder = tmp_path / "data" / "a"
    folder.mkdir(parents=True)
    for n in range(12):
        (folder / f"{n}.jpg").write_bytes(encode(make_image(20 + n, 31, n)))
    ops = [T.RandomResizedCrop((9, 7)), T.RandomHorizontalFlip(), T.ToTensor()]
    loader = fastload.DataLoader(fastload.open(folder.parent, ops), 4, shuffle=True, num_workers=1)
    assert len(list(loader)) == 3
    with Followed() as followed:
        assert len(list(loader)) == 3
    return followed.calls


def test_an_index_enters_the_files_of_its_walk(calls: Counter[tuple[str | None, str]]) -> None:
    entered = {path for _, path in calls}
    walked = {path for path in INDEX if path.endswith(".py")}
    assert walked - entered == set()
    assert [path for path in sorted(entered - walked) if not path.startswith(helpers())] == []


def test_no_helper_hands_it_on(calls: Counter[tuple[str | None, str]]) -> None:
    walked = {path for path in INDEX if path.endswith(".py")}
    wrong = {
        (caller, path) for caller, path in calls
        if path in walked and caller is not None and caller not in walked
    }  # fmt: skip
    assert wrong == set()
