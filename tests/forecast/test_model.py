"""The laws of a forecast, on rates that were not measured."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import recipes
from fastload.forecast import machines, model, published, rates, steps
from fastload.forecast.bands import Band, Range, constant, exactly
from fastload.forecast.edges import Edges
from fastload.forecast.run import CPU, OVERLAP, READ, START, STEP, Run, blend_of, both
from fastload.measure import Sample
from tests.forecast import made

FEW = settings(max_examples=30, deadline=None)
CORES = st.integers(1, 300)


def inside(value: Range) -> bool:
    return 0 <= value.low <= value.value <= value.high


def flat(seconds: float, epochs: int = 3) -> Band:
    return constant(exactly(seconds), epochs)


def simple(step: float, loader: float, read: float = 0.0, blend: float = 64.0) -> Run:
    return Run(
        (64,) * 3, 1000, flat(step), flat(loader), flat(read), exactly(blend), Edges(exactly(0.0))
    )  # fmt: skip


@pytest.mark.parametrize("cores", [1, 24, 96])
def test_twice_the_epochs_take_twice_the_time(cores):
    """Sizes are stretched with the run: 40 epochs have each size twice as often as 20."""
    known = made.measured()
    once = model.run(made.question(20, cores=cores), known).total
    twice = model.run(made.question(40, cores=cores), known).total
    for end in ("value", "low", "high"):
        assert getattr(twice, end) == pytest.approx(2 * getattr(once, end), rel=0.02)


@FEW
@given(CORES, CORES)
def test_more_cores_never_take_longer(one, other):
    few, many = sorted((one, other))
    known = made.measured()
    slow, fast = (
        model.run(made.question(5, cores=cores), known).total for cores in (few, many)
    )  # fmt: skip
    for end in ("value", "low", "high"):
        assert getattr(fast, end) <= getattr(slow, end) * (1 + 1e-12)


@FEW
@given(CORES, st.integers(1, 16), st.floats(100, 50_000), st.floats(1.0, 3.0))
def test_the_estimate_is_within_its_range(cores, gpus, rate, faster):
    asked = made.question(5, cores=cores, gpus=gpus, disk=500.0)
    run = model.run(asked, made.measured(rate, small=rate * faster))
    assert inside(run.total)
    assert inside(run.busy)
    assert all(inside(run.seconds.at(epoch)) for epoch in range(5))


@FEW
@given(CORES, st.floats(100, 50_000))
def test_nothing_is_faster_than_its_step_or_its_loader(cores, rate):
    asked, known = made.question(5, cores=cores), made.measured(rate)
    run, free = model.run(asked, known), model.what_ifs(asked, known)
    bound = asked.images * float(run.step.value.sum())
    assert run.total.value >= bound
    decoding = free["decoding and augmenting were free"].total.value
    assert bound <= decoding <= run.total.value
    assert free["there were twice the cores"].total.value <= run.total.value


@FEW
@given(st.floats(1e-5, 1), st.floats(1e-5, 1), st.floats(0, 1))
def test_waits_add_up_and_limits_are_the_slowest(step, loader, read):
    run = simple(step, loader, read)
    waits = sum(run.waits.values())
    np.testing.assert_allclose(waits, run.seconds.value - 1000 * step, rtol=1e-9, atol=1e-9)
    slowest = max((step, STEP), (loader, CPU), (read, READ), key=lambda one: one[0])[1]
    assert run.limits[0] == slowest or len({step, loader, read}) < 3


def test_causes_have_what_is_theirs():
    run = simple(0.001, 0.003, 0.004)
    waits = {cause: waits[0] for cause, waits in run.waits.items()}
    assert waits[CPU] == pytest.approx(2.0, rel=1e-6)
    assert waits[READ] == pytest.approx(1.0, rel=1e-6)
    assert waits[OVERLAP] == waits[START] == 0


def test_step_and_loader_side_by_side():
    one, three = np.array([1.0]), np.array([3.0])
    assert both(one, three, 1.0)[0] == pytest.approx(4.0)  # one after the other
    assert both(one, three, 64.0)[0] == pytest.approx(3.0)
    assert both(one, np.array([0.0]), 2.0)[0] == 1.0
    assert both(one, one, blend_of(1.2))[0] == pytest.approx(1.2)
    assert blend_of(2.0) == pytest.approx(1.0)
    assert blend_of(1.0) == 64.0


def test_what_was_measured_together_counts():
    known = made.measured()
    known = replace(
        known, step={99: made.sample(900), made.FULL: made.sample(400)},
        together={99: made.sample(500), made.FULL: made.sample(250)},
    )  # fmt: skip
    asked = made.question(10)
    asked = replace(asked, machine=machines.here(), gpu=None, here=True, images=1000)
    run = model.run(asked, known)
    held = replace(asked, sizes=(made.FULL,) * 10)
    assert model.run(held, known).total.value == pytest.approx(
        10 * 1000 / 250 + 0.2 + 0.9, rel=1e-6
    )
    assert run.total.value < model.run(held, known).total.value
    assert list(model.what_ifs(asked, known)) == ["decoding and augmenting were free"]


def test_between_sizes_seconds_lie_on_a_line_over_the_area():
    measured = {100: Sample((1000.0,) * 3), 200: Sample((500.0,) * 3)}
    band = rates.per_image(measured, (50, 100, 150, 200, 300))
    middle = 0.001 + 0.001 * (150**2 - 100**2) / (200**2 - 100**2)
    np.testing.assert_allclose(band.value, [0.001, 0.001, middle, 0.002, 0.002])
    np.testing.assert_allclose(band.high, band.value * 1.02)


def test_an_interval_is_as_wide_as_the_replicates_are_apart():
    assert rates.spread([Sample((100.0, 100.0, 100.0))]) == 0.02
    narrow, wide = ([Sample((100 - by, 100.0, 100.0 + by))] for by in (5, 10))
    assert rates.spread(wide) == pytest.approx(2 * rates.spread(narrow))
    assert rates.spread(wide) == pytest.approx(2.92 * np.sqrt(0.02 / 2 * 4 / 3))
    assert rates.spread(wide * 4) < rates.spread(wide)


def test_a_step_by_size_and_sam_and_gpus():
    hot = recipes.load("hot")
    gpu = steps.Gpu(exactly(1000.0), 224, "")
    band = steps.per_image(gpu, (224, 112), 1, hot)
    assert steps.sam(hot) == 1.2
    assert steps.sam(recipes.load("mild")) == 1.0
    said = "3,000 images/s of one GPU at {} px, as given"
    assert (
        steps.given(3000, hot).said == said.format(167) + "; SAM makes its steps 1.2 times as long"
    )
    assert steps.given(3000, recipes.load("mild")).said == said.format(176)
    np.testing.assert_allclose(band.value, [1.2e-3, 1.2e-3 * (0.115 + 0.885 / 4)])
    np.testing.assert_allclose(band.low[1], 1.2e-3 / 4)
    several = steps.per_image(gpu, (224,), 8, hot)
    assert several.value[0] == pytest.approx(1.2e-3 / (8 * 0.92))
    assert several.low[0] == pytest.approx(1.2e-3 / 8)


def test_the_cores_that_are_needed_are_enough_and_no_fewer_are():
    known = made.measured()
    for gpus in (1, 8):
        asked = made.question(20, gpus=gpus)
        needed = model.needed_cores(asked, known)
        assert inside(needed)
        busy = [
            model.run(
                replace(asked, machine=replace(asked.machine, cores=int(needed.value) - less)),
                known,
            ).busy.value
            for less in (0, 1)
        ]
        assert busy[0] >= model.BUSY > busy[1]
    assert model.needed_cores(made.question(20, disk=10.0), known) is None


def test_memory_that_holds_the_data_is_read_into_once():
    first, later = model.read_bytes(made.question(3, disk=100.0))
    assert first == later == 1_281_167 * 110_000.0
    held = made.question(3, disk=100.0, memory=1000.0)
    assert model.read_bytes(held) == (first, 0.0)
    assert model.needed_memory(held) == pytest.approx(first / 0.8)
    just = made.question(3, disk=100.0, memory=model.needed_memory(held) * 1.0001 / 1e9)
    assert model.read_bytes(just)[1] == 0
    limits = model.run(held, made.measured()).limits
    assert limits[0] == READ
    assert READ not in limits[1:]


def test_loaders_grow_by_what_was_measured():
    assert machines.exponent(100.0, 200.0, 2) == Range(1.0, 0.9, 1.0)
    assert machines.exponent(100.0, 100.0, 2).value == 0.5
    assert machines.exponent(None, 100.0, 1) == machines.UNKNOWN
    node = machines.Machine("n", 8)
    grows = Range(0.8, 0.7, 1.0)
    assert machines.slower(node, 8, grows) == exactly(1.0)
    assert machines.slower(node, 2, grows) == Range(4**-0.8, 0.25, 4**-0.7)
    assert inside(machines.slower(node, 16, grows))


@pytest.mark.parametrize("one", published.load().timed, ids=lambda one: f"{one.name} {one.epochs}")
def test_published_times_follow_from_published_rates(one):
    """Where the rates are of the very run; others are named, with what differs."""
    if one.same:
        assert abs(one.off) < 0.05
    else:
        assert 0.05 < abs(one.off) < 0.15
        assert one.differs


def test_every_published_result_is_of_a_recipe_and_has_a_source():
    for one in published.load().results:
        assert len(one.loaded().size_per_epoch()) == one.epochs
        assert 0.7 < one.top1 < 0.82
        assert len(one.source) > 10
    sizes = published.load().of("ffcv-rn50")[0].loaded().size_per_epoch()
    assert sizes == (160,) * 12 + (192,) * 4  # as libffcv's run of 16 epochs had them


def test_a_ramp_is_stretched_with_the_run():
    ramp = published.lasting(recipes.load("ffcv-rn50"), 44).training.resolution_ramp
    assert (ramp.start, ramp.end) == (32, 38)
