"""docs/backends.md and docs/parity.md are what their generators print, for the backends that are
here.
"""

import re

import pytest

from fastload import transforms as T
from fastload.backends import choosing
from fastload.backends.table import BACKENDS, BackendFacts, facts
from fastload.parity import Column
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan

asking = pytest.importorskip("benchmarks.pages.backends")  # not in an installed package
parity = pytest.importorskip("benchmarks.pages.parity")
cases = asking.cases
HERE = {"native", "torch"}  # needs no other library


def stored(tree, name):
    text = (tree / "docs" / name).read_text()
    return text, asking.of_markdown(text)


def test_the_page_says_what_backends_answer(tree, tmp_path):
    text, cells = stored(tree, "backends.md")
    now = asking.of_markdown(asking.page(tmp_path))
    assert text.startswith(asking.HEAD.format(auto="native or torch", exact="native, torch, ffcv"))
    assert {row for row, _ in cells} == {row for row, _ in now}
    assert {"native", "native on cuda", "torch"} <= {column for _, column in cells}
    for (row, column), answer in now.items():
        if column.split(" ")[0] in HERE:
            assert cells[row, column] == answer


def test_every_op_is_asked_about_and_every_column_is_a_backend(tree):
    _, cells = stored(tree, "backends.md")
    names = {
        name
        for name in T.__all__
        if isinstance(kind := getattr(T, name), type) and issubclass(kind, T.Op)
    } - {"Op"}
    assert names <= {case.op for case in cases.ops()}
    assert {f"{op}.{name}" for op, variants in recipes_named().items() for name in variants} <= {
        case.op for case in cases.ops()
    }
    assert {column.split(" ")[0] for _, column in cells} <= set(BACKENDS)


def recipes_named():
    from fastload.recipes.parse import NAMED

    return NAMED


def test_reasons_stand_in_place_of_their_numbers():
    page = (
        "| ops | one |\n| --- | --- |\n| `A`, b | no (1, 2) |\n| `C` | yes |\n\n## Why "
        "not\n\n1. is big; very\n2. is red\n"
    )
    assert asking.of_markdown(page) == {
        ("`A`, b", "one"): "is big; very; is red",
        ("`C`", "one"): "yes",
    }


def test_a_backend_that_can_do_nothing_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(
        BACKENDS.own, "none", BackendFacts("none", "fastload.backends.no_such_module", "own")
    )
    asked = asking.ask(asking.sources(tmp_path))
    assert asked.missing[Column("none", "cpu")] == [
        "is not installed (No module named 'fastload.backends.no_such_module')"
    ]
    assert Column("native", "cpu") in asked.columns


@pytest.mark.long
def test_the_page_of_pixels_is_true(tree, tmp_path):
    """Few images suffice: what is bit-equal is so for each."""
    _, cells = stored(tree, "parity.md")
    given = {
        column: source
        for column, source in parity.sources(tmp_path).items()
        if str(column) == "native"
    }
    assert {row for row, _ in cells} == {
        asking.titled(case) for case in [*cases.whole(), *cases.ops()]
    }
    for case in [*cases.whole(), *cases.ops()]:
        assert [cells[asking.titled(case), "native"]] == parity.compared(case, given, images=3)


RUN = (
    "recipe hot",
    "`RandAugment.composer`",
    "`CenterCrop`, alone",
    "`ColOut`, a batch",
    "`RandomErasing`, a value",
)
FAR = re.compile(r"^(?:within|differs: max) ([\d.]+)")


def test_the_page_of_pixels_is_true_for_the_backends_that_are_installed(tree, tmp_path):
    """What they cannot run, of all rows; their pixels, of some: a few images cannot be further off
    than all of them.
    """
    _, cells = stored(tree, "parity.md")
    listed = {column for _, column in cells}
    given = {
        column: source
        for column, source in parity.sources(tmp_path).items()
        if str(column) in listed - {"native"}
    }
    for case in [*cases.whole(), *cases.ops()]:
        row = asking.titled(case)
        for column, source in given.items():
            cannot = bool(
                choosing.unsupported(
                    column.backend, plan(Pipeline(source, case.ops), mix=case.mix), column.device
                )
            )
            assert (cells[row, str(column)] == "no") == cannot, (row, str(column))
        if row not in RUN:
            continue
        run = {
            column: source
            for column, source in given.items()
            if not facts(column.backend).own_draws
        }
        for column, found in zip(
            run, parity.compared(case, run, images=3), strict=True
        ):  # which tell nothing of a distribution
            said = cells[row, str(column)]
            # 2 or 3 digits stand there
            assert found == said or furthest(found) <= 1.06 * furthest(said), (row, str(column))


def furthest(cell):
    """Levels."""
    return (
        float(FAR.match(cell)[1]) if FAR.match(cell) else {"bit-equal": 0.0}.get(cell, float("nan"))
    )


def test_the_page_has_every_backend(tree):
    _, cells = stored(tree, "parity.md")
    assert {column for _, column in cells} == set(BACKENDS) - {"torch"}
    assert {cell for (_, column), cell in cells.items() if column in ("native", "ffcv")} == {
        "bit-equal",
        "no",
    }
    assert not [
        key for key, cell in cells.items() if cell.startswith(("other", "failed", "cannot"))
    ]
