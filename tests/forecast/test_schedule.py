"""A profile of a whole schedule, and forecasts from rates that are kept."""

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from fastload.cli import plan, profile
from fastload.cli import schedule as cli_schedule
from fastload.cli.profile_options import Setup
from fastload.errors import UsageError
from fastload.forecast import document, job, kept, schedule
from fastload.forecast.bands import Range
from fastload.forecast.measuring import Measured
from fastload.forecast.run import CPU, STEP
from fastload.measure import Sample
from fastload.metrics import planned
from tests.forecast import made
from tests.profiler.conftest import photos  # noqa: F401

SMALL, MIDDLE, FULL = 128, 160, 224  # px


def found(loader, epochs=(SMALL, MIDDLE, FULL, FULL), rate=1000.0):
    """A run of some sizes. loader: images/s by size; rate: of the step at full size."""
    asked = made.question(20, gpus=1, cores=2)
    gpu = replace(asked.gpu, images_per_s=Range(rate, rate, rate)) if rate else asked.gpu
    asked = replace(asked, sizes=epochs, gpu=gpu, here=True)
    one = Sample((1.0,))
    rates = {size: Sample((value,)) for size, value in loader.items()}
    return made.forecast(asked, Measured(rates, 2, 2, Sample((0.0,)), one))


def test_the_bottleneck_moves_where_the_two_take_the_same_time():
    run = found({SMALL: 600.0, MIDDLE: 600.0, FULL: 600.0}, rate=500.0)
    sizes = schedule.at_sizes(run)
    assert [(one.size, one.epochs) for one in sizes] == [(SMALL, 1), (MIDDLE, 1), (FULL, 2)]
    assert [one.limit for one in sizes] == [CPU, CPU, STEP]
    (move,) = schedule.moves(run)
    assert MIDDLE < move.size < FULL
    assert (move.below, move.above) == (CPU, STEP)
    # There the step of the line between the two sizes takes what the loader takes
    steps = {one.size: 1 / one.step.value for one in sizes}
    share = (move.size**2 - MIDDLE**2) / (FULL**2 - MIDDLE**2)
    there = steps[MIDDLE] + share * (steps[FULL] - steps[MIDDLE])
    assert there == pytest.approx(1 / 600, rel=0.01)
    (said,) = schedule.moved(run)
    assert said == (
        f"the bottleneck moves at {move.size} px: decoding and augmenting limits training below, "
        "the training step above"
    )


def test_one_limit_everywhere_is_told():
    slow, fast = {SMALL: 10.0, FULL: 9.0}, {SMALL: 1e6, FULL: 1e6}
    assert schedule.moved(found(slow)) == ["decoding and augmenting limits training at every size"]
    assert schedule.moved(found(fast, (FULL,) * 3)) == [
        f"the training step limits training at {FULL} px, the only size"
    ]
    assert schedule.moves(found(fast)) == ()


def test_what_sizes_take_adds_up_and_a_held_size_takes_its_own_run():
    run = found({SMALL: 500.0, MIDDLE: 400.0, FULL: 300.0})
    sizes = schedule.at_sizes(run)
    assert sum(one.seconds for one in sizes) == pytest.approx(run.run.total.value)
    for one in sizes:
        assert one.held.value == pytest.approx(4 * one.seconds / one.epochs)
        assert 0 <= one.waits < 1
        assert one.training.value <= min(one.loader.value, one.step.value) * 1.0001
    assert [row[0] for row in schedule.rows(run)] == ["128", "160", "224"]
    assert all(len(row) == len(schedule.COLUMNS) for row in schedule.rows(run))


def test_its_document_is_a_forecasts_and_more():
    run = found({SMALL: 600.0, MIDDLE: 600.0, FULL: 600.0}, rate=500.0)
    written = json.loads(json.dumps(document.document(run) | schedule.document(run)))
    assert written["schema"] == "fastload.plan/1"
    assert [one["size_px"] for one in written["schedule"]] == [SMALL, MIDDLE, FULL]
    assert written["moves"] == [vars(one) for one in schedule.moves(run)]


def test_rates_that_are_kept_give_the_same_forecast(tmp_path):
    before = made.forecast()
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document.document(before)))
    rates = kept.load(str(path))
    assert rates.measured == before.measured
    assert (rates.data_images, rates.batch_size) == (before.data_images, before.batch_size)
    recipe, machine = before.asked.recipe, before.asked.machine
    again = kept.forecast(rates, job.Job(recipe, "", machine=machine))
    assert again.run.total == before.run.total
    assert again.extrapolated[-1] == f"nothing was measured now: rates are those of {path}"
    twice = kept.forecast(rates, job.Job(recipe, "", machine=machine, images=2 * 1_281_167))
    assert twice.run.total.value == pytest.approx(2 * before.run.total.value, rel=0.01)


def test_rates_of_another_recipe_or_without_a_step_are_refused(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document.document(made.forecast())))
    rates = kept.load(str(path))
    with pytest.raises(UsageError) as caught:
        kept.forecast(rates, job.Job(made.hot("mild"), ""))
    assert str(caught.value) == (
        f"plan: {path} has rates of recipe hot, and mild is asked for; give --recipe hot"
    )
    with pytest.raises(UsageError, match="has no step's rate that was measured"):
        kept.forecast(rates, job.Job(made.hot("hot"), ""))


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "x"}', '{"schema": "fastload.plan/1"}'])
def test_a_file_without_rates_is_told(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        kept.load(str(path))
    assert str(caught.value).startswith(f"{path}: has no rates that plan can read (")
    assert str(caught.value).endswith(f"; {kept.MAKE}")


DAMAGED = (
    ("images_per_epoch", float("inf")), ("images_per_epoch", -1), ("bytes_per_image", float("nan")),
    ("machine_measured", {}), ("machine_measured", []), ("machine_measured.cpu", 3), ("step", None),
    ("measured.cores", 0), ("measured.workers", 1e300), ("measured.data_images", 0),
    ("measured.batch_size", True), ("measured.seconds", 0), ("measured.backend", ["native"]),
    ("measured.loader_img_per_s", {"99": [0.0]}), ("measured.loader_img_per_s", {"99": [-3]}),
    ("measured.loader_img_per_s", {"99": [float("nan")]}), ("measured.start_s", [-1]),
    ("measured.loader_img_per_s", {"99": [1e-320]}), ("measured.loader_img_per_s", {"0": [9]}),
    ("measured.loader_img_per_s", {"99": {"0": 9}}), ("measured.one_worker_img_per_s", [0]),
    ("measured.losses", [float("nan")]), ("measured.fill_batches", [1e308]),
    ("measured.closing_s", [-1]), ("measured.closing_s", ["x"]), ("measured.closing_s", []),
)  # fmt: skip


@pytest.mark.parametrize(("path", "value"), DAMAGED)
def test_a_damaged_number_is_told(tmp_path, path, value):
    found = inner = document.document(made.forecast())
    *above, last = path.split(".")
    for key in above:
        inner = inner[key]
    inner[last] = value
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(found))
    with pytest.raises(UsageError) as caught:
        kept.load(str(file))
    assert str(caught.value).startswith(f"{file}: has no rates that plan can read (")


def test_rates_in_a_file_of_lists_in_lists_are_told(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text("[" * 100_000)
    for read in (kept.load, planned.load):
        with pytest.raises(UsageError, match="make one with fastload plan"):
            read(str(file))


def run(verb, *arguments):
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    verb.register(app)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("verb", "arguments", "text"),
    [
        (plan, ["--rates", "f", "--data", "d"],
         "plan: --rates f has what was measured, and --data is for measuring; leave one out"),
        (plan, ["--rates", "f", "--compare", "backends"],
         ("plan: --compare backends has to measure, and --rates measures nothing; leave one out, "
          "or compare machines or sizes")),
        (plan, ["--rates", "f", "--seconds", "9"],
         "plan: --rates f has what was measured, and --seconds is for measuring; leave one out"),
        (plan, ["--rates", "f", "--backend", "torch"],
         "plan: --rates f has what was measured, and --backend is for measuring; leave one out"),
        (profile, ["--schedule", "--data", "d", "--sweep"],
         ("profile: --schedule measures a recipe's loader and step, and --sweep is given; leave "
          "one out")),
        (profile, ["--schedule", "--data", "d", "--device", "cuda"],
         ("profile: --schedule measures a recipe's loader and step, and --device is given; leave "
          "one out")),
        (profile, ["--schedule"],
         "profile: no data set given; give --data DIR, or run fastload demo, which makes one"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together(verb, arguments, text):
    error = run(verb, *arguments).exception
    assert isinstance(error, UsageError)
    assert str(error) == text


def test_the_command_asks_for_the_same():
    setup = Setup("auto", 2, None, 300.0, None, "cpu", 20.0, None)
    assert cli_schedule._command("hot", "my data", setup) == (
        "fastload profile --schedule --recipe hot --data 'my data' --workers 2 --step-rate 300.0 "
        "--seconds 20.0"
    )


@pytest.mark.long
def test_a_schedule_is_measured_and_planned_with(photos, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("fastload.forecast.measuring.TURNS", 2)
    out = tmp_path / "rates.json"
    done = run(
        profile, "--schedule", "--recipe", "mild", "--data", photos, "--step-rate", 300,
        "--seconds", 1, "--workers", 1, "--json", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.exception
    written = json.loads(out.read_text())
    measured = set(written["measured"]["loader_img_per_s"])
    assert measured == {str(one["size_px"]) for one in written["schedule"]}
    assert measured == {str(epoch["size_px"]) for epoch in written["epochs"]}
    again = run(
        plan, "--rates", out, "--recipe", "mild", "--step-rate", 300, "--epochs", 18, "--json", "-",
        "--compare", "sizes",
    )  # fmt: skip
    assert again.exit_code == 0, again.exception
    planned = json.loads(again.output)
    assert len(planned["epochs"]) == 18
    assert planned["measured"]["loader_img_per_s"] == written["measured"]["loader_img_per_s"]
    assert len(planned["options"]) > 2
