"""`fastload profile --compare BEFORE.json AFTER.json`."""

import copy
import json

import pytest

from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.profiler import compare
from fastload.profiler.evidence import Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.report import Report
from fastload.profiler.verdict import decide

RUNGS = Rungs(
    Sample((3000.0,) * 5),
    Sample((600.0, 606.0, 594.0, 600.0, 600.0)),
    Sample((590.0, 588.0, 592.0, 590.0, 590.0)),
)
STAGES = (StageCost("decode", 0.002, 0.002), StageCost("store", 0.001, 0.001))
MACHINE = {"cpu": "Test CPU", "usable_cores": 2, "gpu": None}
BEFORE = Report(
    decide(RUNGS, STAGES),
    RUNGS,
    StepFacts("emulated", 3000.0),
    Setting("hot", batch_size=16),
    MACHINE,
    1.0,
    STAGES,
).to_json()


def times(factor: float, name: str = "training_img_per_s") -> dict:
    """The report with one rung's rates times `factor`."""
    out = copy.deepcopy(BEFORE)
    out["replicates"][name] = [rate * factor for rate in out["replicates"][name]]
    return out


PLAN = {
    "schema": "fastload.plan/1",
    "recipe": "hot",
    "full_size": {
        "size_px": 167,
        "training_img_per_s": {"value": 580.0, "low": 560.0, "high": 600.0},
        "loader_img_per_s": {"value": 600.0, "low": 580.0, "high": 620.0},
        "step_img_per_s": {"value": 3000.0, "low": 2500.0, "high": None},
        "limit": "cpu",
    },
    "measured": {"data_images": 8, "batch_size": 16},
    "machine_measured": {"cpu": "Test CPU", "usable_cores": 2, "gpu": None},
}


@pytest.fixture
def files(tmp_path):
    def write(*documents: object) -> list[str]:
        paths = [tmp_path / f"{number}.json" for number in range(len(documents))]
        for path, document in zip(paths, documents, strict=True):
            path.write_text(document if isinstance(document, str) else json.dumps(document))
        return [str(path) for path in paths]

    return write


@pytest.mark.parametrize(
    ("factor", "word"),
    [(1.0, "NO CLEAR DIFFERENCE"), (0.97, "NO CLEAR DIFFERENCE"), (0.9, "SLOWER"), (1.2, "FASTER")],
)
def test_the_interval_decides(factor, word):
    found = compare.compare(BEFORE, times(factor))
    assert found.lines()[0].startswith(
        f"{word}   before: CPU-BOUND: decode, stall 80.3 %   after: "
    )
    assert found.slower == (word == "SLOWER")
    assert found.rates["training"].value == pytest.approx(factor)
    assert found.rates["training"].low <= factor <= found.rates["training"].high


def test_noise_is_no_regression():
    noisy = times(1.0)
    noisy["replicates"]["training_img_per_s"] = [300.0, 900.0, 590.0, 400.0, 800.0]
    assert not compare.compare(BEFORE, noisy).slower


def test_before_and_after_are_resampled_apart():
    """Nobody paired them: the same numbers in another order give the same interval."""
    other = times(1.0)
    for rates in other["replicates"].values():
        rates.reverse()
    assert compare.compare(BEFORE, other).rates["training"].low < 1


def test_what_differs_is_said():
    other = times(1.0)
    other["machine"]["cpu"], other["stages"] = (
        "Another CPU",
        [{"name": "decode", "cpu_us_per_img": 500.0}],
    )
    found = compare.compare(BEFORE, other)
    assert found.lines()[1] == "Not the same: machine.cpu was Test CPU, is Another CPU."
    assert found.lines()[-2:] == [
        "stage decode: 2,000 -> 500 us CPU/image",
        "stage store: 1,000 -> not there us CPU/image",
    ]
    assert found.to_json()["stages_cpu_us_per_img"] == {
        "decode": [2000.0, 500.0],
        "store": [1000.0, None],
    }


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (
            {"kind": "attached", "assumed_img_per_s": None},
            (
                "profile: --compare: the step before was emulated, after attached (want the same "
                "kind: an emulated step has an assumed rate); profile both in the same way"
            ),
        ),
        (
            {"kind": "emulated", "assumed_img_per_s": 2500.0},
            (
                "profile: --compare: the emulated step before gave 3000.0 images/s, after 2500.0 "
                "(want the same rate); give both profiles the same --step-rate or --assume"
            ),
        ),
    ],
)
def test_an_emulated_step_is_compared_with_the_same_one_only(run, files, step, text):
    paths = files(BEFORE, {**times(0.5), "step": step})
    assert str(run("profile", "--compare", *paths).exception) == text


def test_the_exit_status(run, files):
    before, slower = files(BEFORE, times(0.8))
    assert run("profile", "--compare", before, before).exit_code == 0
    done = run("profile", "--compare", before, slower, "--json", "-")
    assert (done.exit_code, json.loads(done.stdout)["slower"]) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ("F: is no JSON (Expecting value: line 1 column 1 (char 0)); give a report written "
             "with --json")),
        ("[]", "F: schema is None, want 'fastload.profile/1'; give a report written with --json"),
        ('{"schema": "other/1"}', ("F: schema is 'other/1', want 'fastload.profile/1'; give a "
                                  "report written with --json")),
        (json.dumps({**BEFORE, "replicates": {"training_img_per_s": [0]}}),
         ("F: replicates.training_img_per_s is no list of rates; the file is damaged, profile "
         "again")),
        (json.dumps({**BEFORE, "replicates": 3}),
         ("F: replicates.training_img_per_s is no list of rates; the file is damaged, profile "
         "again")),
    ],
)  # fmt: skip
def test_files_that_are_no_reports(files, text, message):
    path = files(text)[0]
    with pytest.raises(UsageError) as caught:
        compare.read(path)
    assert str(caught.value) == "profile: " + message.replace("F:", f"{path}:", 1)


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [{}], {}, {"stall_share": {"value": "x"}}]
)
def test_what_is_damaged_beside_the_rates_is_left_out(files, value):
    for key in set(BEFORE) - {"schema", "replicates"}:
        path = files({**BEFORE, key: value})[0]
        assert compare.compare(compare.read(path), BEFORE).rates["training"].value == 1
        assert compare.compare(BEFORE, compare.read(path)).lines()


def test_errors(run, files, tmp_path):
    path = files(BEFORE)[0]
    assert str(run("profile", "--compare", path, tmp_path / "no.json").exception) == (
        f"profile: {tmp_path / 'no.json'}: cannot be read (No such file or directory); give a "
        "report written with --json"
    )
    for more in (["--data", "x"], ["--fail-if", "cpu-bound"], ["--workers", "0"], ["--cold"]):
        assert str(run("profile", "--compare", path, path, *more).exception) == (
            f"profile: --compare takes two reports and measures nothing; leave out {more[0]}"
        )


def test_a_plan_is_compared_with_what_came(files):
    paths = files(PLAN, BEFORE, {**PLAN, "full_size": {}})
    before, after = (compare.read(path) for path in paths[:2])
    found = compare.compare(before, after)
    training = found.rates["training"]
    assert training.value == pytest.approx(590 / 580)
    assert (training.low, training.high) == pytest.approx((590 / 600, 590 / 560))
    assert found.lines()[0] == (
        "NO CLEAR DIFFERENCE   before: planned, the cpu as the limit, stall 80.7 %   after: "
        "CPU-BOUND: decode, stall 80.3 %"
    )
    assert not found.slower
    assert not any("device" in text or "step" in text for text in found.differ)
    with pytest.raises(UsageError) as caught:
        compare.read(paths[2])
    assert str(caught.value) == (
        f"profile: {paths[2]}: is a plan that foretells no rates (KeyError: 'limit'); make it anew "
        "with fastload plan --json"
    )
