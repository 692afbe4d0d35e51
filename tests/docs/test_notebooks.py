"""The notebooks of docs/ run from the first cell to the last, and are kept without outputs."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import TREE

NOTEBOOKS = sorted((TREE / "docs" / "notebooks").glob("*.ipynb"))
# Runs the cells one by one, and asks each last value for its HTML or picture, as a notebook does.
RUN = """
import ast, json, sys
scope = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] != "code":
        continue
    *body, last = ast.parse("".join(cell["source"])).body
    if not isinstance(last, ast.Expr):
        body, last = [*body, last], None
    exec(compile(ast.Module(body, []), "cell", "exec"), scope)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
        shown = getattr(value, "_repr_html_", None) or getattr(value, "_repr_png_", None)
        assert value is None or shown()
"""


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == [
        "convert-and-resume",
        "five-minutes",
        "what-limits-my-training",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    book = json.loads(path.read_text())
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(path, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=TREE,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr
