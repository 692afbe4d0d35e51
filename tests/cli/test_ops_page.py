"""docs/ops.md is what its generator prints."""

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
