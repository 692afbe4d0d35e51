"""backend="auto": the first that can, or the one that was measured to be faster here; and what is
said where none can.
"""

import datetime as dt
import json
from pathlib import Path

import pytest
import torch

import fastload
from fastload.backends import choosing, measured
from fastload.backends.measured import Rate
from fastload.backends.table import BACKENDS
from fastload.errors import BackendError
from fastload.plan.plan import plan
from fastload.transforms import CenterCrop, RandomResizedCrop, Resize, ToTensor

OPS = [RandomResizedCrop((24, 31)), ToTensor()]
NATIVE, TORCH, FFCV = (
    Rate(300.0, 300.0, 300.0),
    Rate(1000.0, 990.0, 1010.0),
    Rate(610.0, 600.0, 620.0),
)
DALI = Rate(9050.0, 9000.0, 9100.0)
UNKNOWN = "the first of native, torch that can; not measured here (fastload profile --backend all)"


@pytest.fixture
def steps(folder):
    return plan(fastload.open(folder, OPS).pipeline)


@pytest.fixture
def today():
    return dt.datetime.now(dt.timezone.utc).date().isoformat()


def test_what_is_not_measured_is_the_first_that_can(folder, steps):
    assert choosing.choose("auto", steps, "cpu") == ("native", [], UNKNOWN)
    assert (
        f"  backend native: {UNKNOWN}"
        in fastload.DataLoader(fastload.open(folder, OPS)).explain().splitlines()
    )
    named = fastload.DataLoader(fastload.open(folder, OPS), backend="native")
    assert "not measured" not in named.explain()


def test_what_was_measured_to_be_faster_is_taken_and_its_pixels_are_the_same(folder, steps, today):
    before = next(iter(fastload.DataLoader(fastload.open(folder, OPS), 5, seed=3)))[0]
    measured.remember(steps, "cpu", 2, {"native": NATIVE, "torch": TORCH, "dali": DALI})
    loader = fastload.DataLoader(fastload.open(folder, OPS), 5, seed=3)
    assert loader.explain().splitlines()[0] == "backend torch, the caller's thread, device cpu"
    why = (
        f"measured 1,000 images/s against dali 9,050, native 300, on this machine on {today}, 2 "
        "workers"
    )
    assert f"  backend torch: {why}" in loader.explain().splitlines()
    assert torch.equal(next(iter(loader))[0], before)


@pytest.mark.parametrize(
    ("rates", "best"),
    [
        ({"native": NATIVE, "torch": Rate(400.0, 310.0, 500.0)}, "native"),  # within what is noise
        ({"native": NATIVE, "torch": Rate(400.0, 320.0, 500.0)}, "torch"),
        ({"native": NATIVE, "torch": Rate(9.0, 8.0, 10.0), "dali": DALI}, "native"),
        ({"native": NATIVE, "dali": DALI, "dali-own": DALI}, "native"),  # other pixels
        ({"native": NATIVE, "ffcv": FFCV}, "native"),  # it cannot read a folder
        ({"torch": TORCH, "dali": DALI}, "native"),  # against which nothing was measured
        ({"native": NATIVE}, "native"),
    ],
)
def test_only_a_clear_gain_of_a_backend_with_the_same_pixels_counts(rates, best, steps):
    measured.remember(steps, "cpu", 1, rates)
    assert choosing.choose("auto", steps, "cpu").backend == best


def test_only_what_was_measured_on_this_very_thing_here_counts(folder, steps, monkeypatch):
    rates = {"native": NATIVE, "torch": TORCH}
    assert Path(measured.remember(steps, "cpu", 1, rates)).is_file()
    assert measured.recall(steps, "cpu").rates["torch"] == TORCH
    assert measured.recall(steps, "cuda") is None
    assert (
        measured.recall(
            plan(fastload.open(folder, [RandomResizedCrop(24), ToTensor()]).pipeline), "cpu"
        )
        is None
    )
    assert measured.recall(plan(fastload.open(folder, OPS).pipeline, "fast"), "cpu") is None
    for what, other in (("cpu_model", "another CPU"), ("usable_cores", 1000)):
        with monkeypatch.context() as here:
            here.setattr(measured.machine, what, lambda other=other: other)
            assert measured.recall(steps, "cpu") is None
    with monkeypatch.context() as here:
        here.setattr(measured, "version_of", lambda _: "0.0")
        assert measured.recall(steps, "cpu") is None
    assert measured.recall(steps, "cpu").workers == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda _: "[" * 100_000,
        lambda text: text.replace('"median": 1000.0', '"median": "many"'),
        lambda text: text.replace('"median": 1000.0', '"median": NaN'),
        lambda text: text.replace('"low": 990.0', '"low": -1'),
        lambda text: text.replace("fastload.backends/1", "fastload.backends/2"),
        lambda text: text.replace('"date": "', '"date": "x'),
        lambda text: text.replace('"rates"', '"rats"'),
        lambda text: " " * measured.LARGEST + text,
        lambda _: json.dumps({"schema": "fastload.backends/1", "about": None, "here": None}),
    ],
)
def test_a_damaged_file_is_as_good_as_none(spoil, steps):
    path = Path(measured.remember(steps, "cpu", 1, {"native": NATIVE, "torch": TORCH}))
    spoilt = spoil(path.read_text())
    assert spoilt != path.read_text()
    path.write_text(spoilt)
    assert measured.recall(steps, "cpu") is None
    assert choosing.choose("auto", steps, "cpu") == ("native", [], UNKNOWN)


def test_a_cache_that_cannot_be_written_changes_nothing(steps, cache):
    cache.write_text("no folder")
    assert measured.remember(steps, "cpu", 1, {"native": NATIVE, "torch": TORCH}) == ""
    assert choosing.choose("auto", steps, "cpu").backend == "native"


def test_nothing_half_written_stays(steps, cache, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fastload.files.below.write_all", full)
    assert measured.remember(steps, "cpu", 1, {"native": NATIVE, "torch": TORCH}) == ""
    assert list((cache / "fastload" / "backends").iterdir()) == []


def test_a_data_set_of_others_is_left_to_native_or_pytorch(folder, monkeypatch):
    datasets = pytest.importorskip("torchvision.datasets")
    v2 = pytest.importorskip("torchvision.transforms.v2")
    data = datasets.ImageFolder(
        folder,
        v2.Compose(
            [v2.RandomResizedCrop((24, 31)), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
        ),
    )
    monkeypatch.setattr(measured, "recall", lambda *_: pytest.fail("it was asked"))
    assert fastload.DataLoader(data, 4).explain().startswith("backend native")


def test_those_that_are_said_to_give_the_same_pixels_do():
    assert (
        [name for name, one in BACKENDS.items() if one.exact]
        == list(choosing.EXACT)
        == ["native", "torch", "ffcv"]
    )
    assert set(choosing.AUTO) < set(choosing.EXACT)


def test_what_cannot_run_names_what_can(folder, monkeypatch):
    monkeypatch.setattr(
        "importlib.metadata.version", lambda name: {"ffcv": "0.0.3", "numba": "0.60"}[name]
    )
    steps = plan(fastload.open(folder, [CenterCrop(9), Resize(8), ToTensor()]).pipeline)
    with pytest.raises(BackendError) as found:
        choosing.choose("ffcv", steps, "cpu")
    lines = str(found.value).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("backend ffcv cannot run this plan: ") for line in lines[:3])
    assert lines[3] == "backend torch can run it; pass backend='torch'"
    with pytest.raises(BackendError) as found:
        choosing.choose("torch", steps, "cuda")
    assert (
        str(found.value)
        == "backend torch cannot run this plan: fills batches on the host only (got device 'cuda', "
        "want 'cpu')"
    )
    with pytest.raises(BackendError) as found:
        choosing.choose("fast", steps, "cpu")
    assert (
        str(found.value)
        == "backend 'fast' is unknown (want auto, native, torch, ffcv, dali, dali-own); choose one "
        "of them"
    )
