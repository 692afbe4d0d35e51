"""What the threads of joint samples spend, and where: targets apart from pixels."""

import time

import pytest

import fastload
from fastload.attach.control import Subject
from fastload.joint.steps import Flip
from fastload.profiler import trial
from tests.loader.detection_helpers import preset, voc, write_voc

STAGES = ["read", "targets", "pixels", "store"]


@pytest.fixture
def data(tmp_path):
    write_voc(tmp_path)
    return voc(tmp_path, preset("hflip"))


@pytest.mark.parametrize("workers", [0, 2])
def test_every_sample_is_counted_in_every_stage(data, workers):
    loader = fastload.DataLoader(data, 3, num_workers=workers, collate_fn=list)
    assert loader.stats()["stages"] == {}
    assert sum(map(len, loader)) == 8
    stages = loader.stats()["stages"]
    assert list(stages) == STAGES
    assert [stage["samples"] for stage in stages.values()] == [8] * 4
    assert all(stage["wall_s"] > 0 for stage in stages.values())


@pytest.mark.parametrize(("slow", "stage"), [("targets", "targets"), ("move", "pixels")])
def test_time_goes_to_what_took_it(data, monkeypatch, slow, stage):
    original = getattr(Flip, slow)

    def later(*arguments):
        time.sleep(0.02)
        return original(*arguments)

    monkeypatch.setattr(Flip, slow, later)
    monkeypatch.setattr(Flip, "draw", lambda *_: {})
    loader = fastload.DataLoader(data, 4, collate_fn=list)
    assert len(list(loader)) == 2
    slept = {name: times["wall_s"] - times["cpu_s"] for name, times in
             loader.stats()["stages"].items()}  # fmt: skip
    assert max(slept, key=slept.get) == stage
    assert slept[stage] >= 8 * 0.02 * 0.9


def test_a_sample_that_fails_is_not_counted(data):
    path = data._dataset.images[5]
    with open(path, "r+b") as file:
        file.truncate(100)
    loader = fastload.DataLoader(data, 8, collate_fn=list, on_error="skip")
    with pytest.warns(fastload.BadSamplesWarning):
        assert sum(map(len, loader)) == 7
    counts = [stage["samples"] for stage in loader.stats()["stages"].values()]
    assert counts == counts[:1] * 4  # in no stage, though it was read


@pytest.mark.long
def test_a_profile_names_them(data):
    loader = fastload.DataLoader(data, 4, num_workers=2, collate_fn=fastload.Padded(32))
    report = fastload.profile(loader, lambda _: None, seconds=1)
    assert [stage.name for stage in report.stages] == STAGES
    assert any(line.startswith("targets ") for line in str(report).splitlines())


def test_a_trial_leaves_out_what_such_a_data_set_has_not(data, monkeypatch):
    """Seek indexes, smaller images and fewer ops."""
    kinds = []
    monkeypatch.setattr(trial, "_turns", lambda found, _: kinds.extend(found) or iter(()))
    (facts,) = trial.measure(Subject(data, 2, 0, list), 0.1)
    assert facts == {"tier": "native", "why": [], "lazy": False, "folder": None}
    assert {one.kind for one in kinds} <= {"own", "fastload", "workers"}
