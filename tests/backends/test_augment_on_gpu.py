"""augment="gpu": what the host leaves to the device is the rest of the batch, and what cannot go
there is refused. Needs no GPU.
"""

import numpy as np
import pytest
import torch

import fastload
from fastload import _native
from fastload import transforms as T
from fastload.backends.native import cuda
from fastload.backends.native import runner as native
from fastload.plan.plan import plan
from fastload.sources import collect
from fastload.spec import Work

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
OPS = {
    "policy": [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), T.RandAugment(2, 20),
    T.ToTensor(), T.Normalize(MEAN, STD)],
    "warps of CROP": [T.RandomResizedCrop((31, 45)), T.RandomVerticalFlip(), T.RandomRotation(30),
    T.ToImage(channels_last=True)],
    "mixture": [T.RandomResizedCrop(32), T.AugMix(), T.ToImage(), T.ToDtype(torch.float16,
    scale=True)],
    "nothing to augment": [T.RandomResizedCrop((31, 45)), T.ToTensor()],
    "dropped and erased": [
        T.RandomResizedCrop((31, 45)), T.RandAugment(1), T.ColOut(0.1, 0.3), T.ToTensor(),
        T.ColOut(0.1, batch=False), T.RandomErasing(0.8),
    ],
}  # fmt: skip


def batch(folder, ops, augment, device):
    """The host's part of a batch [7], and what it leaves to the device."""
    found = plan(fastload.open(folder, ops).pipeline, augment=augment, device=device)
    assert native.unsupported(found, device) == []
    runner = native.compile(found, device)
    work = Work(np.arange(3, 10), np.zeros(7, np.int64), seed=5, epoch=1, step=0)
    pool = _native.Pool(2)
    job = runner.begin(
        pool, work, found.source.locate(work.samples), collect.make("off", found.source).epoch()
    )
    drawn = runner.draw(job, work)
    picture = runner.pictures[0]
    out = np.empty(picture.host_shape(7), picture.host_dtype)
    drawn.start([out])
    drawn.finish()
    return runner, drawn.drawn[0], out


@pytest.mark.parametrize("name", OPS)
def test_the_two_halves_make_the_batch(name, folder, monkeypatch):
    _, _, want = batch(folder, OPS[name], "cpu", "cpu")
    monkeypatch.setattr(
        cuda, "device_programs", lambda programs, *_: programs and programs.rows
    )  # the device's can only be launched
    runner, drawn, crops = batch(folder, OPS[name], "gpu", "cuda")
    assert crops.dtype == np.uint8
    programs, store = drawn.on_device
    assert (programs is None) == (name == "nothing to augment")
    host = drawn.store
    assert (drawn.programs, host.rows, host.columns, host.boxes, host.partners) == (None,) * 5
    images = (
        crops
        if programs is None
        else np.stack(
            [_native.augment(crop, program) for crop, program in zip(crops, programs, strict=True)]
        )
    )
    found = np.empty_like(want)
    store.run_on_host(images, runner.pictures[0].tables.values, None, found)
    np.testing.assert_array_equal(found.view(np.uint8), want.view(np.uint8))


def test_a_batch_that_nothing_changes_has_no_programs():
    assert cuda.device_programs(None, 5, 7) is None
    assert cuda.device_programs(_native.Programs(np.zeros((4, 2, 13))), 5, 7) is None
    program = np.zeros((4, 2, 13))
    program[3, 1, 0] = _native.INSTRUCTIONS.index("Invert")
    made = cuda.device_programs(_native.Programs(program), 5, 7)
    assert (len(made), made.size, made.data.dtype) == (4, (5, 7), np.uint8)


def test_another_size_has_programs_of_that_size(folder):
    runner, drawn, _ = batch(folder, OPS["policy"], "gpu", "cuda")
    assert drawn.on_device.programs.size == (31, 45)
    assert (runner.at(90).pictures[0].height, runner.at(90).pictures[0].width) == (62, 90)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_the_plan_refuses_the_gpu_without_one(folder, device):
    pipeline = fastload.open(folder, [T.Resize(32), T.ToTensor()]).pipeline  # of no one size
    with pytest.raises(fastload.PipelineError) as caught:
        plan(pipeline, augment="gpu", device=device)
    problems = str(caught.value).splitlines()
    assert len(problems) > 1  # with all others
    assert (
        problems[-1].strip()
        == f"augment: 'gpu' needs device='cuda' (got {device!r}); add device='cuda', or leave "
        "augment out"
    )


def test_a_loader_refuses_it_for_any_data_set(folder):
    text = "augment: 'gpu' needs device='cuda' (got None); add device='cuda', or leave augment out"
    with pytest.raises(fastload.PipelineError) as caught:
        fastload.DataLoader(fastload.open(folder, OPS["policy"]), augment="gpu")
    assert str(caught.value) == text
    with pytest.raises(
        fastload.BackendError, match="loader: augment='gpu' cannot run this data set: "
    ):
        fastload.DataLoader([1, 2, 3], augment="gpu")


def test_an_unknown_place_is_refused():
    with pytest.raises(fastload.UsageError) as caught:
        fastload.DataLoader([1, 2, 3], augment="cuda")
    assert str(caught.value) == "DataLoader: augment is 'cuda', want 'auto', 'cpu' or 'gpu'"


@pytest.mark.parametrize("augment", ["auto", "cpu"])
def test_auto_is_cpu(folder, augment):
    pipeline = fastload.open(folder, OPS["policy"]).pipeline
    assert plan(pipeline, augment=augment, device="cuda").augment == "cpu"


def test_the_host_drops_what_it_sends_unless_the_gpu_augments_first(folder):
    ops = [T.RandomResizedCrop((31, 45)), T.RandAugment(1), T.ColOut(0.1, 0.3), T.ToImage()]
    for augment, size in (("cpu", (27, 31)), ("gpu", (31, 45))):
        found = plan(fastload.open(folder, ops).pipeline, augment=augment, device="cuda")
        assert native.unsupported(found, "cuda") == []
        assert native.compile(found, "cuda").pictures[0].host_shape(7) == (7, *size, 3)


def test_explain_says_where(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(_native, "cuda_built", True)
    loader = fastload.DataLoader(
        fastload.open(folder, OPS["policy"]), device="cuda", decode="cpu", augment="gpu"
    )
    assert "  gpu     decode='cpu', augment='gpu'" in loader.explain().splitlines()
    loader = fastload.DataLoader(fastload.open(folder, OPS["policy"]))
    assert "augment" not in loader.explain()
