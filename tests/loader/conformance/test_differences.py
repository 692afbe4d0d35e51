"""docs/differences.md is the suite's list of differences."""

import re
from pathlib import Path

from .differences import DIFFERENCES

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "differences.md"
WHERE = {
    ("own", "native"): "everywhere",
    ("own",): "on PyTorch's engine",
    ("native",): "natively",
}


def rows() -> str:
    lines = [
        f"| {WHERE[one.kinds]} | {one.torch} | {one.fastload} | {one.reason} |"
        for one in DIFFERENCES.values()
    ]
    return "\n".join(
        [
            "| where | torch.utils.data.DataLoader | fastload.DataLoader | why |",
            "|---|---|---|---|",
            *lines,
        ]
    )


def test_the_page_is_the_list():
    assert rows() in PAGE.read_text()


def test_every_difference_is_met_by_a_test():
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    assert set(re.findall(r'\.differs\("([^"]+)"\)', tests)) == set(DIFFERENCES)
