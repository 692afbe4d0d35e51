"""What to do: fastload's loader tried on the data set of a program that uses another one."""

from dataclasses import replace

import pytest
import torch
from torch.utils.data import DataLoader

from fastload.attach import control
from fastload.attach.control import Subject, subject
from fastload.measure import Sample
from fastload.profiler import tried
from fastload.profiler.advice import advice
from fastload.profiler.evidence import Rungs
from fastload.profiler.findings import StepFacts
from fastload.profiler.remedies import MILDER, Alternative, Priced
from fastload.profiler.verdict import decide

from .attach_helpers import profiled
from .test_report import FAST, REPORT

STEP, LOADER = Sample((1000.0,) * 5), Sample((100.0,) * 5)
ALONE = Rungs(STEP, LOADER, Sample((1000 / 11,) * 5))  # nothing overlaps
WITHOUT = {"loaders": [{"num_workers": 0, "backend": None}]}
NATIVE = {"tier": "native", "why": [], "workers": {"0": [500.0] * 5, "2": [1000.0] * 5}}
IMPORT = "change one import (from fastload import DataLoader)"
TRAIN = """
from torchvision import datasets, transforms as T
images = datasets.ImageFolder(sys.argv[1], T.Compose([T.RandomResizedCrop(32), {op}T.ToTensor()]))
train(lambda: None, DataLoader(images, 4, shuffle=True, num_workers=1), epochs=20)
"""


def report(facts: dict, rungs: Rungs = ALONE):
    return replace(
        REPORT,
        rungs=rungs,
        verdict=decide(rungs),
        step=StepFacts("attached"),
        remedies=tried.remedies(facts, rungs),
        tried=tried.read(facts),
    )


def test_what_was_tried_is_predicted_with_its_interval():
    """Workers beside the step: between no overlap (500 images/s) and a whole one (1,000)."""
    found = report({**WITHOUT, "trial": NATIVE})
    assert advice(found) == (
        "Change one import (from fastload import DataLoader) and give num_workers=2: predicted 667 "
        "images/s (500 to 1,000), 7.3 times today's 91."
    )
    assert str(found).splitlines()[1] == f"DO       {advice(found)}"
    assert found.to_json()["tried"] == {"tier": "native", "why": []}
    assert [one["name"] for one in found.to_json()["remedies"]] == [
        IMPORT,
        f"{IMPORT} and give num_workers=2",
    ]
    assert found.to_json()["remedies"][1]["predicted_training"]["ci95_low"] == pytest.approx(500)


@pytest.mark.parametrize(
    ("trial", "text"),
    [
        (
            {"tier": "pytorch", "why": ["a", "b", "c"]},
            "Fastload leaves this data set to PyTorch's own engine: a (and 2 more).",
        ),
        (
            {"tier": "torch", "why": ["a"]},
            "Fastload runs this data set by its torch backend, no faster than PyTorch: a.",
        ),
        (
            {"tier": None, "why": ["TypeError: x"]},
            "Fastload's loader could not be tried on this data set: TypeError: x.",
        ),
    ],
)
def test_where_it_is_not_native_the_reason_is_said(trial, text):
    assert advice(report({**WITHOUT, "trial": trial})) == text
    assert advice(report(WITHOUT)) == ""


def test_nothing_is_advised_where_nothing_is_gained():
    slower = {**NATIVE, "workers": {"0": [90.0] * 5}}
    assert advice(report({**WITHOUT, "trial": slower})) == (
        "Keep this loader: nothing that was tried makes training clearly faster."
    )
    assert advice(report(WITHOUT, FAST)) == "Nothing: the data path keeps up."


def test_the_same_training_comes_before_a_faster_other_one():
    other = Priced(
        Alternative("without X", MILDER, "torch", ()), Sample((9e3,) * 3), Sample((600.0,) * 3)
    )
    assert advice(replace(REPORT, remedies=(*REPORT.remedies, other))).startswith("Backend native:")
    assert advice(replace(REPORT, remedies=(other,))).endswith(f"({MILDER})")


def test_a_data_set_that_fails_is_no_error_of_the_program(monkeypatch):
    def fails(*_: object) -> None:
        raise RuntimeError("mine")

    monkeypatch.setattr("fastload.profiler.trial.measure", fails)
    assert control.trial(Subject([], 4, 0, None), 1.0) == {
        "tier": None,
        "why": ["RuntimeError: mine"],
    }


def test_what_is_tried_is_pytorchs():
    loader = DataLoader(torch.zeros(8, 2), 4, num_workers=1)
    found = subject(loader)
    assert (found.dataset is loader.dataset, found.batch_size, found.workers) == (True, 4, 1)
    assert subject([1, 2]) is None


@pytest.mark.parametrize(
    ("op", "tier"), [("", "native"), ("T.Lambda(lambda x: id(x) and x), ", "pytorch")]
)
def test_a_program_is_told_what_fastload_would_give(script, photos, op, tier):
    """The hooks are off by then: a wrapped PIL is not what fastload knows."""
    done = profiled([*script(TRAIN.format(op=op)), photos], 20)
    assert (done.code, done.report.tried.tier) == (0, tier), done.report.tried
    names = [one.alternative.name for one in done.report.remedies]
    assert names[:1] == ([IMPORT] if tier == "native" else [])
    assert str(done.report).splitlines()[1].startswith("DO       ")
