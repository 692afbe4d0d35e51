"""Native and torch backends: the same records, the same pixels."""

import numpy as np
import pytest
import torch

import fastload
from fastload.transforms import (
    CenterCrop,
    ColOut,
    Normalize,
    RandAugment,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    TrivialAugmentWide,
)  # fmt: skip
from tests import pillow

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PIPELINES = {
    "train": [RandomResizedCrop((32, 40)), RandomHorizontalFlip(), ToImage()],
    "train float": [RandomResizedCrop(24), RandomHorizontalFlip(), ToTensor(), Normalize(MEAN,
    STD)],
    "train half": [RandomResizedCrop(24), ToImage(), ToDtype("float16", scale=True), Normalize(MEAN,
    STD)],
    "train bfloat16": [RandomResizedCrop(24), ToImage(), ToDtype("bfloat16", scale=True)],
    "bicubic": [RandomResizedCrop((20, 31), interpolation="bicubic"), RandomHorizontalFlip()],
    "nearest": [RandomResizedCrop((20, 31), interpolation="nearest")],
    "lanczos": [RandomResizedCrop((20, 31), interpolation="lanczos")],
    "a filter for each image": [RandomResizedCrop((20, 31), interpolation="random"),
    RandomHorizontalFlip(), ToTensor()],
    "eval": [Resize(36), CenterCrop((32, 30)), ToTensor(), Normalize(MEAN, STD)],
    "eval larger than the image": [Resize(20), CenterCrop((32, 30))],
    "crop only": [CenterCrop((25, 60))],
    "squash": [Resize((33, 17)), ToImage(channels_last=True)],
    "flip twice": [RandomHorizontalFlip(), Resize((33, 17)), RandomHorizontalFlip(0.7)],
    "RandAugment": [RandomResizedCrop((40, 53)), RandomHorizontalFlip(), RandAugment(), ToImage(),
    ToDtype("bfloat16", scale=True)],
    "RandAugment, as uint8": [RandomResizedCrop((40, 53)), RandAugment(3, 25),
    ToImage(channels_last=True)],
    "RandAugment, square, bilinear": [RandomResizedCrop(40), RandAugment(4, 30,
    interpolation="bilinear"), ToTensor()],
    "two policies": [RandomResizedCrop((31, 45)), RandAugment(1),
    TrivialAugmentWide(interpolation="bilinear"), ToImage()],
    "TrivialAugmentWide": [Resize((31, 45)), TrivialAugmentWide(), ToImage(), ToDtype("float16",
    scale=True), Normalize(MEAN, STD)],
    "hot": [
        RandomResizedCrop(44), RandomHorizontalFlip(), RandAugment.composer(10, 1),
        ToImage(channels_last=True), ColOut(0.05, 0.05),
        ToDtype("float32", scale=True), Normalize(MEAN, STD),
    ],
    "ColOut": [RandomResizedCrop((44, 31)), ColOut(0.3, 0.15), ToImage()],
    "ColOut per sample, twice": [RandomResizedCrop((44, 31)), ColOut(0.3, 0.15, batch=False),
    ToTensor(), ColOut(0.1, 0.2, batch=False)],
    "ColOut per batch and per sample": [RandomResizedCrop((44, 31)), ToImage(channels_last=True),
    ColOut(), ColOut(0.3, 0, batch=False)],
}  # fmt: skip
CHAINS = ("RandAugment, square, bilinear", "two policies")


def batches(path, ops, backend, **options):
    loader = fastload.DataLoader(
        fastload.open(path, ops), 7, shuffle=True, seed=5, backend=backend, **options
    )
    return list(loader)


@pytest.mark.parametrize("name", pillow.where_chains(PIPELINES, CHAINS))
def test_native_gives_the_references_pixels(name, folder):
    native, reference = (
        batches(folder, PIPELINES[name], backend) for backend in ("native", "torch")
    )
    assert len(native) == len(reference) == 6
    for (images, labels), (want, want_labels) in zip(native, reference, strict=True):
        assert images.dtype == want.dtype
        assert images.stride() == want.stride()
        torch.testing.assert_close(images, want, rtol=0, atol=0)
        assert torch.equal(labels, want_labels)


def test_a_flip_before_the_crop_mirrors_the_box(folder):
    ops = [RandomHorizontalFlip(1.0), RandomResizedCrop((20, 31))]
    for (images, _), (want, _) in zip(
        batches(folder, ops, "native"), batches(folder, ops, "torch"), strict=True
    ):
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
    data = fastload.open(
        folder, [CenterCrop(30), RandomResizedCrop(16), CenterCrop((12, 20)), CenterCrop((18, 12))]
    )
    loader = fastload.DataLoader(data, 4)
    assert loader.explain().splitlines()[0] == "backend torch, the caller's thread, device cpu"
    cannot = "  backend native cannot run this plan: "
    assert loader.explain().splitlines()[5:] == [
        cannot
        + "op 2 (RandomResizedCrop) resizes after op 1 (CenterCrop); one resize at the start is "
        "what a record holds",
        cannot
        + "op 4 (CenterCrop) may reach beyond op 3 (CenterCrop); one window is what a record holds",
    ]
    assert next(iter(loader))[0].shape == (4, 3, 18, 12)
