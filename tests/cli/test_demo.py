"""demo: the whole of it once with few pictures, and what it says about winning and losing."""

import json
import sys

import pytest

from fastload.cli import demo, demo_text
from fastload.errors import UsageError

SHORT = (
    "from fastload import cli; from fastload.cli import demo; demo.PROFILE_SECONDS = 2.0; "
    "cli.main()"
)


@pytest.mark.long
def test_the_whole_demo(command, tmp_path):
    pytest.importorskip("torchvision")
    pytest.importorskip("pyarrow")
    done = command("-c", SHORT, "demo", "--images", "40", "--workers", "1", "--json", "demo.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "demo.json").read_text())
    assert [row["variant"] for row in found["loading_img_per_s"]] == [
        demo_text.TORCH,
        demo_text.FOLDER,
        demo_text.SHARDS,
    ]
    assert all(min(row["first"], row["second"]) > 0 for row in found["loading_img_per_s"])
    assert found["profile"]["setting"]["recipe"] == "hot"
    assert found["verdict"] in done.stdout
    assert all(
        name in done.stdout
        for name in (demo_text.TORCH, demo_text.FOLDER, demo_text.SHARDS, "VERDICT", "EMULATED")
    )
    assert len(list((tmp_path / "cache" / "fastload" / "demo" / "images-40").rglob("*.JPEG"))) == 40


def test_without_pyarrow_nothing_is_converted(tmp_path, monkeypatch):
    said = []
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert demo._convert(tmp_path, tmp_path / "out", 1, said.append) is None
    install = 'pip install "fastload-torch[convert]"'
    assert said == [f"Converted  nothing, since pyarrow is not installed; {install}\n"]
    assert not (tmp_path / "out").exists()
    assert demo._load_shards(None, 1, 1, 1) == []
    rows = [demo_text.Loading(demo_text.TORCH, 1, 100.0)]
    assert demo_text.speed_ratio(rows, demo_text.SHARDS) is None


def test_an_unknown_gpu_is_refused_before_any_work(command, tmp_path):
    done = command("-m", "fastload", "demo", "--assume", "abacus")
    assert (done.returncode, done.stdout) == (2, "")
    assert "abacus" in done.stderr
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("torch", "ours", "text"),
    [
        (
            100.0,
            210.0,
            (
                "fastload loads 2.1 times as fast as PyTorch's DataLoader here (210 against 100 "
                "images/s, the same folder)."
            ),
        ),
        (
            100.0,
            101.0,
            (
                "fastload is no faster than PyTorch's DataLoader here (101 against 100 images/s, "
                "the same folder)."
            ),
        ),
        (
            100.0,
            50.0,
            (
                "fastload is slower than PyTorch's DataLoader here (50 against 100 images/s, the "
                "same folder)."
            ),
        ),
    ],
)
def test_the_verdict_calls_a_loss_a_loss(torch, ours, text):
    assert (
        demo_text.verdict(
            [
                demo_text.Loading(demo_text.TORCH, 1, torch),
                demo_text.Loading(demo_text.FOLDER, 1, ours),
            ]
        )
        == text
    )


def test_without_torchvision_there_is_no_ratio():
    found = [demo_text.Loading(demo_text.FOLDER, 1, 321.0)]
    assert (
        demo_text.verdict(found)
        == "fastload loads 321 images/s here; install torchvision to compare it with PyTorch."
    )


@pytest.mark.parametrize(
    ("count", "workers", "batch"), [(2000, 2, 64), (300, 2, 18), (40, 1, 5), (20, 64, 1)]
)
def test_every_worker_of_pytorch_gets_several_batches(count, workers, batch):
    assert demo.batch_size(count, workers) == batch


def test_without_a_home_it_asks_for_a_folder(monkeypatch):
    def unknown(uid):
        raise KeyError(uid)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(UsageError) as caught:
        demo.cache_folder()
    assert str(caught.value) == (
        "demo: this user has no home folder to keep pictures in; give a folder with --output"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert str(demo.cache_folder()) == "/x/fastload/demo"
