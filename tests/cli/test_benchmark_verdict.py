"""The benchmark of the profiler's verdict: its trainings, its truth, its tables."""

import json
import re

import pytest

from fastload.errors import UsageError
from fastload.profiler.verdict import DATA_BOUND, GPU, OPEN

judge = pytest.importorskip("benchmarks.verdict.judge")  # not in an installed package
rows = pytest.importorskip("benchmarks.verdict.rows")
scenarios = pytest.importorskip("benchmarks.verdict.scenarios")
tables = pytest.importorskip("benchmarks.verdict.tables")
truth = pytest.importorskip("benchmarks.verdict.truth")
predictions = pytest.importorskip("benchmarks.verdict.predictions")
benchmarks = pytest.importorskip("benchmarks.__main__")
overhead = pytest.importorskip("benchmarks.verdict.overhead")
cli = pytest.importorskip("benchmarks.verdict.cli")

FACTS = {
    "machine": {"cpu": "A CPU", "cores_usable": 2}, "software": {"torch": "2.11.0"},
    "commit": "1a2b3c4d5e6f7a8b", "date": "2026-01-01",
    "scale": 1.0, "cpu": "burned", "loader": "torch", "workers": 1,
}  # fmt: skip


def row(
    name: str, group: str, stall: float, gains: dict, said: str, found: float, **run: float
) -> dict:
    true = {
        "stall": stall,
        "gains": gains,
        "causes": list(truth.causes(stall, gains)),
        "wait": stall,
        "busy": 0.5,
        "others": 0.0,
        **run,
    }
    return {
        **FACTS,
        "scenario": name,
        "group": group,
        "truth": true,
        "profile": {"headline": said, "stall": found},
        "watch": None,
    }


ROWS = [
    row("a", "one cause", 0.5, {"decode": 2.0, "read": 1.1}, "CPU-BOUND: decode", 0.51),
    row("b", "one cause", 0.5, {"decode": 2.0, "read": 1.1}, "READ-BOUND", 0.49, busy=0.95),
    row("c", "two causes", 0.5, {"decode": 1.5, "read": 1.6}, "CPU-BOUND: decode", 0.5),
    row("d", "control", 0.0, {"decode": 1.0}, "GPU-BOUND", -0.01),
    row("e", "control", 0.01, {"decode": 1.0}, "CPU-BOUND: decode", 0.06, wait=0.06),
]


def test_there_are_enough_of_each_kind():
    found = scenarios.every_one()
    controls = [one for one in found if one.group == "control"]
    assert len(found) - len(controls) >= 150
    assert len(controls) >= 36
    assert len({one.name for one in found}) == len(found)
    assert {cause for one in found for cause in (*one.causes, "step", "others")} == set(
        scenarios.HEADLINES
    )
    tenth = {one.group for one in found[: len(found) // 4]}
    # Any part has some of most
    assert tenth >= {"one cause", "control", "jitter", "copies", "contention", "fastload"}


def test_ten_are_judged_twenty_times():
    assert len(set(judge.STABLE)) == 10
    assert set(judge.STABLE) <= {one.name for one in scenarios.every_one()}
    assert judge.TIMES == 20


def test_there_are_enough_predictions():
    changes = list(predictions.every_one())
    assert len(changes) == len({change.name for change in changes}) >= 40
    assert len({change.kind for change in changes}) >= 6


@pytest.mark.parametrize(
    ("stall", "gains", "causes"),
    [
        (0.5, {"read": 2.0, "decode": 1.5}, ("read",)),
        (0.5, {"read": 2.0, "decode": 1.7}, ("read", "decode")),
        (0.02, {"read": 2.0}, ("step",)),
        (0.05, {"read": 1.05}, ("step", "read")),  # at the edge both are right
        (0.5, {"read": 1.1, "others": 2.0}, ("others",)),
    ],
)
def test_the_truth(stall, gains, causes):
    assert truth.causes(stall, gains) == causes


@pytest.mark.parametrize(
    ("scenario", "rate"),
    [
        (("torch", 1, {"read": 10.0}), 400), (("torch", 2, {"read": 10.0}), 800),
        (("torch", 0, {"read": 10.0}), 4000 / 15),
        (("torch", 1, {"read": 2.0}), 800), (("torch", 1, {"read": 2.0, "copy": 3.0}), 500),
        (("torch", 1, {"jitter": 1.0}), None),
        (("native", 1, {"decode": 1.0}), None),
    ],
)  # fmt: skip
def test_what_free_cores_would_give(scenario, rate):
    loader, workers, costs = scenario
    assert truth.designed(scenarios.Scenario("x", loader, workers, costs)) == (
        None if rate is None else pytest.approx(rate)
    )


def test_a_cause_is_taken_away():
    one = scenarios.Scenario("x", "torch", 0, {"read": 3.0, "decode": 2.0})
    assert one.causes == ("read", "decode", "overlap")
    assert one.without("read").costs == {"decode": 2.0}
    assert one.without("overlap").workers == 1
    assert one.without("step").step == 0
    assert one.scaled(4).costs == {"read": 12.0, "decode": 8.0}


def test_a_run_goes_on_where_it_was_broken_off(tmp_path, monkeypatch):
    monkeypatch.setattr(
        judge,
        "scenario_row",
        lambda scenario, *_: ran.append(scenario.name) or {**ROWS[0], "scenario": scenario.name},
    )
    every, ran, said = scenarios.every_one()[:3], [], []
    judge.run(tmp_path, every[:2], 1.0, lambda: None, said.append)
    judge.run(tmp_path, every, 1.0, lambda: None, said.append)
    assert ran == [one.name for one in every]
    judge.run(tmp_path / "other", every, 1.0, lambda: None, said.append, late=lambda: len(ran) > 3)
    assert ran[3:] == [every[0].name]  # nothing is begun when the time is up
    assert (
        said[0]
        == f"right  {every[0].name}: decode, stall 50 %; said CPU-BOUND: decode, 51 %; others had "
        "0 % of the cores"
    )
    file = rows.path(tmp_path, "scenarios")
    file.write_bytes(file.read_bytes()[:-9])  # the last line is cut off
    judge.run(tmp_path, every, 1.0, lambda: None, said.append)
    assert ran[4:] == [every[2].name]
    assert len(rows.read(file)) == 3
    file.write_text('{"scenario": "x"}\n[]\n')
    with pytest.raises(
        UsageError, match=re.escape(f"{file}, line 2: is no result of a scenario (")
    ):
        rows.read(file)


def test_the_tables(tmp_path):
    for one in ROWS:
        rows.add(rows.path(tmp_path, "scenarios"), one)
    table = tables.markdown(tmp_path, "").splitlines()
    assert (
        table[2]
        == "| fastload profile | 3 of 3 (100 %) | 1 of 2 (50 %) | 1 of 2 (50 %) | 2 of 4 (50 %) | "
        "0 of 4 (0 %) | 1.0, 3.4 points |"
    )
    assert (
        table[4]
        == "| share of waiting > 5 % | 3 of 3 (100 %) | 1 of 2 (50 %) | 0 of 2 (0 %) | 1 of 4 (25 "
        "%) | - | - |"
    )
    assert (
        table[6]
        == "| CPU > 90 % | 1 of 3 (33 %) | 0 of 2 (0 %) | 0 of 2 (0 %) | 3 of 4 (75 %) | - | - |"
    )
    groups = tables.markdown(tmp_path, "groups").splitlines()
    assert groups[3] == "| two causes | 1 | 0 | 0 of 0 | 1 of 1 (100 %) | 0.0, 0.0 points |"
    assert (
        groups[5]
        == "| all with a fault | 3 | 2 | 1 of 2 (50 %) | 1 of 1 (100 %) | 1.0, 1.0 points |"
    )
    with pytest.raises(UsageError) as caught:
        tables.markdown(tmp_path, "stability")
    assert (
        str(caught.value)
        == "table: verdict has no stability; run `python -m benchmarks verdict --stability` first"
    )


def test_predictions_count_where_something_changed(tmp_path):
    common = {**FACTS, "kind": "k", "others": 0.0}
    for name, measured, predicted in (("a", 200.0, 190.0), ("b", 110.0, 220.0), ("c", 50.0, 55.0)):
        rows.add(
            rows.path(tmp_path, "predictions"),
            {
                **common,
                "scenario": name,
                "before": 100.0,
                "measured": measured,
                "predicted": predicted,
            },
        )
    assert tables.markdown(tmp_path, "predictions").splitlines()[2] == "| k | 2 | 7.5 % | 9.5 % |"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("--only", "no such"),
            (
                "benchmarks: verdict: --only 'no such' fits none of 212 names; try a cause, as in "
                "--only decode\n"
            ),
        ),
        (
            ("--fresh", "--only", "a"),
            (
                "benchmarks: verdict: --all and --fresh are for whole parts; leave out --only, "
                "--group and --part\n"
            ),
        ),
        (
            ("--minutes", "0"),
            "benchmarks: verdict: --minutes is 0, want more than 0\n",
        ),
        (("--only", "("), "benchmarks: verdict: --only '(' is no regular expression ("),
    ],
)
def test_arguments_that_fit_nothing(capsys, arguments, text):
    assert benchmarks.main(["verdict", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(text)


def test_a_cause_that_was_put_in_stands_out_by_design():
    """On free cores: taking away one of the stages that neighbours slow, or that nothing overlaps
    with, helps far less than the cause.
    """
    for one in scenarios.every_one():
        if one.group == "nothing overlaps":
            whole = truth.designed(one)
            gains = [
                truth.designed(one.without(cause)) / whole for cause in (*one.costs, "overlap")
            ]
            assert gains[-1] > truth.CLEAR * max(gains[:-1])
        if one.group == "contention":  # on two cores, each process has its share of them
            load, slower = (
                sum(one.costs[cause] for cause in scenarios.CPU) / one.workers,
                (one.costs["neighbour"] + one.workers) / 2,
            )
            assert load < 0.9 * one.step  # alone it keeps up
            # The gain without neighbours, and without one of five stages
            assert load * slower / one.step > truth.CLEAR * 5 / 4


def test_a_replicate_of_a_profile_has_a_late_batch():
    for one in scenarios.every_one():
        if one.group == "jitter":
            late = one.costs["jitter"] + one.every * one.step
            assert judge.budget(one, 0.25) / judge.REPLICATES == pytest.approx(late / 1e3)


def test_overhead_by_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(overhead, "plain", iter([(0.030, 0.040)] * 3).__next__)
    monkeypatch.setattr(overhead, "watched", iter([(0.0303, 0.040)] * 3).__next__)
    monkeypatch.setattr(overhead, "unattached", iter([(0.030, 0.040)] * 3).__next__)
    monkeypatch.setattr(overhead, "attached", iter([(0.030, 0.0402)] * 3).__next__)
    monkeypatch.setattr(overhead.recorder, "cost", lambda: 7e-6)
    said = []
    overhead.run(tmp_path, said.append, pairs=3)
    assert said == [
        (
            "watch: +1.00 % (+1.00 to +1.00) of CPU time and +0.00 % (+0.00 to +0.00) of time per "
            "batch"
        ),
        (
            "profile -- COMMAND: +0.00 % (+0.00 to +0.00) of CPU time and +0.50 % (+0.50 to +0.50) "
            "of time per batch"
        ),
    ]
    assert tables.markdown(tmp_path, "overhead").splitlines()[2] == (
        "| watch | +1.00 % (+1.00 to +1.00) | +0.00 % (+0.00 to +0.00) | 3 | 7.0 |"
    )


def test_one_real_scenario(tmp_path):
    """It runs whole; looked at is what other work on the machine cannot change, and judge's
    arithmetic is tested above.
    """
    said, scale = [], 0.5
    (one,) = (one for one in scenarios.every_one() if one.name == "read 3.0 torch-1")
    judge.run(tmp_path, [one], scale, lambda: None, said.append)
    found = json.loads(rows.path(tmp_path, "scenarios").read_text())
    assert found["truth"]["causes"]
    assert 0 <= found["truth"]["stall"] <= 1
    # Its worker sleeps 7.5 ms per batch, and never less; 2 batches may lie there when a run of 0.2
    # s begins.
    ahead = 2 * scenarios.IMAGES / (scale * judge.SECONDS)
    assert 0 < found["truth"]["images_per_s"] <= truth.designed(one.scaled(scale)) + ahead
    assert found["profile"]["headline"].partition(":")[0] in (GPU, OPEN, *DATA_BOUND)
