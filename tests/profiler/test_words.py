"""What a report says where a reader asked for more, has no GPU, or nothing is known."""

from dataclasses import replace

import numpy as np
import pytest

from fastload.measure import Interval, Sample
from fastload.profiler import tables
from fastload.profiler.advice import advice, seconds_to_settle
from fastload.profiler.cold import Reading
from fastload.profiler.cuts import Cut
from fastload.profiler.evidence import Rungs
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.offers import offers
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.verdict import decide

from .test_report import MACHINE, REPORT, asked, priced

OPEN = Rungs(Sample((100.0,) * 3), Sample((90.0, 99.0, 75.0)), Sample((99.0, 90.0, 70.0)))


def test_training_waits_where_there_is_no_gpu():
    own = replace(REPORT, step=StepFacts("attached"), sizes=(), remedies=())
    assert str(own).splitlines()[1] == (
        "         Training waits 80 % of the time; this loader gives 20 % of what it could take. "
        "The stage that takes the most CPU time is decode."
    )
    assert "GPU waits" not in str(replace(own, sizes=REPORT.sizes))
    on_one = replace(own, machine={**MACHINE, "gpu": "Test GPU"})
    assert str(on_one).splitlines()[1].startswith("         The GPU waits 80 % of the time;")


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("attached", ("a longer loop, --seconds 50, or fastload profile --ladder, which measures "
         "step and loader apart")),
        ("callable", "seconds=50, or a quieter machine"),
        ("recipe", "--seconds 50, or a quieter machine"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_said_and_how_to_know_it(kind, how):
    """And what is known all the same."""
    report = replace(
        REPORT, verdict=decide(OPEN), rungs=OPEN, step=StepFacts(kind), sizes=(), stages=()
    )
    assert str(report).splitlines()[:3] == [
        (
            "VERDICT  INCONCLUSIVE: not known whether training waits for data   stall 10.0 % "
            "[1.0, 30.0]"
        ),
        (
            f"DO       Measure again ({how}). Known already: no loader could make training more "
            "than 1.4 times as fast; backend native: predicted 100 images/s (96 to 122)."
        ),
        "         Training waits between 1 and 30 % of the time; from 5 % on it would matter.",
    ]
    assert report.to_json()["advice"] == advice(report)


def test_a_machine_that_drifts_leaves_a_prediction_as_sure_as_it_is():
    """Everything became four times as slow meanwhile, and a fast loader is still worth the same."""
    drift = np.array([1.0, 0.5, 0.25, 0.5, 1.0])
    step, loader = 1000 * drift, 500 * drift
    rungs = Rungs(*(Sample(tuple(rates.tolist())) for rates in (step, loader, loader)))
    (found,) = offers(replace(REPORT, rungs=rungs, remedies=(priced("backend x", 6000.0),)))
    for gain in (found.gain.value, found.gain.low, found.gain.high):
        assert gain == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("stall", "seconds"),
    [
        ((0.07, 0.049, 0.30), 20),  # it ends just below the edge
        ((0.11, -0.01, 0.90), 40),  # it reaches twice as far as to the edge
        ((0.02, 0.00, 0.08), 40),
        ((0.05, 0.01, 0.30), 80),  # on the edge: no time will tell
    ],
)
def test_time_to_settle_is_by_how_far_the_edge_is_inside(stall, seconds):
    verdict = replace(REPORT.verdict, label="INCONCLUSIVE", stall=Interval(*stall))
    assert seconds_to_settle(replace(REPORT, seconds=10.0, verdict=verdict)) == seconds


def test_what_was_asked_for_is_never_cut():
    """By --sweep, --cuts, --cold and --backend all."""
    long = replace(
        REPORT,
        remedies=tuple(asked(f"b{n}", 900.0) for n in range(30)),
        workers=tuple(AtWorkers(n, Sample((600.0,) * 3)) for n in range(1, 31)),
        cuts=(Cut("read", Sample((9.0,) * 3)),),
        reading=Reading(256, 2e5, 0.002, 0.0001),
    )
    lines = str(long).splitlines()
    for table in (tables.workers, tables.cuts, tables.reading, tables.remedies):
        assert set(table(long)) <= set(lines)
    assert lines.count("... (the rest is in --html and --json)") == 1  # of stages and sizes


def test_what_was_verified_stands_beside_its_prediction():
    checked = replace(REPORT.remedies[0], training=Sample((1400.0, 1410.0, 1390.0)))
    lines = str(replace(REPORT, remedies=(checked, priced("backend slower", 900.0)))).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("WHAT WOULD HELP"))
    assert lines[place + 1].endswith("1,400 (predicted +2.8 %)   none: the same ops")
    assert "not measured" in lines[place + 2]


def test_what_was_not_measured_is_null():
    document = replace(
        REPORT, stages=(), stages_how="", remedies=(), sizes=(), setting=Setting()
    ).to_json()
    assert [
        document[key] for key in ("stages", "stages_how", "remedies", "sizes", "workers", "reading")
    ] == [None] * 6
    assert document["setting"]["workers"] is None
    assert REPORT.to_json()["remedies"][0]["verified_training_img_per_s"] is None
