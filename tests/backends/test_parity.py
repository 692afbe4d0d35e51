"""Native and torch backends: the same records, the same pixels."""

import numpy as np
import pytest
import torch

import fastload
from fastload.transforms import CenterCrop, Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToDtype, ToImage, ToTensor

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PIPELINES = {
    "train": [RandomResizedCrop((32, 40)), RandomHorizontalFlip(), ToImage()],
    "train float": [RandomResizedCrop(24), RandomHorizontalFlip(), ToTensor(), Normalize(MEAN, STD)],
    "train half": [RandomResizedCrop(24), ToImage(), ToDtype("float16", scale=True), Normalize(MEAN, STD)],
    "train bfloat16": [RandomResizedCrop(24), ToImage(), ToDtype("bfloat16", scale=True)],
    "bicubic": [RandomResizedCrop((20, 31), interpolation="bicubic"), RandomHorizontalFlip()],
    "nearest": [RandomResizedCrop((20, 31), interpolation="nearest")],
    "lanczos": [RandomResizedCrop((20, 31), interpolation="lanczos")],
    "eval": [Resize(36), CenterCrop((32, 30)), ToTensor(), Normalize(MEAN, STD)],
    "eval larger than the image": [Resize(20), CenterCrop((32, 30))],
    "crop only": [CenterCrop((25, 60))],
    "squash": [Resize((33, 17)), ToImage(channels_last=True)],
    "flip twice": [RandomHorizontalFlip(), Resize((33, 17)), RandomHorizontalFlip(0.7)],
}


def batches(path, ops, backend, **options):
    loader = fastload.DataLoader(fastload.open(path, ops), 7, shuffle=True, seed=5, backend=backend, **options)
    return list(loader)


@pytest.mark.parametrize("name", PIPELINES)
def test_native_gives_the_references_pixels(name, folder):
    native, reference = (batches(folder, PIPELINES[name], backend) for backend in ("native", "torch"))
    assert len(native) == len(reference) == 6
    for (images, labels), (want, want_labels) in zip(native, reference, strict=True):
        assert images.dtype == want.dtype
        assert images.stride() == want.stride()
        torch.testing.assert_close(images, want, rtol=0, atol=0)
        assert torch.equal(labels, want_labels)


def test_a_flip_before_the_crop_mirrors_the_box(folder):
    ops = [RandomHorizontalFlip(1.0), RandomResizedCrop((20, 31))]
    for (images, _), (want, _) in zip(batches(folder, ops, "native"), batches(folder, ops, "torch"), strict=True):
        # PIL sums the mirrored row in the other order: one rounding step at most.
        assert np.abs(images.numpy().astype(int) - want.numpy().astype(int)).max() <= 1


def test_the_torch_backend_runs_in_worker_processes(folder):
    ops = PIPELINES["train"]
    for (images, labels), (want, want_labels) in zip(
        batches(folder, ops, "torch", num_workers=2), batches(folder, ops, "torch"), strict=True
    ):
        assert torch.equal(images, want)
        assert torch.equal(labels, want_labels)


def test_what_a_record_cannot_hold_goes_to_the_reference(folder):
    data = fastload.open(folder, [CenterCrop(30), RandomResizedCrop(16), CenterCrop(12)])
    loader = fastload.DataLoader(data, 4)
    assert loader.explain().splitlines()[0] == "backend torch, the caller's thread, device cpu"
    cannot = "  backend native cannot run this plan: "
    assert loader.explain().splitlines()[4:] == [
        cannot + "op 2 (RandomResizedCrop) resizes after op 1 (CenterCrop); one resize, first of all, is what a record holds",
        cannot + "op 3 (CenterCrop) follows op 2 (RandomResizedCrop); one CenterCrop is what a record holds",
    ]
    assert next(iter(loader))[0].shape == (4, 3, 12, 12)


def test_hots_ops_run_today(folder):
    ops = [
        RandomResizedCrop(20), RandomHorizontalFlip(), fastload.transforms.RandAugment.composer(10, 1),
        fastload.transforms.ColOut(0.1, 0.2), ToTensor(), Normalize(MEAN, STD),
    ]  # fmt: skip
    images, labels = next(iter(fastload.DataLoader(fastload.open(folder, ops), 5, seed=1)))
    assert images.shape == (5, 3, 18, 16)
    assert images.dtype == torch.float32
    assert labels.tolist() == [0] * 5
