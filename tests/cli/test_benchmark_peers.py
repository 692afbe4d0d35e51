"""The comparison with every peer: what happens to one that fails, what rows compare, and the crops
of peers that have no such op.
"""

import argparse
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from fastload.errors import UsageError

catalogue = pytest.importorskip("benchmarks.peers.catalogue")  # not in an installed package
child = pytest.importorskip("benchmarks.peers.child")
cli = pytest.importorskip("benchmarks.peers.cli")
data = pytest.importorskip("benchmarks.peers.data")
draws = pytest.importorskip("benchmarks.peers.draws")
process = pytest.importorskip("benchmarks.peers.process")
rows = pytest.importorskip("benchmarks.peers.rows")
run = pytest.importorskip("benchmarks.peers.run")
setup = pytest.importorskip("benchmarks.peers.setup")
table = pytest.importorskip("benchmarks.report.table")

PILLOW = {"name": "Pillow", "version": "13", "libjpeg_turbo": "3"}
COMMON = {
    "machine": {"cpu": "A CPU", "cores_usable": 2, "gpu": None}, "commit": "1a2b", "dirty": False,
    "date": "2026-01-01", "load": 0.1,
    "software": {"torch": "2.11.0", "torchvision": "0.26.0", "pillow": PILLOW},
}  # fmt: skip
TORCH, FFCV, SPDL, OURS, SHARDS = (
    next(peer for peer in catalogue.PEERS if peer.name == name)
    for name in ("torch", "ffcv", "spdl", "fastload", "shards")
)


def case(**more):
    made = {"table": "", "pipeline": cli.PLAIN, "cores": 1, "data": {}, "images": 100, "facts": {}}
    return run.Case(**made | more)


def epochs(*rates):
    made = [
        {"images": 100, "seconds": 100 / rate, "cpu_seconds": 0.25, "first_seconds": 0.5}
        for rate in rates
    ]
    return run.Outcome(
        made[0] | {"memory_mib": 300.0, "start_seconds": 4.0, "versions": {"ffcv": "1.0.2"}}, made
    )


def test_rows_compare_with_pytorch_and_say_how_many_times_fastload_is():
    broken = run.Outcome(why="ImportError: libavdevice.so | missing")
    found = {
        "torch": epochs(100, 100),
        "ffcv": epochs(200, 200),
        "spdl": broken,
        "fastload": epochs(800, 800),
        "shards": epochs(900, 900),
    }
    made = rows.rows(case(), [TORCH, FFCV, SPDL, OURS, SHARDS], found, COMMON)
    main, costs = table.row.tables(made).values()
    assert [(r.variant, r.median, r.ratio, r.also.get("folder is times as fast"),
        r.also.get("shards")) for r in main] == [
        ("PyTorch, torchvision, Pillow", 100, None, 8, 9), ("FFCV", 200, 2, 4, 4.5), ("SPDL", 0,
        None, None, None),
        ("fastload, folder", 800, 8, None, None), ("fastload, shards", 900, 9, None, None),
    ]  # fmt: skip
    kept = [(r.median, r.also.get("MiB"), r.repetitions) for r in costs]
    assert kept == [(2.5, 300, 2), (2.5, 300, 2), (0, None, 0), (2.5, 300, 2), (2.5, 300, 2)]
    text = table.markdown(main)
    assert (
        "| FFCV | 200 | 200 to 200 | 2.00 (2.00 to 2.00) | 4 (4 to 4) | 4.5 (4.5 to 4.5) | ffcv "
        "1.0.2; jpg mode, original bytes" in text
    )
    assert (
        r"| SPDL | none |  |  |  |  | FAILED: ImportError: libavdevice.so \| missing; threads;"
        in text
    )
    assert json.loads(table.row.line(main[2]))["note"].startswith("FAILED: ImportError")


def test_a_peer_that_failed_midway_has_no_number():
    found = {
        "torch": epochs(100, 100),
        "ffcv": run.Outcome(epochs(200).first, epochs(200).epochs, "Segmentation fault"),
    }
    made = rows.rows(case(), [TORCH, FFCV], found, COMMON)
    assert [(r.variant, r.repetitions) for r in made] == [
        ("PyTorch, torchvision, Pillow", 2),
        ("FFCV", 0),
    ] * 2


@pytest.mark.parametrize("failing", ["absent", "hangs", "wrong count"])
def test_the_others_go_on(failing, monkeypatch, tmp_path):
    class Process:
        def __init__(self, spec, python, cache):
            self.name = spec["peer"]

        def epoch(self):
            if self.name == "ffcv" and failing != "wrong count":
                raise process.PeerError(failing)
            return {
                "images": 100 if self.name == "torch" else 37,
                "seconds": 1.0,
                "cpu_seconds": 1.0,
                "first_seconds": 0.1,
            }

        def close(self):
            closed.append(self.name)

    closed, done = [], []
    monkeypatch.setattr(run, "Process", Process)
    asked = case(data={"torch": "here", "ffcv": "here", "fastload": "here"}, batch_size=8)
    pythons = dict.fromkeys(asked.data, "python")
    found = run.measure(
        asked,
        [TORCH, FFCV, OURS],
        pythons,
        {"fastload": "not built"},
        tmp_path,
        2,
        lambda: done.append(1),
    )
    assert len(found["torch"].epochs) == 2
    assert found["ffcv"].why == {"wrong count": "37 images in an epoch (want 100)"}.get(
        failing, failing
    )
    assert (found["ffcv"].epochs, found["fastload"].why) == ([], "not built")
    assert sorted(closed) == ["ffcv", "torch"]
    assert len(done) == 9


def spec(module, **more):
    asked = case(data={"torch": "nowhere"})
    return (
        run.spec(asked, TORCH, [0])
        | {"module": module, "cores": [min(child.os.sched_getaffinity(0))]}
        | more
    )


def test_the_last_line_of_a_crash_is_kept(tmp_path):
    peer = process.Process(spec("no_such_peer"), sys.executable, str(tmp_path))
    with pytest.raises(process.PeerError) as caught:
        peer.epoch()
    assert (
        str(caught.value) == "ModuleNotFoundError: No module named 'benchmarks.peers.no_such_peer'"
    )
    peer.close()


def test_a_peer_that_hangs_is_ended(tmp_path):
    peer = process.Process(spec("torches"), "sleep", str(tmp_path), limit=0.2)
    peer.process = subprocess.Popen(
        ["sleep", "100"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    with pytest.raises(process.PeerError, match=r"^no epoch within 0\.2 s$"):
        peer.epoch()
    peer.close()
    assert peer.process.returncode == -9


def test_a_batch_of_another_kind_is_refused():
    child.check(np.zeros((4, 3, 24, 24), np.uint8), 24)
    child.check(np.zeros((4, 24, 24, 3), np.uint8), 24)
    with pytest.raises(
        ValueError,
        match=r"^a batch of float32 \[4, 3, 24, 24\] \(want uint8 \[N, 3, 24, 24\] or \[N, 24, 24, "
        r"3\]\)$",
    ):
        child.check(np.zeros((4, 3, 24, 24), np.float32), 24)
    with pytest.raises(ValueError, match=r"^a batch of uint8 \[4, 3, 24, 25\]"):
        child.check(np.zeros((4, 3, 24, 25), np.uint8), 24)


@pytest.mark.long
def test_an_environment_sees_its_own_packages_first_and_then_the_main_ones(tmp_path):
    wheel = tmp_path / "tiny_peer-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("PIL.py", "mine = True\n")
        out.writestr(
            "tiny_peer-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-peer\nVersion: 1.0\n",
        )
        out.writestr(
            "tiny_peer-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        out.writestr("tiny_peer-1.0.dist-info/RECORD", "")
    good = catalogue.Peer("good", "Good", "torches", "", packages=(str(wheel),))
    bad = catalogue.Peer(
        "bad", "Bad", "torches", "", packages=(str(tmp_path / "none.whl"),), debian=("libnone-dev",)
    )
    said = []
    failed = setup.set_up([TORCH, good, bad], tmp_path / "peers", said.append)
    assert list(failed) == ["bad"]
    assert failed["bad"].endswith("; Debian: apt-get install libnone-dev")
    assert [path.name for path in (tmp_path / "peers").iterdir()] == ["good"]
    python = setup.python_of(good, tmp_path / "peers")
    seen = [python, "-c", "import PIL, numpy; print(PIL.mine, numpy.__version__)"]
    assert (
        subprocess.run(seen, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        == f"True {np.__version__}\n"
    )
    assert (
        setup.python_of(TORCH, tmp_path / "peers")
        == setup.python_of(bad, tmp_path / "peers")
        == sys.executable
    )


def test_layers_have_rows_where_images_are_jpegs():
    layers = catalogue.chosen(["layers"])[0]
    tables = ("", "cold", "png", "webp", "large")
    assert [name for name in tables if cli.suits(layers, name)] == ["", "cold", "large"]
    assert cli.suits(TORCH, "png")


def test_what_cannot_be_measured_is_said_at_once():
    with pytest.raises(
        UsageError,
        match=r"^--only: dalli \(want torch, pillow_simd, .*, shards, layers\); choose of these$",
    ):
        catalogue.chosen(["dalli", "torch"])
    with pytest.raises(
        UsageError,
        match=r"^--cores: 0 \(want 1 to \d+, the cores that this process may use\); each worker "
        r"has its core$",
    ):
        cli.check(argparse.Namespace(cores=[0], repetitions=1))
    with pytest.raises(
        UsageError, match=r"^--repetitions: 0 \(want 1 or more\); 5 or more give a useful interval$"
    ):
        cli.check(argparse.Namespace(cores=[1], repetitions=0))


@pytest.mark.long
def test_one_real_run(command, folder, tmp_path):
    pytest.importorskip("torchvision")
    arguments = [
        "peers",
        "--only",
        "torch",
        "pillow_simd",
        "fastload",
        "--tables",
        "png",
        "--repetitions",
        "1",
    ]
    places = [
        "--data",
        folder,
        "--name",
        "few",
        "--environments",
        str(tmp_path / "none"),
        "--results",
        str(tmp_path),
    ]
    done = command("-m", "benchmarks", *arguments, *places, "--json")
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == 3
    assert (tmp_path / "peers_png.jsonl").read_text() == done.stdout
    for r in made:
        failed = "Pillow-SIMD" in r["variant"]
        assert (r["median"] > 0, r["repetitions"]) == ((False, 0) if failed else (True, 1))
        assert (
            "is not what pillow_simd is measured with; run with --setup; " in r["note"]
        ) == failed
