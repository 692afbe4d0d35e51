"""What the release checks of forecasts compute; their measuring is `-m long`."""

from collections import Counter

import pytest

from fastload.forecast.bands import Range, exactly
from tests.forecast import cores_release as cores
from tests.forecast import made
from tests.forecast import trainings_release as trainings
from tests.forecast.errors import Seen, groups, summary
from tests.forecast.trainings_release import Training
from tests.profiler.conftest import photos  # noqa: F401


def test_trainings_have_each_value_of_each_choice():
    every = trainings.chosen(30)
    assert every == trainings.chosen(30)
    assert Counter(one.name for one in every) == {"torch": 15, "fastload": 15}
    assert Counter(one.workers for one in every) == dict.fromkeys(trainings.WORKERS, 6)
    for name, times in trainings.REPEATED.items():
        assert {one.sizes[::times] for one in every if one.name == name} == set(trainings.SCHEDULES)
    assert {one.mix for one in every} == set(trainings.MIXES)
    assert Counter(one.processes for one in every)[2] == 7
    assert str(Training("torch", 8, 24, (64, 96), "MixUp", 2)) == (
        "torch, 8 workers, 24 channels, 64 to 96 px, 2 epochs, MixUp, two processes"
    )


def test_a_summary_of_errors():
    seen = [Seen(Range(11, 9, 12), 10.0, 40.0), Seen(Range(9, 8, 9.5), 10.0, 50.0)]
    assert seen[0].error == pytest.approx(0.1)
    assert [each.inside for each in seen] == [True, False]
    assert summary("all", seen) == (
        "all: 2 trainings: median error 10.0 %, 90th percentile 10.0 %, 50 % inside the interval; "
        "median of the signed errors +0.0 %; measured for 50 s at most"
    )
    every = [Training("torch", 1, 8, (64,)), Training("torch", 2, 8, (64,))]
    named = [line.partition(":")[0].strip() for line in groups(every, seen)]
    assert named == [
        "name torch", "workers 1", "workers 2", "width 8", "mix none", "processes 1", "all"
    ]  # fmt: skip


def test_the_fastest_gpu_that_cores_keep_busy():
    known = made.measured(1000.0, cores=1)
    asked = cores.asked(made.hot("hot"), made.FULL, made.question().gpu, 1)
    one = cores.predicted(asked, known)
    assert 1000 < one.value < 1000 / 0.95  # if they never were in each other's way, the latter
    assert one.low <= one.value <= one.high
    more = cores.asked(made.hot("hot"), made.FULL, made.question().gpu, 2)
    assert cores.predicted(more, known).value == pytest.approx(one.value * 2**0.9, rel=1e-3)


def test_where_a_gpu_is_busy_95_percent_of_the_time():
    assert cores.crossing([80, 90, 100], [0.99, 0.97, 0.93]) == pytest.approx(95)
    assert cores.crossing([80, 90], [0.99, 0.97]) is None
    assert cores.fastest(lambda rate: 1000 / rate) == pytest.approx(1000 / 0.95)
    assert exactly(1.0).low == 1.0


@pytest.mark.long
@pytest.mark.parametrize(
    "one",
    [
        Training("torch", 2, 8, (64, 96), "two data sets"),
        Training("fastload", 2, 8, (64, 96), "MixUp", 2),
        Training("fastload", 1, 8, (64, 96), "two data sets"),
    ],
    ids=str,
)
def test_a_training_is_forecast_and_run(one, photos, monkeypatch):  # noqa: F811
    monkeypatch.setattr("fastload.forecast.measuring.TURNS", 2)
    monkeypatch.setattr(trainings, "BATCH", 4)
    seen = trainings.trained(one, str(photos), 1.0, 1)
    assert 0 < seen.forecast.low <= seen.forecast.value <= seen.forecast.high
    assert seen.truth > 0
