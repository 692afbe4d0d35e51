"""What a watch says, from times alone."""

import pytest

from fastload.profiler.lines import Lines, moved


def epoch(lines, start, waits, period=1.0):
    """Batches every `period` s of which the loop waits `waits` s each; the first waits 5 s for the
    workers. When it ends.
    """
    now = start + 5
    lines.batch(start, now)
    for wait in waits:
        lines.batch(now + period - wait, now + period)
        now += period
    lines.epoch(now)
    return now


def said(every, *epochs):
    out = []
    lines, now = Lines(every, out.append), 100.0
    for waits in epochs:
        now = epoch(lines, now, waits)
    return out


def test_a_line_now_and_then_and_one_per_epoch():
    assert said(10, [0.25] * 20) == [
        "fastload: waiting for data 25 % of the time, 1 batches/s",
        "fastload: waiting for data 25 % of the time, 1 batches/s",
        "fastload: epoch 1: waiting for data 25 % of the time, 1 batches/s",
    ]


def test_an_epochs_first_batch_counts_for_nothing():
    assert said(100, [0.0] * 4, [0.0] * 4) == [
        f"fastload: epoch {n}: waiting for data 0 % of the time, 1 batches/s" for n in (1, 2)
    ]


def test_a_bottleneck_that_moves():
    lines = said(100, [0.02] * 5, [0.31] * 5, [0.31] * 5, [0.0] * 5)
    assert [line for line in lines if "moved" in line] == [
        (
            "fastload: the bottleneck has moved: training waits for data now (31 % of the time, 2 "
            "% in the epoch before)"
        ),
        (
            "fastload: the bottleneck has moved: training no longer waits for data (0 % of the "
            "time, 31 % in the epoch before)"
        ),
    ]
    assert lines.index("fastload: epoch 2: waiting for data 31 % of the time, 1 batches/s") == 1


def test_silence():
    assert said(0, [0.5] * 50, [0.0] * 50) == []
    assert said(100, [], [0.1]) == []  # too few batches to say anything


def test_short_epochs_do_not_flood():
    out = []
    lines = Lines(100, out.append)
    for n in range(50):
        for batch in range(5):
            lines.batch(n * 0.1 + batch * 0.02, n * 0.1 + batch * 0.02 + 0.001)
        lines.epoch(n * 0.1 + 0.1)
    assert len(out) == 5


@pytest.mark.parametrize(
    ("before", "now", "has"),
    [
        (0.02, 0.2, True),
        (0.2, 0.02, True),
        (0.04, 0.06, False),
        (0.3, 0.1, False),
        (0.0, 0.04, False),
    ],
)
def test_what_counts_as_moved(before, now, has):
    assert moved(before, now) == has
