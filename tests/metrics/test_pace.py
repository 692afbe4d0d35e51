"""A run beside its plan: laws of the way, the time left and its interval, and the cost."""

import json
import math

import numpy as np
import pytest
import torch

import fastload
from fastload import metrics
from fastload.errors import UsageError
from fastload.forecast import document
from fastload.metrics import pace, planned
from fastload.metrics.planned import Between, Epoch, Plan
from fastload.profiler.lines import Lines
from fastload.profiler.pacing import Paced
from tests.forecast import made

SMALL, LARGE = 128, 224  # px
PLAN = Plan(
    "plan.json",
    (Epoch(SMALL, Between(100.0, 90.0, 120.0)),) * 4
    + (Epoch(LARGE, Between(200.0, 180.0, 240.0)),) * 4,
    36.0,
)


def after(epochs, slower=1.0, plan=PLAN, pause=0.0, jitter=0.0, begin=0):
    """The pace after so many epochs that take `slower` times what was planned, in tenths."""
    run, seconds = pace.Pace(plan), 0.0
    run.see(begin, 0.0, 0.0, 0.0)
    for tenth in range(10 * begin, round(10 * epochs)):
        epoch, share = divmod(tenth, 10)
        each = plan.epochs[epoch].seconds.value / 10
        seconds += each * slower * (1 + jitter * (-1) ** tenth)
        run.see(epoch, (share + 1) / 10, seconds, seconds + pause * (epoch - begin))
    return run.standing()


def test_before_anything_was_trained_the_plan_counts():
    run = pace.Pace(PLAN)
    assert run.standing() is None
    run.see(0, 0.0, 5.0, 1000.0)
    standing = run.standing()
    assert standing.left == Between(1200.0, 1080.0, 1440.0)
    assert (standing.done, standing.seconds, standing.cost) == (0.0, 0.0, 0.0)
    assert standing.whole_cost.value == pytest.approx(12.0)


@pytest.mark.parametrize("slower", [0.5, 1.0, 2.0])
def test_what_is_left_follows_what_was_seen_at_its_size(slower):
    standing = after(2, slower)
    assert standing.seconds == pytest.approx(200 * slower)
    assert standing.planned == pytest.approx(200)
    assert standing.done == pytest.approx(200 / 1200)
    # Two epochs at the pace that was seen, and four of a size that was not seen yet
    assert standing.left.value == pytest.approx(200 * slower + 800)
    assert standing.left.low < standing.left.value < standing.left.high
    assert standing.left.high >= 800 * max(1.2, slower)
    assert standing.left.low <= 800 * min(0.9, slower) + 200 * slower


def test_at_the_end_of_a_steady_run_the_interval_is_narrow():
    standing = after(7, 1.5)
    assert standing.left.value == pytest.approx(300)
    assert standing.left.low == pytest.approx(300 * (1 - pace.LEAST))
    assert standing.left.high == pytest.approx(300 * (1 + pace.LEAST))


def test_a_run_that_varies_has_a_wider_interval_and_holds_the_truth():
    narrow, wide = after(6, 1.2), after(6, 1.2, jitter=0.3)
    assert wide.left.high - wide.left.low > 3 * (narrow.left.high - narrow.left.low)
    assert wide.left.low < 480 < wide.left.high


def test_the_interval_holds_what_is_left_in_nine_of_ten_runs():
    """Of runs whose pace drifts, and jumps from window to window."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(100):
        drift = np.cumsum(rng.normal(0, 0.01, 80))
        ratios = 1.3 * np.exp(drift + rng.normal(0, 0.1, 80))
        tenths = np.repeat([one.seconds.value / 10 for one in PLAN.epochs], 10) * ratios
        run = pace.Pace(PLAN)
        run.see(0, 0.0, 0.0, 0.0)
        for tenth, seconds in enumerate(np.cumsum(tenths[:60])):
            run.see(tenth // 10, (tenth % 10 + 1) / 10, seconds, seconds)
        left = run.standing().left
        held += left.low <= tenths[60:].sum() <= left.high
    assert held >= 90


def test_pauses_between_epochs_count_for_time_and_cost():
    standing = after(6, pause=30.0)
    assert standing.left.value == pytest.approx(400 + 2 * 30, rel=0.05)
    assert standing.seconds == pytest.approx(800)
    assert standing.cost == pytest.approx((800 + 5 * 30) * 36 / 3600)
    assert standing.whole_cost.value == pytest.approx(standing.cost + standing.left.value / 100)


def test_a_run_that_goes_on_is_measured_from_there():
    standing = after(6, 2.0, begin=5)
    assert (standing.seconds, standing.planned) == (pytest.approx(400), pytest.approx(200))
    assert standing.left.value == pytest.approx(800)
    assert standing.done == pytest.approx(800 / 1200)


def test_a_run_that_goes_back_to_a_checkpoint_still_costs():
    run = pace.Pace(PLAN)
    for epoch, share, seconds in ((0, 0.0, 0.0), (0, 1.0, 100.0), (0, 0.5, 100.0), (0, 0.9, 140.0)):
        run.see(epoch, share, seconds, seconds)
    standing = run.standing()
    assert standing.planned == pytest.approx(40)
    assert standing.cost == pytest.approx(140 * 36 / 3600)


def test_the_end_is_told_as_such():
    standing = after(8, 1.5)
    assert standing.left.value == 0
    assert str(standing) == "all 8 epochs are done; 30 min, planned 20 min; cost 18"


def test_the_line_in_between():
    assert str(after(6)) == (
        "epoch 6 of 8, 67 % done; 13.3 min so far, planned 13.3 min; 6.67 min left (6.53 to 6.8 "
        "min); cost 8 so far, 12 (11.9 to 12.1) at the end"
    )
    free = Plan(PLAN.where, PLAN.epochs, None)
    assert "cost" not in str(after(6, plan=free))


def written(path, found):
    path.write_text(json.dumps(found))
    return path


def test_a_forecasts_file_is_read_back(tmp_path):
    found = made.forecast(made.question(18, cores=22), price=32.77)
    plan = planned.load(written(tmp_path / "plan.json", document.document(found)))
    assert plan.seconds == pytest.approx(found.run.total.value)
    assert [one.size for one in plan.epochs] == list(found.run.sizes)
    assert plan.epochs[3].seconds == pytest.approx(tuple(vars(found.run.seconds.at(3)).values()))
    assert plan.price == 32.77


def plan_text(epochs):
    return json.dumps({"schema": "fastload.plan/1", "price_per_h": None, "epochs": epochs})


WRONG = {"value": 1, "low": 2, "high": 3}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[]", "TypeError: list indices must be integers or slices, not str"),
        ('{"schema": "other/1"}', "ValueError: its schema is 'other/1'"),
        (plan_text([]), "ValueError: it has no epochs"),
        (
            plan_text([{"size_px": 9, "seconds": WRONG}]),
            "ValueError: its times 2, 1, 3 are in no order",
        ),
        (plan_text([{"size_px": 9}]), "KeyError: 'seconds'"),
    ],
)
def test_what_is_no_forecast_is_told(tmp_path, content, text):
    path = tmp_path / "plan.json"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        planned.load(path)
    assert str(caught.value) == (
        f"{path}: is no forecast ({text}, want schema fastload.plan/1); make one with fastload "
        "plan --json FILE"
    )


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="cannot be read as a forecast"):
        planned.load(tmp_path / "none.json")


@pytest.fixture
def plan_file(tmp_path):
    found = document.document(made.forecast(made.question(3, cores=22), price=3.6))
    return written(tmp_path / "plan.json", found)


def test_a_loader_tells_its_progress_and_exporters_have_it(make, plan_file):
    loader = make(num_workers=0)
    progress = metrics.progress(loader, plan_file)
    assert str(progress) == "nothing was trained yet"
    with metrics.callback({"train": loader}, lambda _: None) as exporter:
        assert not [one for one in exporter.read() if "_run_" in one.metric.name]
        for _ in loader:
            pass
        values = {one.key.replace("/train/rank0", ""): one.value for one in exporter.read()}
    standing = progress.standing()
    assert values["fastload_run_done_ratio"] == standing.done
    plan = planned.load(plan_file)
    assert standing.done == pytest.approx(plan.until(1, 0) / plan.seconds)
    assert values["fastload_run_seconds"] == loader.stats()["elapsed_s"] == standing.seconds
    for end in ("value", "low", "high"):
        assert values[f"fastload_run_left_seconds/{end}"] > 0
        assert values[f"fastload_run_whole_cost/{end}"] >= values["fastload_run_cost"]
    assert str(progress).startswith("epoch 1 of 3, ")


def test_a_resumed_loader_goes_on_along_the_plan(make, plan_file):
    loader = make(num_workers=0)
    state = None
    for step, _ in enumerate(loader):
        if step == 1:
            state = loader.state_dict()
    again = make(num_workers=0)
    again.load_state_dict(state)
    progress = metrics.progress(again, plan_file)
    for _ in again:
        pass
    plan, standing = planned.load(plan_file), progress.standing()
    assert standing.done == pytest.approx(plan.until(1, 0) / plan.seconds)
    assert standing.planned == pytest.approx(plan.until(1, 0) - plan.until(0, 2 / 5))


def test_a_stream_has_no_plan(plan_file):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    with pytest.raises(UsageError, match="does not know how many batches an epoch has"):
        metrics.progress(fastload.DataLoader(Stream()), plan_file)
    with pytest.raises(UsageError, match="got list, want a fastload"):
        metrics.progress([1, 2], plan_file)


def test_a_watch_tells_the_plan_beside_its_lines(plan_file):
    out = []
    lines = Lines(10.0, out.append, Paced([None] * 5, plan_file))
    for epoch in range(3):
        for batch in range(5):
            now = 100.0 * epoch + 4.0 * batch
            lines.batch(now, now + 1.0)
        lines.epoch(100.0 * epoch + 20.0)
    lines.of_plan()
    plans = [line for line in out if line.startswith("fastload: plan: ")]
    assert plans[0].startswith("fastload: plan: epoch 1 of 3, ")
    assert plans[-1].startswith("fastload: plan: all 3 epochs are done; 60 s, planned ")
    assert f"cost {3.6 * 220 / 3600:.3g}" in plans[-1]
    assert math.isclose(lines.paced.standing().done, 1.0)


def test_watch_takes_a_plan(make, plan_file):
    loader, out = make(num_workers=0), []
    with fastload.watch(loader, every=3600, say=out.append, plan=plan_file) as seen:
        assert seen.standing is None
        for _ in loader:
            pass
    assert seen.standing.epoch == 0
    assert out[-1] == f"fastload: plan: {seen.standing}"
