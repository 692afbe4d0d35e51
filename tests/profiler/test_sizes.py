"""Profiles over the sizes of a schedule: which are measured, for how many epochs each stands, and
what they add up to.
"""

import pytest

from fastload import recipes
from fastload.measure import Sample
from fastload.profiler import sizes
from fastload.profiler.sizes import AtSize


def test_a_short_schedule_is_measured_whole():
    assert sizes.chosen([128] * 6 + [160] * 2 + [192] * 2) == {128: 0.6, 160: 0.2, 192: 0.2}


def test_of_a_long_one_the_ends_and_two_between_stand_for_their_neighbours():
    found = sizes.chosen(range(100, 200, 4))  # 25 sizes, one epoch each
    assert list(found) == [100, 132, 164, 196]
    assert sum(found.values()) == pytest.approx(1)
    assert found[100] == 5 / 25  # 100 to 116: the one in the middle goes to the smaller


def test_hot_goes_through_its_sizes_and_baseline_through_one():
    assert list(sizes.chosen(recipes.load("hot").size_per_epoch())) == [99, 124, 144, 167]
    assert sizes.chosen(recipes.load("baseline").size_per_epoch()) == {224: 1.0}


def test_the_slower_of_loader_and_step_decides():
    fast, slow = (
        AtSize(96, 0.5, Sample((1000.0, 1200.0, 1100.0)), 4400.0),
        AtSize(192, 0.5, Sample((1100.0,)), 1000.0),
    )
    assert (fast.training, fast.stall) == (1100.0, 0.75)
    assert (slow.training, slow.stall) == (1000.0, 0.0)
    # per image: 1/4400 of 1/1100 busy, then all of 1/1000
    assert sizes.stall([fast, slow]) == pytest.approx(
        1 - (1 / 4400 + 1 / 1000) / (1 / 1100 + 1 / 1000)
    )
