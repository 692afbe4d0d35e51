"""What is said where there is no GPU, no kernels, or nonsense in the arguments. Runs anywhere."""

import numpy as np
import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T


def test_versions_tell_whether_kernels_are_built():
    assert (_native.versions()["cuda"] == "none") is not _native.cuda_built


def test_a_loader_for_a_missing_gpu_says_so(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    dataset = fastload.open(folder, [T.RandomResizedCrop(32), T.ToImage()])
    with pytest.raises(
        fastload.DeviceError, match=r"^DataLoader: device='cuda', but .*; .*, or leave device out$"
    ):
        fastload.DataLoader(dataset, batch_size=4, device="cuda")


def test_what_is_not_native_cannot_go_to_the_gpu(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(_native, "cuda_built", True)
    dataset = fastload.open(folder, [T.CenterCrop(40), T.RandomResizedCrop(32), T.ToImage()])
    with pytest.raises(
        fastload.BackendError,
        match=r"backend native cannot run this plan: op 2 .RandomResizedCrop. resizes after",
    ):
        fastload.DataLoader(dataset, batch_size=4, device="cuda")


def launch(images=0, data=0, out=1 << 20, workspace=0):
    """As above: what is wrong is found before a pointer is followed."""
    made = _native.DevicePrograms(_native.Programs(np.zeros((3, 2, 13))), 5, 7)
    made.launch(images, data, out, workspace, 0)


@pytest.mark.skipif(_native.cuda_built, reason="this build has CUDA kernels")
def test_programs_say_that_kernels_are_missing():
    for call, name in (
        (launch, "launch"),
        (
            _native.DevicePrograms(_native.Programs(np.zeros((3, 2, 13))), 5, 7).workspace,
            "workspace",
        ),
    ):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert (
            str(caught.value)
            == f"DevicePrograms.{name}: this build has no CUDA kernels; build with "
            "-DFASTLOAD_CUDA=ON"
        )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"images": 0, "out": 3 * 5 * 7 * 3 - 1},
            (
                "out (got memory of the images, want memory of its own: threads read what others "
                "write)"
            ),
        ),
        (
            {"images": 64, "out": 0},
            (
                "out (got memory of the images, want memory of its own: threads read what others "
                "write)"
            ),
        ),
        ({"data": 8}, "data (got an address at 8 beyond a multiple of 16, want a multiple)"),
        (
            {"workspace": 1},
            "workspace (got an address at 1 beyond a multiple of 16, want a multiple)",
        ),
    ],
)
def test_launches_that_cannot_work_are_refused(arguments, text):
    with pytest.raises(ValueError) as caught:
        launch(**arguments)
    assert str(caught.value) == f"DevicePrograms.launch: {text}"


@pytest.mark.parametrize(
    ("programs", "size", "text"),
    [
        (
            np.full((2, 1, 13), 99.0),
            (5, 7),
            "DevicePrograms: programs[0][0]: code (got 99, want a whole number, 0..25)",
        ),
        (
            np.zeros((2, 1, 12)),
            (5, 7),
            "DevicePrograms: programs: shape (got [2, 1, 12], want [any, any, 13])",
        ),
        (
            np.zeros((2, 1, 13), np.float32),
            (5, 7),
            "DevicePrograms: programs: dtype (got float32, want float64)",
        ),
        (np.zeros((2, 1, 13)), (0, 7), "DevicePrograms: size (got 0x7, want 1..178956970 px)"),
        (
            np.zeros((2, 1, 13)),
            (5, 40_000),
            "DevicePrograms: programs[0]: image (got 5x40000, want at most 32767 px a side)",
        ),
    ],
)
def test_programs_that_cannot_run_are_refused(programs, size, text):
    with pytest.raises(ValueError) as caught:
        _native.DevicePrograms(_native.Programs(programs), *size)
    assert str(caught.value) == text
