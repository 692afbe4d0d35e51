"""The tutorial's commands and code run as its page says; only installing and measuring are left to
the walk (`python tests/docs/walk.py docs/tutorial.md FOLDER`).
"""

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from fastload import demo_images
from tests.conftest import PACKAGE, TREE
from tests.docs.walk import Step, Walker, WalkError, differs, steps

TUTORIAL = TREE / "docs" / "tutorial.md"
PROGRAMS = {"python": "", "fastload": " -m fastload", "torchrun": " -m torch.distributed.run"}


def environment(folder: Path) -> dict[str, str]:
    """This Python as `python`, and the command line of the fastload under test."""
    programs = folder / ".programs"
    programs.mkdir()
    for name, arguments in PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    return os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(PACKAGE),
        "XDG_CACHE_HOME": str(folder / ".cache"),
    }


@pytest.mark.long
def test_the_tutorial_prints_what_its_page_says(tmp_path: Path) -> None:
    demo_images.make_folder(tmp_path / "demo" / "images-300", 300, 20, workers=2)
    with closing(Walker(tmp_path, environment(tmp_path))) as walker:
        ran = [
            walker.run(step, measured=False)
            for step in steps(TUTORIAL.read_text())
            if step.mark is None
        ]
    assert len(ran) == 7


def test_a_page_that_says_something_else_fails(tmp_path: Path) -> None:
    with closing(Walker(tmp_path, environment(tmp_path))) as walker:
        walker.run(Step(1, "sh", "mkdir a; cd a; export B=c\n", None, None, None))
        assert walker.run(Step(1, "sh", 'echo "$B"; pwd\n', "c\n…/a\n", None, None))
        walker.run(Step(1, "python", "x = 1\n", None, None, None))
        assert walker.run(Step(2, "python", "print(x)\n", "1\n", None, None)) == "1\n"
        assert walker.run(Step(2, "python", "print(3)\n", None, "file", "three.py")) == ""
        walker.run(Step(2, "sh", "python ../three.py\n", "3\n", None, None))
        with pytest.raises(WalkError, match="line 3: printed\n1\nwant\n2"):
            walker.run(Step(3, "python", "print(x)\n", "2\n", None, None))
        with pytest.raises(WalkError, match="line 4: failed\nfalse"):
            walker.run(Step(4, "sh", "false\ntrue\n", None, None, None))
        with pytest.raises(WalkError, match="ZeroDivisionError"):
            walker.run(Step(5, "python", "1 / 0\n", None, None, None))


def test_ranges_and_gaps() -> None:
    said = "a   [1 to 2,000] b\n…\nend …\n"
    assert differs(said, "a 1,500 b\nx\ny\nend of it\n") is None
    assert differs(said, "a 1,500 b\nend of it\n") is None
    assert differs(said, "a 2,001 b\nend of it\n") == "2,001.0 is not within 1.0 to 2,000.0"
    assert differs(said, "a 2,001 b\nend of it\n", measured=False) is None
    assert differs(said, "a x b\nend\n") == f"printed\na x b\nend\nwant\n{said.rstrip()}"
