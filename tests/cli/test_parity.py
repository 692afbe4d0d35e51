"""`fastload parity`: the table, the document, the sheet, the exit codes."""

import json
from functools import partial

import numpy as np
import pytest
from PIL import Image

from fastload.errors import UsageError
from fastload.parity import Cell, Column, Report
from fastload.parity.report import Worst

RECIPE = """
name = "tiny"
title = "Tiny"
source = "the tests"

[data]
train = [
  { op = "RandomResizedCrop", size = [24, 31] },
  { op = "RandomHorizontalFlip" },
  { op = "ToImage" },
]
eval = [{ op = "Resize", size = [24, 31] }, { op = "ToImage" }]

"""


@pytest.fixture
def tiny(tmp_path):
    from importlib.resources import files

    training = (files("fastload.recipes") / "mild.toml").read_text().partition("[training]")
    path = tmp_path / "tiny.toml"
    path.write_text(RECIPE + "".join(training[1:]))
    return str(path)


@pytest.fixture
def run(run):
    return partial(run, "parity")


def test_the_table_and_the_document(run, folder, tiny, tmp_path):
    sheet, document = tmp_path / "sheet.png", tmp_path / "found.json"
    what = ("--recipe", tiny, "--backend", "native", "--images", 6)
    done = run(folder, *what, "-o", sheet, "--json", document, "--fail-above", 0)
    assert (done.exit_code, done.exception) == (0, None)
    lines = done.stdout.splitlines()
    assert lines[0] == "recipe tiny, 6 images, against the torch backend; levels of 255"
    assert [line.split() for line in lines[1:5]] == [
        ["stage", "native"],
        ["decode", "(the", "middle", "24x31", "px)", "bit-equal"],
        ["1", "RandomResizedCrop", "bit-equal"],
        ["2", "RandomHorizontalFlip", "bit-equal"],
    ]
    found = json.loads(document.read_text())
    assert (found["schema"], found["recipe"], found["images"], found["reference"]) == (
        "fastload.parity/1",
        "tiny",
        6,
        "torch",
    )
    assert [row["name"] for row in found["rows"]][1:] == [
        "1 RandomResizedCrop",
        "2 RandomHorizontalFlip",
        "3 ToImage",
        "mix LabelSmoothing",
    ]
    assert found["rows"][-1]["cells"] == [
        {
            "backend": "native", "device": "cpu", "verdict": "bit-equal", "max_levels": 0,
            "mean_levels": 0, "pixels_share": 0,
            "p_value": None, "worst": None, "why": [],
        }
    ]  # fmt: skip
    with Image.open(sheet) as image:
        assert image.format == "PNG"


def test_labels_that_cannot_be_mixed_are_not(run, tmp_path, tiny, make_image, encode):
    from tests.beton.layout import Writer

    rows = [
        [("jpg", encode(make_image(40, 50, number)), 40, 50), number - 1] for number in range(3)
    ]
    (tmp_path / "x.beton").write_bytes(Writer([("image", "image"), ("label", "int")], rows).bytes())
    done = run(tmp_path / "x.beton", "--recipe", tiny, "--backend", "native")
    assert (done.exit_code, done.exception) == (0, None)
    assert [line.split() for line in done.stdout.splitlines() if line.strip()][-1] == [
        "3",
        "ToImage",
        "bit-equal",
    ]


def pixels(value):
    return np.full((4, 6, 3), value, np.uint8)


FOUND = Report(
    8,
    (Column("one", "cpu"), Column("two", "cuda")),
    (
        ("decode", (Cell("bit-equal", 0, 0, 0), Cell("within", 2.0, 0.12, 0.034,
        worst=Worst("a/b.jpg", 2, 1, pixels(9), pixels(7))))),
        ("1 Blur", (Cell("cannot", why=("op 1 (Blur) is not written", "nor is it meant")),
        Cell("differs", 77.04, 1.5, 0.5))),
        ("2 Flip", (Cell("cannot", why=("op 1 (Blur) is not written",)), Cell("failed",
        why=("out of memory",)))),
    ),
)  # fmt: skip


@pytest.fixture
def made(monkeypatch):
    """The verb with a report that no backend here would give."""
    monkeypatch.setattr("fastload.parity.run.measure", lambda *_, **__: FOUND)


def test_what_differs_and_what_did_not_run_is_said_once(run, folder, tiny, made):
    done = run(folder, "--recipe", tiny)
    assert done.exit_code == 0
    assert [" ".join(line.split()) for line in done.stdout.splitlines()[1:]] == [
        "stage one two on cuda",
        "decode bit-equal within 2: mean 0.12, 3.4 % of pixels",
        "1 Blur cannot differs: max 77, mean 1.5, 50 % of pixels",
        "2 Flip cannot failed",
        "",
        "one: cannot: op 1 (Blur) is not written (from row '1 Blur' on)",
        "one: cannot: nor is it meant (from row '1 Blur' on)",
        "two on cuda: failed: out of memory (from row '2 Flip' on)",
    ]


def test_a_limit_makes_it_a_check(run, folder, tiny, made, monkeypatch):
    done = run(folder, "--recipe", tiny, "--fail-above", 1e9)
    assert done.exit_code == 1
    assert (
        done.stderr
        == "fastload: parity: a backend gave other labels, shapes or pictures, or failed, and "
        "--fail-above 1e+09 was given\n"
    )
    monkeypatch.setattr(
        "fastload.parity.run.measure", lambda *_, **__: Report(8, FOUND.columns, FOUND.rows[:2])
    )
    done = run(folder, "--recipe", tiny, "--fail-above", 77)
    assert (done.exit_code, done.stderr) == (
        1,
        "fastload: parity: a backend differs by 77 levels, and --fail-above 77 was given\n",
    )
    assert run(folder, "--recipe", tiny, "--fail-above", 77.1).exit_code == 0


def test_the_sheet_has_the_worst_images(run, folder, tiny, made, tmp_path):
    assert run(folder, "--recipe", tiny, "-o", tmp_path / "sheet.html").exit_code == 0
    text = (tmp_path / "sheet.html").read_text()
    assert "two on cuda, after decode" in text
    assert "b.jpg" in text
    assert text.count("<img") == 3


def test_all_wrong_options_at_once(run, folder, tmp_path):
    done = run(
        folder,
        "--images",
        0,
        "--batch-size",
        0,
        "--seed",
        -1,
        "--workers",
        -1,
        "--fail-above",
        "nan",
        "-o",
        tmp_path / "x.gif",
    )
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).splitlines() == [
        "parity: --images is 0, want 1 to 100000",
        "parity: --batch-size is 0, want 1 or more",
        "parity: --seed is -1, want 0 to 2**64 - 1",
        "parity: --workers is -1, want 0 or more (0: everything in one thread)",
        "parity: --fail-above is nan, want 0 or more levels",
        f"{tmp_path}/x.gif: ends in '.gif', want .png or .html; give another name to --output",
    ]
