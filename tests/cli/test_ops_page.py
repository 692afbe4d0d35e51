"""docs/ops.md is what its generator prints."""

import re

import pytest

from fastload.transforms.reference.augment import DRAWN

differences = pytest.importorskip("benchmarks.pages.differences")
ops = pytest.importorskip("benchmarks.pages.ops")  # not in an installed package


def test_the_page_lists_every_op_as_it_is(tree):
    page = (tree / "docs" / "ops.md").read_text()
    assert page.startswith(
        ops.HEAD
        + "".join(ops.listing())
        + ops.PIXELS.partition("{versions}")[0].format(warps=ops.WARPS)
    )
    assert page.endswith(ops.NOTES.format(own=" and ".join(ops.OWN)))


def test_the_page_is_of_the_versions_that_the_tests_are_pinned_to(tree):
    page, pins = ((tree / name).read_text() for name in ("docs/ops.md", "tests/constraints.txt"))
    pinned = dict(re.findall(r"^(torchvision|pillow)(?:==|<)([\d.]+)$", pins, re.MULTILINE))
    stated = re.search(r"Measured with torchvision ([\d.]+) and Pillow (\d+)", page)
    assert stated
    assert stated[1] == pinned["torchvision"]
    assert int(stated[2]) == int(pinned["pillow"]) - 1


def test_the_page_states_the_differences(tree):
    page = (tree / "docs" / "ops.md").read_text()
    if f"Measured with {ops.versions()}." not in page:
        pytest.skip("measured with other versions of torchvision and Pillow")
    stated = {
        line.split(" | ")[0].removeprefix("| "): line
        for line in page.partition("| operation |")[2].splitlines()
    }
    for name, pil, tensor in differences.measured():
        assert stated[name] == f"| {name} | {pil} | {tensor} |"


def test_every_operation_of_programs_is_compared():
    assert {
        "Identity",
        "GaussianBlur",
        "Custom",
        *differences.OWN,
        "Add",
        "Sum",
        "Mix",
        "Blend",
        *differences.FUNCTIONS,
    } == DRAWN
