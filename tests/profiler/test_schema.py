"""The published schema of reports: docs/profile.schema.json."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fastload.measure import Interval, Sample
from fastload.profiler import EmulatedStep, profile
from fastload.profiler.cold import Reading
from fastload.profiler.cuts import Cut
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.foreseen import Foreseen
from fastload.profiler.interference import Taken
from fastload.profiler.remedies import Alternative, Priced
from fastload.profiler.report import SCHEMA, Report
from fastload.profiler.sizes import AtSize
from fastload.profiler.stored import FromStore
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.tried import Tried
from fastload.profiler.unpriced import Unpriced
from fastload.profiler.verdict import DATA_BOUND, GPU, OPEN, decide

FILE = Path(__file__).parents[2] / "docs" / "profile.schema.json"
RATES = Sample((600.0, 606.0, 594.0))
RUNGS = Rungs(Sample((3000.0,) * 3), RATES, Sample((590.0, 588.0, 592.0)))
STAGES = (StageCost("read", 0.0004, 0.0001), StageCost("decode", 0.0021, 0.002))
WHOLE = Report(
    decide(RUNGS, STAGES), RUNGS, StepFacts("emulated", 3000.0, "x"), Setting("hot", "/d", 9,
    "torch", ("why",), 2, 16, 167, 167, "cpu"),
    {"cpu": "x"}, 1.0, STAGES, "how", (Priced(Alternative("a", "b", "native", ()), RATES, RATES,
    RATES),), ("EMA",), ("GPU",),
    (AtSize(96, 0.25, RATES, 9000.0),), Evidence(0.1, 2, 4, 0.3, 0.0, 1, RATES, RATES, RATES,
    RATES), (AtWorkers(1, RATES),),
    Reading(3, 2e5, 0.002, 0.001), (Cut("read", RATES, RATES), Cut("+ store", RATES)),
    Tried("native"), (Foreseen("a", "b", "c", 9.0, Interval(2.0, 1.5, 2.5)),),
    (Unpriced("a", "b", "c"),), Taken(0.001, 0.03, 1.5),
    FromStore("s3://b/p", 9.0, 8, 7, 6, 5, 0.4, 0.05, 99, 1 << 30, 1 << 20, 0.5),
)  # fmt: skip
LEAST = Report(decide(RUNGS), RUNGS, StepFacts("callable"), Setting(), {"cpu": None}, 1.0)


@pytest.fixture(scope="module")
def schema() -> dict:
    return json.loads(FILE.read_text())


def undescribed(value: object, part: dict, whole: dict, where: str = "") -> list[str]:
    """Paths of keys that only one of document and schema has."""
    if "$ref" in part:
        part = whole["$defs"][part["$ref"].rpartition("/")[2]]
    if isinstance(value, list):
        return [text for inner in value for text in undescribed(inner, part["items"], whole, where)]
    if not isinstance(value, dict) or "properties" not in part:
        return []
    out = [f"{where}.{key}" for key in set(value) ^ set(part["required"])]
    return out + [
        text
        for key in value
        if key in part["properties"]
        for text in undescribed(value[key], part["properties"][key], whole, f"{where}.{key}")
    ]


@pytest.mark.parametrize("report", [WHOLE, LEAST, replace(WHOLE, evidence=Evidence())])
def test_schema_and_reports_have_the_same_keys(schema, report):
    assert undescribed(report.to_json(), schema, schema) == []
    assert schema["$id"] == SCHEMA == report.to_json()["schema"]


def test_every_verdict_is_in_the_schema(schema):
    assert set(schema["properties"]["verdict"]["properties"]["label"]["enum"]) == {
        GPU,
        OPEN,
        *DATA_BOUND,
    }


def test_reports_are_valid(schema):
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is not installed (pip install 'fastload-torch[test]')"
    )
    # Which 4.18 brought; older ones do not take an $id that is no URL
    pytest.importorskip("referencing", reason="jsonschema is too old (want 4.18 or newer)")
    check = jsonschema.Draft202012Validator(schema)
    check.check_schema(schema)
    for report in (WHOLE, LEAST):
        assert (
            list(check.iter_errors(json.loads(json.dumps(report.to_json(), allow_nan=False)))) == []
        )
    for key, wrong in (("verdict", {}), ("replicates", None), ("stages", [{}]), ("profile_s", "1")):
        assert list(check.iter_errors({**WHOLE.to_json(), key: wrong})) != []


def test_a_real_profile_is_valid_json(schema):
    import torch

    report = profile(
        torch.utils.data.DataLoader(torch.zeros(400, 2), 4), EmulatedStep(1e6), seconds=1
    )
    found = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert undescribed(found, schema, schema) == []
    assert len(found["replicates"]["training_img_per_s"]) >= 3
