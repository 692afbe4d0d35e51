"""`benchmarks limits`: which of its claims a result breaks, and what it measures."""

import pytest

from benchmarks import runs
from benchmarks.loaders import limits
from fastload import recipes, transforms
from fastload.errors import UsageError
from fastload.measure import Sample

RATES = {"torch": (150.0, 120.0, 110.0), "native": (400.0, 390.0, 380.0)}
CLAIMED = {
    ("torch", "mild"): "GPU-BOUND", ("torch", "hot"): "CPU-BOUND: augment",
    ("native", "mild"): "GPU-BOUND", ("native", "hot"): "GPU-BOUND",
}  # fmt: skip
COMMON = {
    "data": {"name": "d", "images": 9, "mean_bytes": 1, "mean_pixels": 1},
    "machine": {"cpu": "A CPU", "cores_usable": 2, "gpu": None},
    "software": {"torch": "2.11.0", "torchvision": "0.26.0", "pillow": {"name": "Pillow",
    "version": "13.0.0", "libjpeg_turbo": "3"}},
    "commit": "1a2b3c4d5e6f7a8b", "dirty": False, "date": "2026-01-01", "load": 0.1,
}  # fmt: skip


def found(rates: dict, said: dict) -> list:
    settings, around = (
        limits.Settings(repetitions=3),
        lambda rate: Sample((rate, rate - 1, rate + 1)),
    )
    out = [
        limits._row(
            {"recipe": name},
            loader,
            around(100.0),
            None,
            settings,
            COMMON,
            {"emulated_step": 83.3},
            headline,
        )
        for (loader, name), headline in said.items()
    ]
    for loader, values in rates.items():
        for depth, rate in enumerate(values):
            reference = around(values[0]) if depth else None
            out.append(
                limits._row(
                    {"table": "depths", "depth": depth},
                    loader,
                    around(rate),
                    reference,
                    settings,
                    COMMON,
                    {},
                )
            )
    return out


def test_what_is_claimed():
    rows = found(RATES, CLAIMED)
    assert limits.broken(rows) == []
    table = runs.table.every(rows)
    assert "| hot | PyTorch's loader | 100 | 99 to 101 | 83.3 | CPU-BOUND: augment |" in table
    assert "| 1 | PyTorch's loader | 120 | 119 to 121 | 0.80 (0.80 to 0.80) |" in table


@pytest.mark.parametrize(
    ("rates", "said", "text"),
    [
        (
            {**RATES, "torch": (150.0, 120.0, 120.0)},
            CLAIMED,
            "PyTorch's loader: RandAugment of depth 2 is not slower than of depth 1",
        ),
        (
            RATES,
            {**CLAIMED, ("torch", "hot"): "GPU-BOUND"},
            "PyTorch's loader, hot: GPU-BOUND, want CPU-BOUND",
        ),
        (
            RATES,
            {**CLAIMED, ("torch", "hot"): "READ-BOUND"},
            "PyTorch's loader, hot: READ-BOUND, want CPU-BOUND",
        ),
        (
            RATES,
            {**CLAIMED, ("native", "hot"): "CPU-BOUND: decode"},
            "fastload, hot: CPU-BOUND: decode, want a GPU that limits",
        ),
        (
            RATES,
            {**CLAIMED, ("torch", "mild"): "OVERLAP-BOUND"},
            "PyTorch's loader, mild: OVERLAP-BOUND, want a GPU that limits",
        ),
    ],
)
def test_what_breaks_a_claim(rates, said, text):
    assert limits.broken(found(rates, said)) == [text]


def test_the_depths_differ_in_randaugment_alone():
    plain = recipes.load("baseline")
    assert limits.with_depth(plain, 0) == plain
    ops = limits.with_depth(plain, 2).ops()
    assert ops[2] == transforms.RandAugment.composer(severity=9, depth=2)
    assert (*ops[:2], *ops[3:]) == plain.ops()


def test_numbers_that_make_no_sense():
    with pytest.raises(UsageError) as caught:
        limits.run("x", "x", limits.Settings(workers=0))
    assert (
        str(caught.value)
        == "limits: --workers and --repetitions want 1 or more, --batch-size 2 or more, --seconds "
        "above 0"
    )
