"""doctor: what it finds, what it warns of, and that it fails only for fastload's own sake."""

import copy
import importlib.metadata
import json
import resource
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from fastload.cli import build, doctor
from fastload.system import machine
from tests.conftest import TREE

H200 = {"name": "NVIDIA H200", "capability": [9, 0], "memory": 150_000_000_000}
TOO_OLD = (
    "compute capability 7.0, fastload's kernels want 7.5, 8.0, 9.0 or newer; build with "
    "-DCMAKE_CUDA_ARCHITECTURES=70"
)
V100 = {"name": "Tesla V100", "capability": [7, 0], "memory": 16 << 30}
GOOD = {
    "system": {
        "cores": {"usable": 8, "affinity": 8, "online": 8, "quota": None},
        "shm": {"total": 8 << 30, "free": 8 << 30},
        "open_files": {"soft": 65536, "hard": 65536},
    },
    "torch": {
        "version": "2.11.0",
        "cuda": "13.0",
        "gpus": [H200],
        "error": None,
        "driver": "580.65.06",
        "driver_cuda": "13.0",
    },
    "native": {
        "ok": True,
        "cuda_built": True,
        "architectures": [75, 80, 90],
        "versions": {"cuda": "13.0.88"},
    },
    "nvimagecodec": "0.8.0.22",
    "pillow": {"name": "Pillow", "version": "12.2.0", "simd": False, "libjpeg_turbo": "3.1.3"},
    "optional": {"timm": {"for": "recipes", "version": "1.0.31", "install": ""}},
    "backends": {},
    "extensions": [],
}
WHOLE = "on the GPU, backend dali decodes whole images, and dali-own refuses"


def run(*arguments):
    return CliRunner().invoke(build(), ["doctor", *arguments])


def changed(**parts):
    found = copy.deepcopy(GOOD)
    for name, values in parts.items():
        (found["system"] if name in found["system"] else found)[name] = values
    return found


def test_text_names_what_matters():
    done = run()
    assert done.exit_code == 0, done.output
    lines = {line[:12].strip(): line[13:] for line in done.stdout.splitlines() if line}
    assert {
        "system",
        "cpu",
        "memory",
        "/dev/shm",
        "open files",
        "python",
        "torch",
        "pillow",
        "native",
        "dali",
    } <= set(lines)
    assert lines["pillow"].startswith("Pillow ")
    assert 'pip install "fastload-torch[dali]"' in lines["dali"] or lines["dali"][0].isdigit()


def test_json_is_one_document_and_agrees_with_the_modules():
    done = run("--json", "-")
    found = json.loads(done.stdout)
    assert found["native"]["ok"]
    assert set(found["native"]["versions"]) >= {
        "compiler",
        "libjpeg-turbo",
        "highway",
        "xxhash",
        "libdeflate",
        "libwebp",
        "cuda",
    }
    assert found["system"]["cores"]["usable"] >= 1
    assert set(found["optional"]) == set(doctor.OPTIONAL)


def test_a_broken_native_module_is_exit_1(monkeypatch):
    app = build()
    monkeypatch.setitem(sys.modules, "fastload._native", None)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "fastload is broken: its native module cannot be loaded" in done.stdout


def test_a_good_machine_gets_no_warning():
    assert doctor.warnings_about(GOOD) == []
    without_gpu = {
        "torch": GOOD["torch"] | {"cuda": None, "gpus": [], "driver": None, "driver_cuda": None},
        "nvimagecodec": "0.9.0.20",
    }
    assert doctor.warnings_about(changed(**without_gpu)) == []
    assert doctor.warnings_about(changed(nvimagecodec=None)) == []


def test_what_the_readme_installs_works_together():
    """README's lines take tests/constraints.txt."""
    pins = (TREE / "tests" / "constraints.txt").read_text().splitlines()
    assert f"pillow<{doctor.REFUSES_NO_BITS}" in pins
    newest = f"{doctor.REFUSES_NO_BITS - 1}.3.0"
    assert doctor.warnings_about(changed(pillow={"version": newest, "simd": False})) == []


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (
            {"pillow": {"version": "13.0.0", "simd": False}},
            (
                "timm 1.0.31 with Pillow 13.0.0: timm's Posterize may keep 0 bits, which Pillow 13 "
                'refuses in the middle of an epoch; pip install "pillow<13"'
            ),
        ),
        (
            {"cores": {"usable": 2, "affinity": 8, "online": 8, "quota": 1.5}},
            "CPU quota: 1.5 cores of the 8 that programs see; use 2 workers or raise it",
        ),
        (
            {"shm": {"total": 64 << 20, "free": 0}},
            (
                "/dev/shm: 64 MiB, want 1 GiB for PyTorch's workers; docker run --shm-size=8g "
                "(fastload needs none)"
            ),
        ),
        (
            {"nvimagecodec": "0.9.0.20"},
            (
                f"nvImageCodec: 0.9.0.20 fails on parts of JPEGs: {WHOLE}; pip install "
                "'nvidia-dali-cuda130==2.2.*' brings 0.8"
            ),
        ),
        (
            {"shm": None},
            (
                "/dev/shm: missing, want 1 GiB for PyTorch's workers; docker run --shm-size=8g "
                "(fastload needs none)"
            ),
        ),
        (
            {"open_files": {"soft": 1024, "hard": 1048576}},
            "open files: limit is 1024, want 4096; ulimit -n 65536",
        ),
        (
            {"open_files": {"soft": 1024, "hard": resource.RLIM_INFINITY}},
            "open files: limit is 1024, want 4096; ulimit -n 65536",
        ),
        (
            {"backends": {"ffcv": f"ffcv is 0.0.3, want 1.0.2; {machine.INSTALL_FFCV}"}},
            f"backend ffcv: ffcv is 0.0.3, want 1.0.2; {machine.INSTALL_FFCV}",
        ),
        (
            {"torch": GOOD["torch"] | {"gpus": [H200, V100]}},
            f"GPU 1 (Tesla V100): {TOO_OLD}",
        ),
        (
            {"torch": GOOD["torch"] | {"driver_cuda": "12.8"}},
            (
                "NVIDIA driver: knows CUDA up to 12.8, fastload's kernels are built with 13.0.88; "
                "update the driver"
            ),
        ),
        (
            {
                "torch": GOOD["torch"]
                | {"gpus": [], "error": "CUDA error: uncorrectable ECC error encountered"}
            },
            (
                "GPU: torch cannot ask it (CUDA error: uncorrectable ECC error encountered); look "
                "at nvidia-smi"
            ),
        ),
        (
            {"native": {"ok": True, "cuda_built": False}},
            (
                "CUDA kernels: not built, but there is a GPU; install with nvcc on PATH for "
                'DataLoader(device="cuda")'
            ),
        ),
    ],
)
def test_each_warning_says_what_to_do(parts, text):
    assert doctor.warnings_about(changed(**parts)) == [text]


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        ("0::/a/b\n", {"a/b/cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "400000 100000\n"}, 4.0),
        ("0::/a/b\n", {"a/b/cpu.max": "200000 100000\n", "a/cpu.max": "100000 100000\n"}, 1.0),
        (
            "0::/gone\n",
            {"cpu.max": "300000 100000\n"},
            3.0,
        ),  # in a container the group's folder is the root
        (
            "4:cpu,cpuacct:/x\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "50000\n",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        ("4:cpu:/x\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ("", {}, None),
    ],
)
def test_the_cpu_quota_is_the_least_on_the_way_up(tmp_path, membership, files, quota):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "self").write_text(membership)
    assert machine.cpu_quota(str(tmp_path), str(tmp_path / "self")) == quota


def test_the_memory_limit_knows_both_versions(tmp_path):
    (tmp_path / "self").write_text("0::/v2\n5:memory:/v1\n")
    for name, text in {
        "v2/memory.max": "max",
        "memory/v1/memory.limit_in_bytes": "1073741824\n",
        "memory/memory.limit_in_bytes": f"{2**63}",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert machine.memory_limit(str(tmp_path), str(tmp_path / "self")) == 1 << 30


def test_a_backend_whose_library_is_there_and_does_not_work(monkeypatch, tmp_path):
    """Another version; without numba; without the libraries that ffcv was built with; and a DALI
    that is too old.
    """
    installed = {"ffcv": "0.0.3", "numba": "0.65", "nvidia-dali-cuda130": "1.44.0"}

    def version(name):
        try:
            return installed[name]
        except KeyError:
            raise importlib.metadata.PackageNotFoundError(name) from None

    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: spec)
    dali = 'NVIDIA DALI is 1.44.0, want 2.2 or newer; pip install "fastload-torch[dali]"'
    assert doctor.backend_problems() == {
        "ffcv": f"ffcv is 0.0.3, want 1.0.2; {machine.INSTALL_FFCV}",
        "dali": dali,
    }
    installed["ffcv"] = machine.FFCV
    del installed["numba"], installed["nvidia-dali-cuda130"]
    assert doctor.backend_problems() == {"ffcv": f"numba is not installed; {machine.INSTALL_FFCV}"}
    installed["numba"] = "0.65"
    assert doctor.backend_problems() == {}
    library = tmp_path / "_libffcv.cpython-311.so"
    library.write_bytes(b"no library")
    why = f"ffcv is installed and its library cannot be loaded ({library}: file too short)"
    assert doctor.backend_problems() == {"ffcv": f"{why}; {machine.INSTALL_FFCV}"}
