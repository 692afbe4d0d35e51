"""The Python code of docs/migrate runs: every guide's blocks one after the other, in a folder with
data/train and data/val.
"""

import importlib.util
import os
import re
from pathlib import Path

import pytest

# test_snippets.py runs the guide that has commands too.
WALKED = {
    "README.md",
    "energon.md",
    "img2dataset.md",
    "litdata.md",
    "lmdb.md",
    "parquet.md",
    "streaming.md",
    "tfrecord.md",
    "webdataset.md",
}
GUIDES = sorted((Path(__file__).parents[2] / "docs" / "migrate").glob("*.md"))
BLOCK = re.compile(
    r"(?:<!-- needs: (?P<needs>[\w, ]+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL
)
# Other libraries' warnings are not ours: trainers on a CPU have many.
pytestmark = pytest.mark.filterwarnings("ignore")


def blocks(guide):
    """The needed packages and the code of each block, with the guide's own line numbers."""
    text = guide.read_text()
    for found in BLOCK.finditer(text):
        before = text[: found.start("code")].count("\n")
        yield set((found["needs"] or "").replace(",", " ").split()), "\n" * before + found["code"]


def test_every_guide_is_listed():
    table = (GUIDES[0].parent / "README.md").read_text()
    assert len(GUIDES) >= 9
    assert [
        guide.name
        for guide in GUIDES
        if guide.name != "README.md" and f"({guide.name})" not in table
    ] == []


@pytest.mark.parametrize(
    "guide", [guide for guide in GUIDES if guide.name not in WALKED], ids=lambda guide: guide.stem
)
def test_the_code_runs(guide, folder, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    for name in ("train", "val"):
        (tmp_path / "data" / name).symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hf"))
    parts, names, missing = list(blocks(guide)), {"__name__": "guide"}, set()
    assert parts
    for needs, code in parts:
        absent = {
            package
            for package in needs | imported(code)
            if importlib.util.find_spec(package) is None
        }
        missing |= absent
        if not absent:
            exec(compile(code, str(guide), "exec"), names)  # the guide's own code
    if missing & set(os.environ.get("FASTLOAD_REQUIRE", "").split(",")):
        pytest.fail(
            f"FASTLOAD_REQUIRE names what is missing: {', '.join(sorted(missing))}", pytrace=False
        )
    if missing:
        pytest.skip(f"the blocks that need {', '.join(sorted(missing))} did not run: not installed")


def imported(code):
    """Packages that a block imports and that are no dependency of the tests."""
    return {
        name
        for name in re.findall(r"^import (\w+)|^from (\w+)", code, re.MULTILINE)
        for name in name
        if name in {"datasets", "timm"}
    }
