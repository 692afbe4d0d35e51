"""The GPU's tables where there is no GPU: which variants there are, and that one that fails is a
row that says so.
"""

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from benchmarks.gpu import child as gpu_child
from benchmarks.gpu import peers as gpu_peers
from benchmarks.gpu import tables as gpu_tables
from benchmarks.report import facts, row, table
from fastload.errors import UsageError
from fastload.measure import Sample
from fastload.recipes import rates
from fastload.recipes.parse import read_toml

SETTINGS = gpu_tables.Settings(warm=0, seconds=0.01, windows=2)
COMMON = {
    "machine": {"cpu": "C", "cores_usable": 4, "memory_gib": 1, "gpu": "NVIDIA H200"},
    "software": {"torch": "2.11.0"},
    "date": "2026-11-21", "load": 0.0, "commit": "0123456789abcdef", "dirty": False,
    "data": {"name": "some", "images": 1, "mean_bytes": 1, "mean_pixels": 1},
}  # fmt: skip


@pytest.fixture
def own(folder, tmp_path):
    """A copy: the tables index it, and other tests count on one without."""
    return str(shutil.copytree(folder, tmp_path / "images"))


def variants(name, cores=(0, 1, 2, 3, 4, 5)):
    return dict(gpu_tables.specs(name, "/data", SETTINGS, cores))


def test_scaling_goes_from_one_core_to_all():
    assert [spec["workers"] for spec in variants("scaling").values()] == [1, 2, 4, 6]
    assert [spec["cores"] for spec in variants("scaling", (3, 5)).values()] == [[3], [3, 5]]
    assert {spec["device"] for spec in variants("scaling").values()} == {"cpu"}


@pytest.mark.parametrize("name", [name for name in gpu_tables.TABLES if name.startswith("train_")])
def test_training_has_synthetic_data_first_and_all_loaders(name):
    found = variants(name)
    assert next(iter(found)) == gpu_tables.SYNTHETIC
    assert set(found) == {gpu_tables.SYNTHETIC, *gpu_tables.PLACES, *gpu_peers.PEERS}
    assert {(spec["model"], spec["path"]) for spec in found.values()} == {
        tuple(name.split("_")[1:])
    }


def test_peers_and_rates_share_no_row_but_ours():
    assert set(variants("peers")) == set(gpu_peers.PEERS)
    assert set(variants("rates")) == set(gpu_tables.PLACES)
    assert list(variants("step")) == [gpu_tables.SYNTHETIC]
    assert [
        f"DALI, hardware decoder {share}" in gpu_peers.PEERS for share in ("0%", "65%", "100%")
    ] == [True] * 3


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ({"returncode": -11, "stdout": "", "stderr": ""}, "crashed with SIGSEGV"),
        (
            {"returncode": 1, "stdout": "", "stderr": "Traceback\nImportError: no kornia\n"},
            "ImportError: no kornia",
        ),
        ({"returncode": 3, "stdout": "", "stderr": ""}, "ended with 3"),
    ],
)
def test_a_variant_that_fails_is_a_row_that_says_so(monkeypatch, ended, reason):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(**ended))
    found = gpu_tables.child({"model": None})
    assert found == {"failed": reason}
    made = gpu_tables.as_row(
        "peers", "DALI", variants("peers")["PyTorch DataLoader"], found, Sample((1.0,)), COMMON
    )
    assert (made.variant, made.median, made.ratio) == (f"DALI: {reason}", 0.0, None)


def test_rows_say_what_is_left_out_of_the_peers_hot():
    names = {
        made: gpu_tables.as_row(
            made, "some", variants(made)[name], {"rates": [1.0, 2.0]}, None, COMMON
        ).variant
        for made, name in (
            ("peers", "PyTorch DataLoader"),
            ("train_resnet18_mild", "PyTorch DataLoader"),
            ("rates", "fastload, auto"),
        )
    }
    assert names == {
        "peers": "some, without ColOut and MixUp",
        "train_resnet18_mild": "some",
        "rates": "some",
    }


def test_our_hot_is_whole_and_gives_training_as_many_pixels(folder):
    spec = variants("rates")["fastload, auto"] | {
        "data": folder,
        "batch": 8,
        "size": 33,
        "workers": 0,
        "device": "cpu",
    }
    loader, batches = gpu_peers.fastload_batches(spec)
    images, labels = next(batches)
    assert (images.shape, labels.shape) == ((8, 3, 33, 33), (8, 1000))
    assert [
        name
        for name in ("size=(35, 35)", "ColOut(p_row=0.05, p_col=0.05", "MixUp")
        if name not in loader.explain()
    ] == []


def test_a_variant_that_hangs_is_ended(monkeypatch):
    def run(*_, timeout, **__):
        raise subprocess.TimeoutExpired("command", timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert gpu_tables.child({}, 7) == {"failed": "took more than 7 s"}


def test_rows_are_kept_one_by_one_and_compared_with_synthetic_data(monkeypatch, tmp_path, own):
    answers = iter(
        [
            {"rates": [1000.0, 1010.0]},
            {"rates": [500.0, 505.0], "cores_used": 3.5, "gpu_time_beside_training": 0.04},
            {"failed": "crashed"},
        ]
    )
    names = ["synthetic, on the GPU", "fastload, auto", "DALI"]
    spec = variants("train_resnet18_mild")[gpu_tables.SYNTHETIC]
    monkeypatch.setattr(gpu_tables, "specs", lambda *_: ((name, spec) for name in names))
    monkeypatch.setattr(gpu_tables, "child", lambda _: next(answers))
    said = []
    made = gpu_tables.run("train_resnet18_mild", own, "some", SETTINGS, tmp_path, said.append)
    assert [(one.variant, one.ratio) for one in made] == [
        (names[0], None),
        (names[1], 0.5),
        ("DALI: crashed", None),
    ]
    assert made[1].also == {"cores_used": 3.5, "gpu_time_beside_training": 0.04}
    assert row.read(tmp_path / "gpu.jsonl") == made
    assert said == [
        "synthetic, on the GPU: 1,005 images/s",
        "fastload, auto: 502 images/s",
        "DALI: crashed",
    ]
    assert "| fastload, auto | 502 | 500 to 505 | 0.50" in table.markdown(made)


def test_no_variant_begins_after_the_limit(monkeypatch, tmp_path, own):
    monkeypatch.setattr(gpu_tables, "child", lambda _: pytest.fail("begun"))
    said = []
    assert (
        gpu_tables.run("peers", own, "some", gpu_tables.Settings(limit=-1), tmp_path, said.append)
        == []
    )
    assert said[0] == "DALI, hardware decoder 0%: left out, -1 s are over"
    with pytest.raises(
        UsageError, match=r"^on_gpu: table is 'peer', want one of scaling, rates, peers, "
    ):
        gpu_tables.run("peer", own, "some", SETTINGS, tmp_path)


def test_the_child_measures_the_cpus_loader(folder):
    spec = variants("scaling", (0,))["fastload, 1 threads"] | {
        "data": folder,
        "batch": 8,
        "size": 32,
        "workers": 1,
    }
    found = gpu_child.measure(spec)
    assert len(found["rates"]) == 2
    assert min(found["rates"]) > 0
    assert found["cores_used"] >= 0  # the clock of processes ticks in 10 ms
    json.dumps(found)


def test_a_measured_rate_is_what_the_table_of_rates_takes(monkeypatch, tmp_path):
    made = gpu_tables.as_row(
        "step",
        gpu_tables.SYNTHETIC,
        variants("step")[gpu_tables.SYNTHETIC],
        {"rates": [6000.4, 6100.0, 6200.0]},
        None,
        COMMON,
    )
    path = tmp_path / "rates.toml"
    path.write_text(gpu_tables.rates_toml(made))
    monkeypatch.setattr(rates, "PATH", str(path))
    found = rates.rate("h200")
    assert (found.gpu, found.images_per_s, found.low, found.high) == ("H200", 6100, 6000, 6200)
    assert found.measured == "by fastload on 2026-11-21, on synthetic data"
    assert list(read_toml(str(path))) == ["h200"]
    assert facts.common().keys() <= COMMON.keys() | {"data"}
