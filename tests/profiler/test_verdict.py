"""The verdict's rules on made-up numbers: every class, every edge."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastload.measure import Interval, Sample
from fastload.profiler import verdict
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.overlap import overlap, overlapping, predict, trained
from fastload.profiler.verdict import cause, decide, late_share, severities, spikes, stall

DECODE_HEAVY = (
    StageCost("read", 0.1, 0.05),
    StageCost("decode", 2.0, 1.9),
    StageCost("resize", 0.5, 0.5),
)
READ_HEAVY = (StageCost("read", 9.0, 0.1), StageCost("decode", 2.0, 1.9))


def rungs(
    step: float, loader: float, training: float, wobble: float = 0.001, count: int = 5
) -> Rungs:
    """Replicates within `wobble` of the rates."""
    around = [1 + wobble * (place - count // 2) for place in range(count)]
    # Step and training wobble against each other, so that the interval of their ratio is wide.
    return Rungs(
        Sample(tuple(step * a for a in around)),
        Sample(tuple(loader * a for a in around)),
        Sample(tuple(training / a for a in around)),
    )


@pytest.mark.parametrize(
    ("step", "loader", "training", "stages", "headline", "severity"),
    [
        (1000, 2300, 998, DECODE_HEAVY, "GPU-BOUND", ("OK",)),
        (1000, 1000, 1005, DECODE_HEAVY, "GPU-BOUND", ("OK",)),  # noise may make S negative
        (1000, 900, 890, DECODE_HEAVY, "CPU-BOUND: decode", ("MODERATE",)),
        (1000, 600, 582, DECODE_HEAVY, "CPU-BOUND: decode", ("HIGH",)),
        (
            1000,
            600,
            582,
            (StageCost("augment", 3, 3), *DECODE_HEAVY),
            "CPU-BOUND: augment",
            ("HIGH",),
        ),
        (1000, 600, 582, READ_HEAVY, "READ-BOUND", ("HIGH",)),
        (1000, 600, 582, (), "LOADER-BOUND", ("HIGH",)),  # a foreign loader: nobody knows why
        (
            1000,
            1200,
            700,
            DECODE_HEAVY,
            "OVERLAP-BOUND",
            ("HIGH",),
        ),  # keeps up alone, not beside the step
        (1000, 945, 950, DECODE_HEAVY, "INCONCLUSIVE", ("OK", "MODERATE")),
        (
            1000,
            790,
            801,
            DECODE_HEAVY,
            "CPU-BOUND: decode",
            ("MODERATE", "HIGH"),
        ),  # only the severity is open
    ],
)
def test_the_rules(step, loader, training, stages, headline, severity):
    found = decide(rungs(step, loader, training), stages)
    assert (found.headline, found.severity) == (headline, severity)
    assert found.conclusive == (len(severity) == 1)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.02, 0.0499, ("OK",)),
        (0.05, 0.1, ("MODERATE",)),
        (0.0499, 0.05, ("OK", "MODERATE")),
        (0.05, 0.1999, ("MODERATE",)),
        (0.1999, 0.2, ("MODERATE", "HIGH")),
        (0.2, 0.9, ("HIGH",)),
        (0.0, 1.0, ("OK", "MODERATE", "HIGH")),
    ],
)
def test_severity_has_edges_at_5_and_20_percent(low, high, expected):
    assert severities(Interval((low + high) / 2, low, high)) == expected


def test_an_interval_from_ok_to_high_is_inconclusive():
    found = decide(
        Rungs(*(Sample(values) for values in ((1000,) * 5, (900,) * 5, (999, 998, 950, 760, 700))))
    )
    assert (found.headline, found.severity) == ("INCONCLUSIVE", ("OK", "MODERATE", "HIGH"))


def test_stall_is_the_share_of_time_lost():
    s = stall(rungs(1000, 600, 582, wobble=0))
    assert (s.value, s.low, s.high) == pytest.approx((0.418, 0.418, 0.418))
    assert decide(rungs(1000, 600, 582, wobble=0)).utilisation == pytest.approx(0.582)


def test_headroom_counts_the_gpus_that_could_be_fed():
    assert decide(rungs(1000, 2300, 998, wobble=0)).headroom.value == pytest.approx(2.3)


def test_overlap_compares_with_the_slower_of_the_two():
    assert overlap(rungs(1000, 600, 582, wobble=0)) == pytest.approx(0.97)
    assert overlap(rungs(1000, 2300, 990, wobble=0)) == pytest.approx(0.99)


def test_waiting_decides_for_read_only_above_half_of_all_time():
    half = (StageCost("read", 5.0, 0.0), StageCost("decode", 5.0, 5.0))
    more = (StageCost("read", 5.1, 0.0), StageCost("decode", 5.0, 5.0))
    assert cause(half) == (verdict.CPU, "decode")
    assert cause(more) == (verdict.READ, None)


def test_waiting_in_other_stages_is_not_reading():
    assert cause((StageCost("read", 0.1, 0.1), StageCost("decode", 9.0, 1.0))) == (
        verdict.CPU,
        "decode",
    )


def test_blocked_time_is_never_negative():  # two clocks may disagree by a little
    assert StageCost("store", 1.0, 1.1).blocked_s == 0


def test_a_loader_that_nearly_keeps_up_lacks_no_cores_unless_it_waits_for_them():
    close, known = rungs(1000, 990, 900, wobble=0.01), Evidence(workers=2, cores=4)
    assert decide(close, DECODE_HEAVY, known).headline == "CPU-BOUND: decode"
    assert decide(close, DECODE_HEAVY, replace(known, starved=0.3)).headline == "CPU-CONTENTION"


def same(rate: float) -> Sample:
    return Sample((rate,) * 5)


@pytest.mark.parametrize(
    ("evidence", "headline"),
    [
        (Evidence(), "OVERLAP-BOUND"),
        (Evidence(spikes=0.3), "OVERLAP-BOUND"),
        (Evidence(spikes=0.9), "JITTER"),
        (Evidence(transfer=same(720)), "H2D-BOUND"),
        (
            Evidence(transfer=same(990), beside=same(995)),
            "OVERLAP-BOUND",
        ),  # terms too small to matter
        (Evidence(beside=same(710), transfer=same(960)), "CPU-CONTENTION"),
        (Evidence(beside=same(850), transfer=same(840)), "MIXED: H2D-BOUND, CPU-CONTENTION"),
        (Evidence(beside=same(700), spikes=0.9), "CPU-CONTENTION"),  # late batches are its effect
        (
            Evidence(beside=same(600), alone=same(605)),
            "OVERLAP-BOUND",
        ),  # the machine was slower then, beside a loader or not
        (Evidence(beside=same(1000), straggler=3), "STRAGGLER: rank 3"),
        (Evidence(late=0.4), "JITTER"),
        (Evidence(late=0.1), "OVERLAP-BOUND"),
        (
            Evidence(starved=0.3, workers=2),
            "CPU-CONTENTION",
        ),  # others have the cores; a step that sleeps is none the slower
        (Evidence(starved=0.3, workers=0), "OVERLAP-BOUND"),
    ],
)
def test_why_a_loader_that_keeps_up_alone_does_not_beside_the_step(evidence, headline):
    assert decide(rungs(1000, 1500, 700), DECODE_HEAVY, evidence).headline == headline


def test_evidence_changes_nothing_where_the_gpu_is_the_limit():
    evidence = Evidence(
        starved=0.9,
        workers=4,
        cores=4,
        spikes=1.0,
        straggler=1,
        transfer=same(100),
        beside=same(100),
    )
    assert decide(rungs(1000, 1500, 999), DECODE_HEAVY, evidence).headline == "GPU-BOUND"


def test_pooled_replicates_are_one_run():
    """All of its time counts: a late stretch weighs as long as it took, where a median would not
    see it.
    """
    stretches = Sample((1000.0,) * 9 + (100.0,))
    found = Rungs(Sample((1000.0,) * 10), Sample((1000.0,) * 10), stretches)
    assert stall(found).value == 0
    assert stall(replace(found, pooled=True)).value == pytest.approx(1 - 10 / 19)


def test_rare_late_batches_make_short_replicates_differ_so_that_all_of_their_time_counts():
    found = Rungs(
        Sample((1000.0,) * 11), Sample((1500.0,) * 11), Sample((1000.0, 400.0) * 5 + (1000.0,))
    )
    assert stall(found).value == 0
    with_late = decide(found, DECODE_HEAVY, Evidence(late=0.4))
    assert with_late.headline == "JITTER"
    assert with_late.stall.value == pytest.approx(1 - 11 / 18.5)
    assert decide(found, DECODE_HEAVY).stall.value == 0


@pytest.mark.parametrize(
    ("waits", "share"),
    [([1.0] * 20, 0.1), ([0.0] * 18 + [1.0, 1.0], 1.0), ([0.0] * 5, 0.0), ([], 0.0), ([2.0], 1.0)],
)
def test_spikes(waits, share):
    assert spikes(np.array(waits)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("evidence", "headline"),
    [
        (Evidence(bare=same(2000), transfer=same(620)), "H2D-BOUND"),  # copies alone make it slow
        (
            Evidence(bare=same(600), transfer=same(620)),
            "CPU-BOUND: decode",
        ),  # it is slow without them
        (
            Evidence(bare=same(2000), transfer=same(995)),
            "CPU-BOUND: decode",
        ),  # the step does not mind copies
        (
            Evidence(late=0.5),
            "JITTER",
        ),  # 600 of 1000 images/s, and twice that if no batch were late
        (Evidence(late=0.3), "CPU-BOUND: decode"),  # then it would still be too slow
        (
            Evidence(late=0.5, starved=0.6, workers=2, cores=2),
            "CPU-CONTENTION",
        ),  # late for want of cores
    ],
)
def test_why_a_loader_is_too_slow(evidence, headline):
    assert decide(rungs(1000, 600, 590), DECODE_HEAVY, evidence).headline == headline


def test_late_batches_are_rare_and_far_beyond_the_typical_one():
    assert late_share(np.array([1.0] * 19 + [21.0])) == pytest.approx(0.5)
    assert (
        late_share(np.array([1.0] * 15 + [21.0] * 5)) == 0
    )  # a quarter of them: that is how it is
    assert late_share(np.array([1.0] * 21 + [8.0] * 4)) == pytest.approx(
        28 / 53
    )  # one of 8, and one more by chance
    assert late_share(np.array([1.0] * 19 + [2.9])) == 0
    assert (
        late_share(np.zeros(0))
        == late_share(np.zeros(5))
        == late_share(np.array([0.0] * 19 + [1.0]))
        == 0
    )
    assert (
        late_share(np.array([-5.0] + [1.0] * 18 + [21.0])) <= 1
    )  # waited for a core longer than it took: two clocks


@given(step=st.floats(1, 1e5), loader=st.floats(1, 1e5), share=st.floats(0, 1))
def test_a_prediction_for_what_is_there_is_what_was_measured(step, loader, share):
    training = predict(step, loader, share)
    assert 1 / (1 / step + 1 / loader) <= training * (1 + 1e-9)
    assert training <= min(step, loader) * (1 + 1e-9)
    found = overlapping(step, loader, training)
    assert float(found) == pytest.approx(share, abs=1e-6 * max(step / loader, loader / step))


def test_a_batch_is_handed_over_while_nothing_else_passes():
    """A step of 5 ms and a loader of 15 ms per image; another loader takes 3 ms, and either 1 ms
    for handing over.
    """
    rungs = Rungs(*(Sample((rate,) * 3) for rate in (200.0, 1000 / 15, 1000 / 15)), handover=1e-3)
    assert trained(rungs, 5.0, 0.0).value == pytest.approx(15 / 6)
    assert trained(rungs, 5.0, 0.0, 0.0).value == pytest.approx(15 / 5)
    # What is there already hands over, too
    even = Rungs(*(Sample((rate,) * 3) for rate in (200.0, 1000 / 3, 1000 / 6)), handover=1e-3)
    assert trained(even, 5.0, 0.0).value == pytest.approx(1.0)
    assert trained(even, 1.0, 0.0, 0.0).value == pytest.approx(6 / 5)


@pytest.mark.parametrize("training", [50.0, 95.0, 200.0])
def test_a_loader_that_is_no_faster_gains_nothing(training):
    """One after the other they give 91 images/s, side by side 100: the rest is noise, or work of
    others.
    """
    rungs = Rungs(*(Sample((rate,) * 3) for rate in (1000.0, 100.0, training)))
    found = trained(rungs, 1.0, 0.0)
    assert (found.value, found.low, found.high) == pytest.approx((1.0, 1.0, 1.0))
