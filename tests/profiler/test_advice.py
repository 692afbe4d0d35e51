"""What to do: fastload's loader tried on the data set of a program that uses another one."""

import importlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from fastload.attach.control import Subject, subject
from fastload.measure import Interval, Sample
from fastload.profiler import offers as basis
from fastload.profiler import tried
from fastload.profiler import verdict as v
from fastload.profiler.advice import advice
from fastload.profiler.evidence import Rungs
from fastload.profiler.findings import StepFacts
from fastload.profiler.foreseen import Foreseen
from fastload.profiler.offers import offers
from fastload.profiler.remedies import MILDER, Alternative, Priced
from fastload.profiler.verdict import decide

from .attach_helpers import profiled
from .test_report import FAST, REPORT

STEP, LOADER = Sample((1000.0,) * 5), Sample((100.0,) * 5)
ALONE = Rungs(STEP, LOADER, Sample((1000 / 11,) * 5))  # nothing overlaps
WITHOUT = {"loaders": [{"num_workers": 0, "backend": None}]}


def tried_at(kind: str, workers: int, rate: float) -> dict:
    return {"kind": kind, "workers": workers, "img_per_s": [rate] * 3}


NATIVE = {
    "tier": "native",
    "why": [],
    "folder": "/my data",
    "loaders": [tried_at("fastload", 0, 500.0), tried_at("fastload", 2, 1000.0)],
}
IMPORT = "change one import (from fastload import DataLoader)"
TRAIN = """
from torchvision import datasets, transforms as T
images = datasets.ImageFolder(sys.argv[1], T.Compose([T.RandomResizedCrop(32), {op}T.ToTensor()]))
train(lambda: None, DataLoader(images, 4, shuffle=True, num_workers=1), epochs={epochs})
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
    assert found.to_json()["tried"] == {"tier": "native", "why": [], "problem": None}
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
    slower = {**NATIVE, "loaders": [tried_at("fastload", 0, 90.0)]}
    assert advice(report({**WITHOUT, "trial": slower})) == (
        "Keep this loader: nothing that was tried makes training clearly faster."
    )
    assert advice(report(WITHOUT, FAST)) == "Nothing: the data path keeps up."


def test_a_step_that_was_timed_beside_workers_without_cores_says_nothing_of_the_gain():
    """The step alone takes as long as the loader only because the workers have its cores."""
    found = report({**WITHOUT, "trial": NATIVE}, Rungs(LOADER, LOADER, Sample((95.0,) * 5)))
    crowded = replace(found.evidence, workers=2, starved=v.STARVED)
    for label, alone, beside in (
        (v.CONTENTION, "Keep this loader: nothing that was tried", "the loader alone is 10 times"),
        (v.OPEN, "Known already: no loader could make training more", "which measures step and"),
    ):
        one = replace(found, verdict=replace(found.verdict, label=label))
        other = replace(one, evidence=crowded)
        assert alone in advice(one)
        assert beside in advice(other)
        assert alone not in advice(other)


def test_every_loader_that_was_tried_is_offered_with_what_to_copy():
    """Against the program's own loader as it was tried, 50 images/s: the run had seen 100."""
    more = [
        tried_at("own", 0, 50.0),
        tried_at("workers", 4, 150.0),
        tried_at("plain", 2, 400.0),
        tried_at("indexed", 2, 600.0),
    ]
    trial = {**NATIVE, "loaders": [*NATIVE["loaders"], *more]}
    found = offers(report({**WITHOUT, "trial": trial}))
    assert [(one.name, one.how, one.basis, round(one.training.low)) for one in found] == [
        (IMPORT, "from fastload import DataLoader", basis.LOADER, 500),
        (
            f"{IMPORT} and give num_workers=2",
            "from fastload import DataLoader; DataLoader(..., num_workers=2)",
            basis.LOADER,
            667,
        ),
        (
            f"{IMPORT} and give num_workers=2, and index the folder (fastload index '/my data')",
            "fastload index '/my data'",
            basis.PREDICTED,
            750,  # half as much again
        ),
        (
            "give PyTorch's loader num_workers=4",
            "DataLoader(..., num_workers=4)",
            basis.LOADER,
            231,
        ),
    ]


def test_other_training_is_offered_last_and_as_such():
    """Smaller images: 2 and 4 ms per image; 90 epochs of 100 have the mean of the schedule."""
    rates = {"own": (0, 50.0), "fastload": (0, 250.0), "smaller": (0, 500.0)}
    named = {"name": "without X", "how": "leave out X", **tried_at("milder", 0, 400.0)}
    more = [tried_at(kind, *rate) for kind, rate in rates.items()]
    found = report({**WITHOUT, "trial": {**NATIVE, "loaders": [*more, named]}})
    assert [one.alternative.name for one in found.remedies] == [
        IMPORT,
        f"{IMPORT}, and begin with smaller images (size_schedule)",
        f"{IMPORT}, without X",
    ]
    sides = [min(1.0, 0.5 + 0.5 * max(0.0, (epoch - 50) / 30)) for epoch in range(100)]
    share = (np.mean(np.square(sides)) - 0.25) / 0.75
    assert found.remedies[1].loader.median == pytest.approx(1e3 / (2 + 2 * share), rel=1e-3)
    assert [one.same for one in found.remedies] == [True, False, False]
    assert [one.basis for one in offers(found)] == [basis.LOADER, basis.PREDICTED, basis.LOADER]
    assert advice(found).startswith(f"C{IMPORT[1:]}:")


def test_on_a_slow_machine_fastloads_loader_is_tried_all_the_same(monkeypatch, clock):
    """Two loaders answer the question; the third one's start would come too late."""
    trial = importlib.import_module("fastload.profiler.trial")
    monkeypatch.setattr(trial, "begun", lambda made: made)

    def alone(feed, seconds):
        clock[0] += 10.0
        return 5.0

    monkeypatch.setattr(trial, "alone", alone)
    names = ("own", "fastload", "workers")
    variants = [trial.Variant(name, 2, lambda: SimpleNamespace(handover=0.0)) for name in names]
    *_, last = trial._turns(variants, 5.0)
    assert {one["kind"]: len(one["img_per_s"]) for one in last} == {"own": 3, "fastload": 3}


def test_where_nothing_helps_the_cores_that_are_missing_are_counted():
    """0.0029 s of CPU for each of 3,000 images/s: 9 cores."""
    none = replace(REPORT, remedies=REPORT.remedies[1:])
    assert advice(none) == (
        "Keep this loader: nothing that was tried makes training clearly faster. More cores would: "
        "3,000 images/s take 9.0 such cores (computed)."
    )
    many = replace(none, machine={**none.machine, "usable_cores": 16})
    assert advice(many).endswith("clearly faster.")


def test_what_changes_the_training_is_tried_where_it_can_be(photos):
    datasets = pytest.importorskip("torchvision.datasets")
    transforms = pytest.importorskip("torchvision.transforms")
    trial = importlib.import_module("fastload.profiler.trial")

    def others(*ops):
        chain = transforms.Compose([*ops, transforms.ToTensor()])
        data = datasets.ImageFolder(photos, chain)
        plan = trial._fastload(Subject(data, 4, 0, None), 0)._route.plan
        return list(trial._others(Subject(data, 4, 0, None), plan))

    found = others(transforms.RandomResizedCrop(32), transforms.RandAugment())
    assert [(one.kind, one.name) for one in found] == [
        ("smaller", ""),
        ("milder", "RandAugment of depth 1 in place of 2"),
        ("milder", "without RandAugment"),
    ]
    assert [next(iter(one.make()))[0].shape[2:] for one in found] == [(16, 16), (32, 32), (32, 32)]
    assert [one.kind for one in others(transforms.CenterCrop(32))] == ["smaller"]


def test_of_remedies_that_gain_about_as_much_the_first_is_advised():
    trial = {**NATIVE, "loaders": [tried_at("fastload", 0, 500.0), tried_at("fastload", 4, 500.0)]}
    names = [one.name for one in offers(report({"loaders": [{"num_workers": 4}], "trial": trial}))]
    assert names == [f"{IMPORT} and give num_workers=0", IMPORT]
    found = report({"loaders": [{"num_workers": 4}], "trial": trial})
    assert advice(found).startswith(f"C{names[0][1:]}:")


def test_jpegs_alone_may_be_worth_an_import():
    """Then the reason for it is in the fine print."""
    lazy = {"tier": "pytorch", "why": ["a"], "loaders": [tried_at("fastload", 0, 500.0)]}
    found = report({**WITHOUT, "trial": lazy})
    assert advice(found).startswith("Change one import (from fastload import DataLoader): ")
    assert "Fastload leaves this data set to PyTorch's own engine: a." in str(found).splitlines()
    assert "none: the same pixels, only JPEG decoding is native" in str(found)


def test_the_start_of_workers_is_no_part_of_a_verdict_and_is_worth_its_remedy():
    kept = Foreseen("keep them", "x", "y", 100.0, Interval(1.5, 1.4, 1.6))
    found = replace(report(WITHOUT, FAST), foreseen=(kept,))
    assert found.verdict.label == "GPU-BOUND"
    assert advice(found) == (
        "Keep them: predicted 150 images/s (140 to 160), 1.5 times today's 100."
    )
    assert advice(replace(found, foreseen=(replace(kept, gain=Interval(1.5, 1.0, 2.0)),))) == (
        "Nothing: the data path keeps up."
    )


def test_the_same_training_comes_before_a_faster_other_one():
    other = Priced(
        Alternative("without X", MILDER, "torch", ()), Sample((9e3,) * 3), Sample((600.0,) * 3)
    )
    assert advice(replace(REPORT, remedies=(*REPORT.remedies, other))).startswith("Backend native:")
    assert advice(replace(REPORT, remedies=(other,))).endswith(f"({MILDER})")


def test_a_faster_loader_still_hands_its_batches_over():
    """A step of 1 ms per image, and loaders of 10 and of 0.1 ms; 0.25 ms to hand one over."""
    slow = Rungs(STEP, LOADER, LOADER)
    own, other = tried_at("own", 1, 100.0), tried_at("fastload", 1, 10_000.0)
    facts = {
        "loaders": [{"num_workers": 1, "backend": None}],
        "trial": {**NATIVE, "loaders": [own, {**other, "handover_s": 0.00025}]},
    }
    (found,) = tried.remedies(facts, slow)
    assert found.predicted(slow) == pytest.approx(800)
    assert tried.handover(facts, slow) == 0
    own["handover_s"] = 0.0005
    assert tried.handover(facts, slow) == 0.0005
    assert tried.handover(WITHOUT, slow) == 0
    (found,) = tried.remedies({**facts, "trial": {**NATIVE, "loaders": [own, other]}}, slow)
    assert found.predicted(replace(slow, handover=0.0005)) == pytest.approx(1000 / 1.5)


def test_what_is_tried_is_pytorchs():
    loader = DataLoader(torch.zeros(8, 2), 4, num_workers=1)
    found = subject(loader)
    assert (found.dataset is loader.dataset, found.batch_size, found.workers) == (True, 4, 1)
    assert subject([1, 2]) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("op", "tier", "end", "code"),
    [
        ("", "native", "", 0),  # it is stopped
        ("T.Lambda(lambda x: id(x) and x), ", "pytorch", "sys.exit(7)", 7),
    ],
)
def test_a_program_is_told_what_fastload_would_give(script, photos, op, tier, end, code):
    """The hooks are off by then: a wrapped PIL is not what fastload knows."""
    body = TRAIN.format(op=op, epochs=4 if end else 20) + end
    done = profiled([*script(body), photos], 50 if end else 20, seconds=8.0)
    assert (done.code, done.report.tried.tier) == (code, tier), done.report.tried
    assert IMPORT in [one.alternative.name for one in done.report.remedies]
    assert str(done.report).splitlines()[1].startswith("DO       ")
