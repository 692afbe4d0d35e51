"""Batches of changing size: the sizes, the pixels, the slots."""

import pickle

import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload import ProgressiveResize
from fastload.progressive import Ramp
from fastload.transforms import RandomResizedCrop, ToImage, ToTensor
from tests import pillow

from .size_helpers import EVAL, HOW, TRAIN, loader, shapes


def epochs(found, count=3):
    return [[(images.clone(), labels) for images, labels in found] for _ in range(count)]


def assert_same(got, want):
    for epoch, wanted in zip(got, want, strict=True):
        for (images, labels), (want_images, want_labels) in zip(epoch, wanted, strict=True):
            torch.testing.assert_close(images, want_images, rtol=0, atol=0)
            assert images.stride() == want_images.stride()
            assert torch.equal(labels, want_labels)


@pytest.mark.parametrize("name", pillow.where_chains(HOW, ("decode", "resize")))
def test_backends_and_workers_give_the_same_pixels(folder, name):
    native = epochs(loader(folder, name, backend="native"))
    assert len({shape for epoch in native for shape in shapes(epoch)}) >= 2
    assert_same(epochs(loader(folder, name, backend="torch")), native)
    for workers in (1, 4):
        assert_same(epochs(loader(folder, name, backend="native", num_workers=workers)), native)


def test_scaled_decoding_follows_the_size(folder):
    data = fastload.open(folder, TRAIN)
    native, reference = (
        fastload.DataLoader(
            data, 7, seed=5, backend=backend, decode_scale="fast", size_schedule=[40, 8, 40]
        )
        for backend in ("native", "torch")
    )
    scaled = []
    for _ in range(3):
        assert_same(epochs(native, 1), epochs(reference, 1))
        scaled.append(native.decodes()["scaled"])
    assert scaled[0] == 0 < scaled[1] == scaled[2]


def test_batches_have_the_sizes_of_their_steps(folder):
    first, second, third = (
        shapes(epoch) for epoch in epochs(loader(folder, "decode", num_workers=2))
    )
    assert first == [(side, side) for side in (20, 20, 20, 24, 28, 28)]
    assert second == [(side, side) for side in (32, 32, 36, 40, 40, 40)]
    assert third == [(40, 40)] * 6
    assert shapes(epochs(loader(folder, "decode, ColOut"), 1)[0])[0] == (
        17,
        18,
    )  # of 20 px, 15 and 10 % less


@pytest.mark.parametrize(
    ("how", "sides"),
    [
        ([24, 40, 52], (24, 40, 52, 52)),
        (lambda epoch: 16 + 8 * epoch, (16, 24, 32, 40)),
        (Ramp(32, 96, 0, 3), (32, 64, 64, 96)),
        (ProgressiveResize(4, delay=0.25, finetune=0.25), (20, 20, 32, 40)),
        (
            ProgressiveResize(4, delay=0.25, finetune=0.25, scale=0.75, increment=6, mode="resize"),
            (30, 30, 36, 40),
        ),
    ],
)
def test_sizes_by_epoch_and_set_epoch(folder, how, sides):
    found = fastload.DataLoader(
        fastload.open(folder, EVAL), 16, size_schedule=how, num_workers=1, seed=1
    )
    assert [set(shapes(epoch)) for epoch in epochs(found, 4)] == [{(side, side)} for side in sides]
    found.set_epoch(1)
    assert set(shapes(found)) == {(sides[1], sides[1])}


def test_a_decoded_size_is_the_pipeline_at_that_size(folder):
    found = fastload.DataLoader(fastload.open(folder, TRAIN), 7, seed=3, size_schedule=[24])
    plain = fastload.DataLoader(
        fastload.open(folder, [RandomResizedCrop(24), *TRAIN[1:]]), 7, seed=3
    )
    assert_same(epochs(found, 1), epochs(plain, 1))


@pytest.mark.parametrize("side", [40, 41])
def test_resize_is_torchs_nearest_resize_of_the_full_batch(folder, side):
    ops = [RandomResizedCrop((33, side)), ToTensor()]
    how = ProgressiveResize(9, scale=0.6, mode="resize")
    small = fastload.DataLoader(fastload.open(folder, ops), 7, seed=3, size_schedule=how)
    whole = fastload.DataLoader(fastload.open(folder, ops), 7, seed=3)
    for (images, _), (full, _) in zip(small, whole, strict=True):
        want = torch.nn.functional.interpolate(
            full, scale_factor=24 / side, mode="nearest", recompute_scale_factor=False
        )
        torch.testing.assert_close(images, want, rtol=0, atol=0)


def test_a_crop_is_one_window_of_the_full_batch(folder):
    ops, how = (
        [RandomResizedCrop((33, 40)), ToImage()],
        ProgressiveResize(9, scale=0.7, mode="crop"),
    )
    small = fastload.DataLoader(fastload.open(folder, ops), 7, seed=3, size_schedule=how)
    whole = fastload.DataLoader(fastload.open(folder, ops), 7, seed=3)
    places = set()
    for (images, _), (full, _) in zip(small, whole, strict=True):
        height, width = images.shape[-2:]
        assert (height, width) == (int(33 * 0.7), 28)
        same = [
            (y, x) for y in range(33 - height + 1) for x in range(40 - width + 1)
            if torch.equal(full[:, :, y : y + height, x : x + width], images)
        ]  # fmt: skip
        assert len(same) == 1
        places.update(same)
    assert len(places) > 1


def test_kept_batches_of_many_sizes_keep_their_pixels(folder):
    found = fastload.DataLoader(
        fastload.open(folder, TRAIN),
        4,
        seed=3,
        num_workers=2,
        prefetch_factor=2,
        size_schedule=lambda e: (48, 16, 32)[e % 3],
    )
    kept = [images for _ in range(6) for images, _ in found]
    copies = [image.clone() for image in kept]
    for _ in range(3):
        list(found)
    assert_same([[(image, image) for image in kept]], [[(image, image) for image in copies]])
    addresses = [(image.data_ptr(), image.data_ptr() + image.nbytes) for image in kept]
    assert all(
        end <= start
        for (_, end), (start, _) in zip(sorted(addresses), sorted(addresses)[1:], strict=False)
    )


def test_a_loader_with_a_schedule_can_be_pickled(folder):
    found = loader(folder, "decode")
    want = epochs(found, 1)
    copy = pickle.loads(pickle.dumps(found))
    copy.set_epoch(0)
    assert_same(epochs(copy, 1), want)


def test_explain_names_the_schedule(folder):
    lines = loader(folder, "resize").explain().splitlines()
    assert lines[7] == (
        "  sizes   ProgressiveResize(total_epochs=3, total_steps=None, scale=0.5, delay=0.3, "
        "finetune=0.2, increment=4, mode='resize'): "
        "20 px at the start of epoch 0, 40 px in the pipeline"
    )


def test_torchvisions_data_sets_take_a_schedule(folder):
    data = ImageFolder(folder, v1.Compose([v1.Resize(44), v1.CenterCrop(40), v1.ToTensor()]))
    found = fastload.DataLoader(data, 16, size_schedule=[20])
    want = torch.utils.data.DataLoader(
        ImageFolder(folder, v1.Compose([v1.Resize(22), v1.CenterCrop(20), v1.ToTensor()])), 16
    )
    assert_same([list(found)], [list(want)])


def test_smaller_images_come_in_larger_batches(folder):
    sizes = [20, 40]
    batches = fastload.PixelBatchSampler(
        fastload.ShuffleSampler(40, seed=5), sizes, 40, 7, multiple=1
    )
    found = fastload.DataLoader(
        fastload.open(folder, EVAL),
        batch_sampler=batches,
        num_workers=2,
        seed=5,
        size_schedule=sizes,
    )
    first, second = epochs(found, 2)
    assert [tuple(images.shape) for images, _ in first] == [(28, 3, 20, 20), (12, 3, 20, 20)]
    assert [tuple(images.shape) for images, _ in second] == [(7, 3, 40, 40)] * 5 + [(5, 3, 40, 40)]
    order = list(fastload.ShuffleSampler(40, seed=5))
    labels = found.dataset.pipeline.source.labels
    assert torch.cat([of_batch for _, of_batch in first]).tolist() == labels[order].tolist()
