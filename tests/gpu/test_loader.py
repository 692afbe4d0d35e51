"""DataLoader(device="cuda"): the CPU's bits, on the device, for whatever stream the caller is
on.
"""

from contextlib import nullcontext

import pytest
import torch

import fastload
from fastload import transforms as T

pytestmark = pytest.mark.cuda

SLEEP = 200_000_000  # GPU clock cycles, about 0.1 s: long after the host has gone on
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
OUTPUTS = {
    "uint8": [T.ToImage()],
    "uint8 NHWC": [T.ToImage(channels_last=True)],
    "float32": [T.ToTensor(), T.Normalize(MEAN, STD)],
    "float32 NHWC": [
        T.ToImage(channels_last=True),
        T.ToDtype(torch.float32, scale=True),
        T.Normalize(MEAN, STD),
    ],
    "float16": [T.ToImage(), T.ToDtype(torch.float16, scale=True), T.Normalize(MEAN, STD)],
    "augmented": [
        T.RandAugment(2),
        T.ToTensor(),
        T.ColOut(0.1, 0.2),
        T.ColOut(0.1, batch=False),
        T.Normalize(MEAN, STD),
    ],
    "erased": [
        T.RandAugment(1),
        T.ToTensor(),
        T.ColOut(0.1),
        T.Normalize(MEAN, STD),
        T.RandomErasing(0.8, value="random"),
        T.RandomErasing(),
    ],
    "policy": [T.RandAugment(2), T.ToTensor(), T.Normalize(MEAN, STD)],
    "mixture NHWC": [T.AugMix(), T.GaussianBlur(5), T.ToImage(channels_last=True)],
    "bfloat16 NHWC": [
        T.ToImage(channels_last=True),
        T.ToDtype(torch.bfloat16, scale=True),
        T.Normalize(MEAN, STD),
    ],
}


def make_loader(folder, output="float32", device=None, workers=2, **more):
    dataset = fastload.open(
        folder, [T.RandomResizedCrop((31, 45)), T.RandomHorizontalFlip(), *OUTPUTS[output]]
    )
    return fastload.DataLoader(
        dataset, batch_size=7, shuffle=True, num_workers=workers, device=device, seed=5, **more
    )


def bits(images):
    """uint8: a NaN equals itself, and -0 is not 0."""
    return images.contiguous().view(torch.uint8)


def assert_equal(found, want):
    """Batches from the device against batches from the CPU, bit for bit, labels and memory order
    too.
    """
    assert len(found) == len(want)
    for (images, labels), (want_images, want_labels) in zip(found, want, strict=True):
        assert images.is_cuda
        assert labels.is_cuda
        assert images.stride() == want_images.stride()
        assert images.dtype == want_images.dtype
        assert torch.equal(bits(images.cpu()), bits(want_images))
        assert torch.equal(labels.cpu(), want_labels)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("output", OUTPUTS)
def test_batches_are_those_of_the_cpu(folder, output, workers):
    assert_equal(
        list(make_loader(folder, output, "cuda", workers)), list(make_loader(folder, output))
    )


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("output", ["policy", "mixture NHWC", "uint8", "augmented", "erased"])
def test_augmented_on_the_device_they_are_the_same(folder, output, workers):
    want = make_loader(folder, output)
    found = make_loader(folder, output, "cuda", workers, augment="gpu")
    for _ in range(2):
        assert_equal(list(found), list(want))


@pytest.mark.parametrize(
    "how",
    [
        [24, 40],
        fastload.ProgressiveResize(3, mode="resize"),
        fastload.ProgressiveResize(3, mode="crop"),
    ],
)
@pytest.mark.parametrize("output", ["uint8 NHWC", "augmented"])
@pytest.mark.parametrize("augment", ["cpu", "gpu"])
def test_batches_of_changing_size_are_those_of_the_cpu(folder, augment, output, how):
    data = fastload.open(folder, [T.RandomResizedCrop(32), *OUTPUTS[output]])
    device, host = (
        fastload.DataLoader(data, 7, num_workers=2, seed=5, size_schedule=how, **more)
        for more in ({"device": "cuda", "augment": augment}, {})
    )
    for _ in range(3):
        assert_equal(list(device), list(host))


@pytest.mark.parametrize("own_stream", [False, True])
def test_the_callers_stream_waits_for_the_copy(folder, own_stream):
    want, loader, found = (
        list(make_loader(folder)),
        make_loader(folder, device="cuda", workers=0),
        [],
    )  # no thread sends ahead
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream) if own_stream else nullcontext():
        batches = iter(loader)
        for _ in want:
            with torch.cuda.stream(loader._engine.uploader.streams.own):
                torch.cuda._sleep(SLEEP)  # the batch comes late
            images, labels = next(batches)
            found.append(
                [images.clone(), labels.clone()]
            )  # on the caller's stream, which must wait
            del images, labels
        torch.cuda.current_stream().synchronize()
    assert_equal(found, want)


def test_kept_batches_are_not_overwritten_over_two_epochs(folder):
    loader, reference = make_loader(folder, device="cuda"), make_loader(folder)
    found = [batch for _ in range(2) for batch in loader]
    assert_equal(found, [batch for _ in range(2) for batch in reference])


@pytest.mark.parametrize("augment", ["cpu", "gpu"])
def test_a_host_slot_is_not_reused_before_its_copy(folder, augment):
    want, loader = (
        list(make_loader(folder, "policy")),
        make_loader(folder, "policy", "cuda", augment=augment),
    )
    batches = iter(loader)
    with torch.cuda.stream(loader._engine.uploader.streams.own):
        torch.cuda._sleep(SLEEP)  # no copy happens while the host goes through the epoch
    assert_equal(list(batches), want)


def test_device_memory_of_a_dropped_batch_waits_for_its_reader(folder):
    want, loader, found = list(make_loader(folder)), make_loader(folder, device="cuda"), []
    for images, labels in loader:
        torch.cuda._sleep(
            SLEEP // 10
        )  # the reader is late; the batch is dropped right after it was queued
        found.append([images.clone(), labels.clone()])
        del images, labels
    assert_equal(found, want)


@pytest.mark.parametrize("workers", [0, 2])
def test_views_are_those_of_the_cpu(folder, workers):
    large, small = (
        [T.RandomResizedCrop(size), *OUTPUTS[output]]
        for size, output in (((31, 45), "float32"), ((9, 16), "uint8 NHWC"))
    )
    data = fastload.open(folder, T.Views([(large, 2), (small, 3)]))
    device, host = (
        list(fastload.DataLoader(data, 7, num_workers=workers, device=on, seed=5))
        for on in ("cuda", "cpu")
    )
    for position in range(5):
        found, want = (
            [[views[position], labels] for views, labels in batches] for batches in (device, host)
        )
        assert_equal(found, want)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_pinned_batches(folder, backend):
    data = fastload.open(folder, [T.RandomResizedCrop((31, 45))])
    for images, labels in fastload.DataLoader(
        data, 7, num_workers=1, pin_memory=True, backend=backend
    ):
        assert images.is_pinned()
        assert labels.is_pinned()
