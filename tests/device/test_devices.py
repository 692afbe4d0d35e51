"""What is said where a GPU cannot be used: one line each. No test here touches one."""

import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T
from fastload.system import devices


def make(folder, device="cuda", **more):
    return fastload.DataLoader(
        fastload.open(folder, [T.RandomResizedCrop(32), T.ToImage()]),
        batch_size=4,
        device=device,
        **more,
    )


def said(folder, device="cuda", kind=fastload.DeviceError):
    with pytest.raises(kind) as caught:
        iter(make(folder, device))
    return str(caught.value)


@pytest.mark.parametrize(
    "device", ["gpu", "cuda:", "cuda:-1", "cuda:1234", "cudax", 0, torch.device("mps"), "cuda:0\n"]
)
def test_what_is_no_device_is_refused(folder, device):
    want = f"DataLoader: device is {device!r}, want None, 'cpu', 'cuda' or 'cuda:0', 'cuda:1', …"
    assert said(folder, device, fastload.UsageError) == want


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            "Found no NVIDIA driver on your system. Please check …",
            "there is no NVIDIA driver; install one, or leave device out",
        ),
        (
            "The NVIDIA driver on your system is too old (found version 11040). Please update …",
            (
                "the NVIDIA driver is too old (got one for CUDA 11.4, want 13.0 for this torch); "
                "update the driver, or leave device out"
            ),
        ),
        (
            "No CUDA GPUs are available",
            "torch sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or leave device out",
        ),
        (
            None,
            "torch sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or leave device out",
        ),
    ],
)
def test_a_loader_for_a_missing_gpu_says_why(folder, gpu, monkeypatch, error, text):
    def init():
        if error:
            raise RuntimeError(error)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert said(folder) == f"DataLoader: device='cuda', but {text}"


def test_a_torch_without_cuda_says_so(folder, gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    want = (
        f"DataLoader: device='cuda', but torch {torch.__version__} is built without CUDA; "
        "install a build with it, or leave device out"
    )
    assert said(folder) == want


def test_a_gpu_that_is_not_there(folder, gpu, monkeypatch):
    text = (
        "DataLoader: device='cuda:2', but torch sees 2 GPUs (want 'cuda:0' to 'cuda:1'); "
        "choose one, or leave device out"
    )
    assert said(folder, torch.device("cuda:2")) == text
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    text = (
        "DataLoader: device='cuda:1', but torch sees 1 GPU (want 'cuda:0'); choose one, or "
        "leave device out"
    )
    assert said(folder, "cuda:1") == text


def test_a_build_without_kernels_says_how_to_get_them(folder, gpu, monkeypatch):
    monkeypatch.setattr(_native, "cuda_built", False)
    want = (
        "DataLoader: device='cuda', but fastload was built without CUDA kernels; build it "
        "where nvcc is, or leave device out"
    )
    assert said(folder) == want


def test_a_gpu_that_is_too_old_says_how_to_build(folder, gpu):
    gpu.capability, gpu.name = (7, 0), "Tesla V100"
    assert said(folder, "cuda:1") == (
        "DataLoader: GPU 1 (Tesla V100) cannot run fastload's kernels (got compute capability 7.0, "
        "want one of 7.5, 8.0, 9.0 or newer); "
        "build with -DCMAKE_CUDA_ARCHITECTURES=70, or leave device out"
    )


@pytest.mark.parametrize(
    ("capability", "built", "runs"),
    [
        ((9, 0), (75, 80, 90), True), ((12, 0), (75, 80, 90), True), ((8, 9), (75, 80, 90), True),
        ((7, 0), (75, 80, 90), False),
        ((8, 0), (90,), False), ((8, 0), (86, 90), False), ((7, 5), (75,), True),
        ((6, 1), (), False), ((9, 0), (), False),
    ],
)  # fmt: skip
def test_which_gpus_kernels_run_on(capability, built, runs):
    assert devices.runs_on(capability, built) == runs


def test_a_forked_process_is_told_before_cuda_is(folder, gpu, monkeypatch):
    made = make(folder)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    text = (
        "DataLoader: device='cuda', but this process was forked after its parent had begun to use "
        "CUDA; "
        "start it with multiprocessing.get_context('spawn'), or leave device out"
    )
    assert said(folder) == text
    with pytest.raises(fastload.DeviceError) as caught:
        iter(made)
    assert str(caught.value) == text


def test_an_engine_of_the_parent_is_not_used_in_a_fork(folder, gpu, monkeypatch):
    made = make(folder)
    list(made)
    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: True)
    with pytest.raises(fastload.DeviceError, match="was forked after its parent"):
        iter(made)


def test_the_import_leaves_cuda_alone(program):
    """In the process that `program` forks from, fastload was imported, and nothing else was run."""
    code = (
        "import fastload, torch, fastload.engine.streams; assert not "
        "torch.cuda.is_initialized(); assert not torch.cuda._is_in_bad_fork()"
    )
    done = program("-c", code)
    assert done.returncode == 0, done.stderr


def test_capture_modes_are_cudas(monkeypatch):
    with pytest.raises(
        ValueError, match=r"^exchange_capture_mode: mode \(got 3, want 0, 1 or 2\)$"
    ):
        _native.exchange_capture_mode(3)
    if not _native.cuda_built:
        assert [_native.exchange_capture_mode(mode) for mode in range(3)] == [0, 1, 2]
        assert _native.cuda_architectures == ()
