"""benchmarks.limits: which of its claims a result breaks, and what it measures."""

import pytest

from benchmarks import limits
from fastload import recipes, transforms

RATES = {"torch": (150.0, 120.0, 110.0), "native": (400.0, 390.0, 380.0)}


def result(rates: dict, waits: dict) -> dict:
    depths = [
        {"loader": loader, "depth": depth, "img_per_s": rate, "low": rate - 1, "high": rate + 1, "of_depth_0": rate / found[0]}
        for loader, found in rates.items()
        for depth, rate in enumerate(found)
    ]
    needs = [
        {"loader": loader, "recipe": name, "img_per_s": 100.0, "low": 99.0, "high": 101.0, "step": 83.3, "verdict": "V", "waits": value}
        for (loader, name), value in waits.items()
    ]
    return {"depths": depths, "recipes": needs}


CLAIMED = {("torch", "mild"): False, ("torch", "hot"): True, ("native", "mild"): False, ("native", "hot"): False}


def test_what_is_claimed():
    found = result(RATES, CLAIMED)
    assert limits.broken(found) == []
    lines = limits.shown(found).splitlines()
    assert lines[2].split() == ["PyTorch's", "loader,", "depth", "1", "120", "(119-121)", "0.80", "0.82"]
    assert lines[-1] == "all as claimed"


@pytest.mark.parametrize(
    ("rates", "waits", "text"),
    [
        ({**RATES, "torch": (150.0, 120.0, 120.0)}, CLAIMED, "PyTorch's loader: RandAugment of depth 2 is not slower than of depth 1"),
        (RATES, {**CLAIMED, ("torch", "hot"): False}, "PyTorch's loader, hot: V, want a data path that limits"),
        (RATES, {**CLAIMED, ("native", "hot"): True}, "fastload's, hot: V, want a GPU that limits"),
    ],
)
def test_what_breaks_a_claim(rates, waits, text):
    assert limits.broken(result(rates, waits)) == [text]
    assert limits.shown(result(rates, waits)).splitlines()[-1] == text


def test_the_depths_differ_in_randaugment_alone():
    plain = recipes.load("baseline")
    assert limits.with_depth(plain, 0) == plain
    ops = limits.with_depth(plain, 2).ops()
    assert ops[2] == transforms.RandAugment.composer(severity=9, depth=2)
    assert (*ops[:2], *ops[3:]) == plain.ops()


def test_numbers_that_make_no_sense(capsys):
    assert limits.main(["--data", "x", "--workers", "0"]) == 1
    assert capsys.readouterr().err == (
        "benchmarks: limits: --workers and --repetitions want 1 or more, --batch-size 2 or more, --seconds above 0\n"
    )
