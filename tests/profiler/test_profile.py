"""The whole path on a small folder, with clocks for GPUs that are far slower and far faster than
any loader here.
"""

import json
import re

import pytest
import torch

import fastload
from fastload import DataLoader, lowering, transforms
from fastload.backends.table import BACKENDS, BackendFacts
from fastload.measure import Sample
from fastload.profiler import EmulatedStep, profile, remedies
from fastload.profiler.remedies import Alternative, Priced
from fastload.recipes import load

RRC = fastload.transforms.RandomResizedCrop(64)


@pytest.mark.long
def test_a_slow_gpu_is_the_limit_and_a_fast_one_waits(run, photos, tmp_path, rates):
    results = {}
    for rate, training in ((20, 20), (1_000_000, 480)):
        rates(step=rate, loader=500, training=training)
        file = tmp_path / f"{rate}.json"
        how = (
            "--recipe",
            "mild",
            "--step-rate",
            rate,
            "--seconds",
            1,
            "--workers",
            2,
            "--json",
            file,
        )
        done = run("profile", "--data", photos, *how)
        assert done.exit_code == 0
        assert done.stdout.startswith("VERDICT  ")
        results[rate] = json.loads(file.read_text())
    slow, fast = results[20], results[1_000_000]
    assert (slow["verdict"]["label"], slow["verdict"]["severity"], slow["remedies"]) == (
        "GPU-BOUND",
        ["OK"],
        None,
    )
    assert (fast["verdict"]["label"], fast["verdict"]["stage"], fast["verdict"]["severity"]) == (
        "CPU-BOUND",
        "decode",
        ["HIGH"],
    )
    assert [stage["name"] for stage in fast["stages"]] == ["read", "decode", "resize", "store"]
    assert fast["setting"]["backend"] == "native"


@pytest.mark.long
def test_the_torch_backends_stages_are_replayed(run, photos, rates):
    rates(step=9000, loader=50, training=49)
    done = run(
        "profile", "--data", photos, "--recipe", "hot", "--backend", "torch", "--assume", "h200",
        "--seconds", 2,
        "--workers", 0, "--batch-size", 4, "--json", "-", "--fail-if", "cpu-bound",
    )  # fmt: skip
    assert done.exit_code == 1
    assert (
        done.stderr
        == "fastload: profile: the verdict is CPU-BOUND, and --fail-if cpu-bound was given\n"
    )
    found = json.loads(done.stdout)
    assert found["setting"]["backend"] == "torch"
    assert [stage["name"] for stage in found["stages"]] == [
        "read",
        "decode",
        "draw",
        "crop",
        "augment",
        "store",
    ]
    assert found["step"]["note"].startswith("ESTIMATE for one H200")
    assert not any("MixUp" in part for part in found["not_included"])
    assert [at["size_px"] for at in found["sizes"]] == [99, 124, 144, 167]
    assert sum(at["epochs_share"] for at in found["sizes"]) == pytest.approx(1)
    assert [len(at["loader_img_per_s"]) for at in found["sizes"]] == [3] * 4
    full = found["sizes"][-1]
    assert (
        full["step_img_per_s"] == found["step"]["assumed_img_per_s"]
    )  # and smaller images cost the GPU less
    assert found["sizes"][0]["step_img_per_s"] == pytest.approx(
        full["step_img_per_s"] * (167 / 99) ** 2
    )


@pytest.mark.long
def test_all_backends_are_measured_even_if_nothing_limits(run, photos, rates):
    rates(step=40, loader=400, training=40)
    found = json.loads(
        run(
            "profile", "--data", photos, "--recipe", "mild", "--step-rate", 40, "--seconds", 1,
            "--workers", 0,
            "--batch-size", 2, "--backend", "all", "--json", "-",
        ).stdout
    )  # fmt: skip
    assert found["verdict"]["label"] == "GPU-BOUND"
    measured = {remedy["backend"]: len(remedy["loader_img_per_s"]) for remedy in found["remedies"]}
    refused = {
        reason.removeprefix("backend ").partition(" ")[0]
        for reason in found["setting"]["why_backend"]
    }
    assert measured["torch"] == 3
    assert {*measured, *refused, "native"} == set(
        BACKENDS
    )  # each is measured, or its reasons are named
    assert found["backend_to_use"] in (*measured, "native")
    lines = DataLoader(fastload.open(photos, [*load("mild").ops()])).explain().splitlines()
    (line,) = (line for line in lines if line.startswith("  backend "))
    assert re.search(
        r"^  backend \S+: measured [\d,]+ images/s against .*, on this machine on \d{4}-\d\d-\d\d, "
        r"0 workers$",
        line,
    )
    assert all(
        name in line for name in ("native", *measured)
    )  # backend="auto" knows it from now on


@pytest.mark.parametrize(("depth", "others"), [(1, []), (2, [1]), (3, [1, 2])])
def test_a_shallower_randaugment_is_offered(photos, depth, others):
    ops = [RRC, transforms.RandAugment.composer(severity=9, depth=depth), transforms.ToImage()]
    pipeline = lowering.open(photos, ops).pipeline
    found = {
        one.name: one
        for one in remedies.alternatives(pipeline, "torch", "cpu")
        if "depth" in one.name
    }
    assert list(found) == [f"RandAugment of depth {other} in place of {depth}" for other in others]
    for other, one in zip(others, found.values(), strict=True):
        assert (one.backend, one.cost) == ("torch", "other training: check the accuracy")
        assert [op.num_ops for op in one.ops if isinstance(op, transforms.RandAugment)] == [other]


@pytest.mark.long
def test_a_backend_that_cannot_or_fails_ends_no_profile(run, photos, monkeypatch):
    """One is not installed, one raises as other libraries do."""
    from fastload.profiler import job

    real = job.loader

    def loader(given, pipeline, backend, schedule=None, **more):
        if backend == "broken":
            raise RuntimeError("Critical error in pipeline:\nno memory")
        return real(given, pipeline, backend, schedule, **more)

    monkeypatch.setattr(job, "loader", loader)
    monkeypatch.setitem(
        BACKENDS.own,
        "absent",
        BackendFacts("absent", "fastload.backends.no_such_module", "own"),
    )
    monkeypatch.setitem(
        BACKENDS.own,
        "broken",
        BackendFacts("broken", "fastload.backends.native.runner", "native"),
    )
    done = run(
        "profile", "--data", photos, "--recipe", "mild", "--step-rate", 40, "--seconds", 1,
        "--workers", 0, "--batch-size", 2,
        "--backend", "all", "--json", "-",
    )  # fmt: skip
    found = json.loads(done.stdout)
    # What is not installed was not asked for by its name.
    assert not any("absent" in line for line in found["setting"]["why_backend"])
    assert found["not_measured"][0] == "backend broken failed (Critical error in pipeline:)"


def test_a_loader_of_ones_own(photos, rates):
    rates(step=1e6, loader=500, training=480)
    loader = fastload.DataLoader(fastload.open(photos, [RRC]), batch_size=8, num_workers=2)
    report = profile(loader, EmulatedStep(1e6), seconds=1)
    assert report.verdict.headline == "CPU-BOUND: decode"
    assert "Not measured: what would help (fastload profile --recipe does)" in str(report)


def test_pytorchs_own_loader_over_an_image_folder(photos, rates):
    rates(step=1e6, loader=500, training=480)
    folder = pytest.importorskip("torchvision.datasets").ImageFolder
    from torchvision.transforms import v2

    data = folder(
        photos,
        v2.Compose([v2.RandomResizedCrop(64), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
    )
    report = profile(torch.utils.data.DataLoader(data, batch_size=4), EmulatedStep(1e6), seconds=1)
    assert report.verdict.headline == "CPU-BOUND: decode"
    assert report.stages_how.startswith("timed in the loader's workers")
    assert {"decode", "RandomResizedCrop", "collate"} <= {stage.name for stage in report.stages}
    assert [type(op) for op in data.transform.transforms] == [
        v2.RandomResizedCrop,
        v2.ToImage,
        v2.ToDtype,
    ]  # as they were


@pytest.mark.long
def test_what_helps_is_verified(run, photos, monkeypatch, rates):
    """Training runs with what is offered, and with nothing else."""
    rates(step=1e6, loader=500, training=480)
    now, faster = Sample((100.0,) * 3), Sample((900.0,) * 3)
    found = tuple(
        Priced(Alternative(name, "", "native", (RRC,)), rates, now)
        for name, rates in (("a", faster), ("b", now), ("c", faster), ("d", faster), ("e", faster))
    )
    monkeypatch.setattr(remedies, "price", lambda *_: (found, (), ()))
    done = run(
        "profile",
        "--data",
        photos,
        "--recipe",
        "mild",
        "--step-rate",
        1e6,
        "--seconds",
        1,
        "--verify",
        "--json",
        "-",
    )
    checked = {
        remedy["name"]: remedy["verified_training_img_per_s"]
        for remedy in json.loads(done.stdout)["remedies"]
    }
    assert [name for name, rates in checked.items() if rates is not None] == [
        "a",
        "c",
        "d",
    ]  # the three best
    assert all(rate > 0 for rate in checked["a"])
    assert len(checked["a"]) == remedies.REPLICATES


@pytest.mark.long
def test_an_augmenting_recipe_runs_natively(run, photos, tmp_path):
    file = tmp_path / "hot.json"
    done = run(
        "profile",
        "--data",
        photos,
        "--recipe",
        "hot",
        "--backend",
        "native",
        "--assume",
        "h200",
        "--seconds",
        1,
        "--json",
        file,
    )
    assert done.exit_code == 0
    assert [stage["name"] for stage in json.loads(file.read_text())["stages"]] == [
        "read",
        "decode",
        "resize",
        "augment",
        "store",
    ]
