"""What `fastload doctor` says of GPUs that the host plays."""

import json
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from fastload import _native
from fastload.cli import build, gpus
from fastload.system import devices

MODULE = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
    "2023\nGCC version:\n"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
    "(dvs-builder@U22)\n"
)


@pytest.fixture
def machine(gpu, monkeypatch, tmp_path):
    """Two GPUs, a driver, and a build for CUDA 13."""
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "version")
    gpus.DRIVER.write_text(OPEN)
    monkeypatch.setattr(
        torch.cuda,
        "get_device_properties",
        lambda number: SimpleNamespace(total_memory=(number + 1) << 34),
    )
    monkeypatch.setattr(torch._C, "_cuda_getDriverVersion", lambda: 13010, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    versions = _native.versions() | {"cuda": "13.0.88"}
    monkeypatch.setattr(_native, "versions", lambda: versions)
    return gpu


def said(*arguments):
    done = CliRunner().invoke(build(), ["doctor", *arguments], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_each_gpu_the_driver_and_the_kernels_are_named(machine):
    lines = {line[:12].strip(): line[13:] for line in said().splitlines() if line}
    assert lines["torch"].endswith("built for CUDA 13.0; 2 GPUs seen")
    assert (
        lines["gpu 0"] == "Fake 9000, compute capability 9.0, 16 GiB; fastload's kernels run on it"
    )
    assert (
        lines["gpu 1"] == "Fake 9000, compute capability 9.0, 32 GiB; fastload's kernels run on it"
    )
    assert lines["driver"] == "580.65.06, for CUDA up to 13.1"
    assert lines[""] == "CUDA kernels: built with 13.0.88"  # the last of them


def test_the_json_has_the_same(machine):
    found = json.loads(said("--json", "-"))
    assert found["torch"]["gpus"][1] == {
        "name": "Fake 9000",
        "capability": [9, 0],
        "memory": 2 << 34,
    }
    assert (found["torch"]["driver"], found["torch"]["driver_cuda"]) == ("580.65.06", "13.1")
    assert found["native"]["architectures"] == [75, 80, 90]


def test_a_gpu_that_is_too_old_and_an_old_driver_are_warned_of(machine, monkeypatch):
    machine.capability = (7, 0)
    monkeypatch.setattr(torch._C, "_cuda_getDriverVersion", lambda: 12080, raising=False)
    text = said()
    assert "Fake 9000, compute capability 7.0, 16 GiB; fastload's kernels do not run on it" in text
    build = "build with -DCMAKE_CUDA_ARCHITECTURES=70"
    want = f"compute capability 7.0, fastload's kernels want 7.5, 8.0, 9.0 or newer; {build}"
    assert f"warning: GPU 1 (Fake 9000): {want}" in text
    assert (
        "warning: NVIDIA driver: knows CUDA up to 12.8, fastload's kernels are built with 13.0.88; "
        "update the driver" in text
    )


def test_a_driver_that_torch_finds_too_old(machine, monkeypatch):
    def init():
        raise RuntimeError(
            "The NVIDIA driver on your system is too old (found version 11040). Please update"
        )

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)
    why = (
        "the NVIDIA driver is too old (got one for CUDA 11.4, want 13.0 for this torch); update "
        "the driver"
    )
    assert devices.why_none() == why
    assert f"warning: GPU: {why}" in said()


def test_a_gpu_that_does_not_answer(machine, monkeypatch):
    def fail(number):
        raise RuntimeError("CUDA error: unknown error\nmore")

    monkeypatch.setattr(torch.cuda, "get_device_properties", fail)
    assert (
        "warning: GPU: torch cannot ask it (CUDA error: unknown error); look at nvidia-smi"
        in said()
    )


@pytest.mark.parametrize(
    ("text", "version"), [(MODULE, "535.104.05"), (OPEN, "580.65.06"), ("", None), ("Module", None)]
)
def test_the_drivers_version(text, version, monkeypatch, tmp_path):
    monkeypatch.setattr(gpus, "DRIVER", tmp_path / "version")
    assert gpus.driver() is None
    gpus.DRIVER.write_text(text)
    assert gpus.driver() == version
