"""The simulation of a conversion on many workers."""

import pytest

simulate = pytest.importorskip("benchmarks.conversion.simulate")


def found(**assumed):
    plain = {"workers": 20, "images": 240_000, "speeds": 0.0, "slow": 0.0, "mean_life": 1e12}
    return simulate.Simulation(simulate.Assumed(**plain | assumed)).run()


def test_equal_workers_take_what_their_units_take():
    quick = found(driver=0.0)
    assert quick.units == 100
    each = 2400 / 1500 + 256e6 / 200e6
    assert quick.seconds == pytest.approx(5 * each, abs=0.1)
    assert (quick.deaths, quick.made_again, quick.doubled) == (0, 0, 0)
    assert quick.most_under_way == 20


def test_a_slow_driver_or_store_is_what_limits():
    assert found(driver=1.0).driver_busy == pytest.approx(1.0, abs=0.05)
    assert found(driver=1.0).seconds == pytest.approx(100, rel=0.05)
    assert found(store_units_per_s=2.0).seconds == pytest.approx(50, rel=0.1)


def test_deaths_cost_a_unit_each_and_hangs_a_lease():
    deadly = found(images=2_400_000, mean_life=60.0, hangs=0.0, restart=1.0)
    assert 0 < deadly.made_again <= deadly.deaths
    hanging = found(images=2_400_000, mean_life=600.0, hangs=1.0, lease=30.0)
    assert 0 < hanging.made_again <= hanging.hangs
    assert hanging.seconds < 3 * found(images=2_400_000).seconds


def test_a_slow_worker_is_not_waited_for():
    fast, slow = found(), found(slow=0.2, seed=3)
    assert slow.doubled > 0
    assert slow.last_unit_s < 20 * 2400 / 1500  # what its unit would take
    assert slow.seconds < 3 * fast.seconds
