"""Numbers of workers, and cold reads."""

import json
import os

import pytest

import fastload
from fastload.measure import Sample
from fastload.profiler import cold, sweep
from fastload.profiler.cold import Reading
from fastload.profiler.ladder import Budget
from fastload.profiler.sweep import AtWorkers, counts, enough


@pytest.mark.parametrize(
    ("cores", "now", "numbers"),
    [
        (1, None, (1,)),
        (2, 2, (1, 2)),
        (4, 0, (1, 2, 4)),
        (6, 3, (1, 2, 3, 4, 6)),
        (8, 16, (1, 2, 4, 8, 16)),
    ],
)
def test_numbers_to_try(cores, now, numbers):
    assert counts(cores, now) == numbers


def test_the_fewest_that_are_enough():
    found = tuple(
        AtWorkers(workers, Sample((rate,) * 3))
        for workers, rate in ((1, 100.0), (2, 190.0), (4, 199.0), (8, 180.0))
    )
    assert enough(found).workers == 2


def test_loaders_take_turns(monkeypatch):
    made = []
    monkeypatch.setattr(sweep, "alone", lambda feed, _: float(feed.loader[0]))
    found = sweep.measure(
        (1, 2), lambda workers: made.append(workers) or [workers], Budget(10, 0.0), lambda: None
    )
    assert made == [1, 2] * 3
    assert found == (AtWorkers(1, Sample((1.0,) * 3)), AtWorkers(2, Sample((2.0,) * 3)))


def test_cold_reads_are_of_every_image_and_keep_it(folder):
    source = fastload.open(folder, []).pipeline.source
    found = cold.measure(source, 5.0)
    assert found.images == len(source) == 40
    assert found.bytes_per_image * 40 == sum(
        os.path.getsize(os.path.join(at, name))
        for at, _, names in os.walk(folder)
        for name in names
    )
    assert found.cold_s > 0


def test_a_difference_must_be_clear():
    assert Reading(1, 1.0, 0.002, 0.001).matters
    assert not Reading(1, 1.0, 0.0014, 0.001).matters


@pytest.mark.long
def test_both_from_the_command_line(run, photos):
    done = run(
        "profile",
        "--data",
        photos,
        "--recipe",
        "mild",
        "--step-rate",
        20,
        "--seconds",
        1,
        "--sweep",
        "--cold",
        "--json",
        "-",
    )
    found = json.loads(done.stdout)
    assert found["workers"][0]["workers"] == 1
    assert 1 <= found["reading"]["images"] <= 24  # as many as the time lets
    assert not any("--sweep" in text or "--cold" in text for text in found["not_measured"])
