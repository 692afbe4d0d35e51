"""The recipe hot, as its file has it, on every backend:

RandomResizedCrop, flip, RandAugment, ColOut, progressive resizing and MixUp.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fastload
from fastload import recipes
from fastload.backends.dali import installed as dali_installed
from fastload.backends.ffcv import installed as ffcv_installed
from fastload.conversion import beton_writer, readers
from fastload.errors import BackendError
from fastload.parity import distribution
from fastload.transforms import RandAugment, RandomResizedCrop
from tests.backends.dali_page import STATED

needs_ffcv = pytest.mark.skipif(
    bool(ffcv_installed.problem()), reason=f"{ffcv_installed.problem()}"
)
needs_dali = pytest.mark.skipif(
    bool(dali_installed.missing()), reason=f"{dali_installed.missing()}"
)
EPOCHS = 3  # of the schedule, so that each has another size
SIZES = [(62, 72), (72, 84), (96, 112)]  # px; ColOut leaves 106 x 123 of the crop
STD = torch.tensor([0.229, 0.224, 0.225])[:, None, None]


@pytest.fixture(scope="module")
def data(folder, tmp_path_factory):
    """The same JPEGs as a folder and as FFCV's file, by backend."""
    path = str(tmp_path_factory.mktemp("hot") / "all.beton")
    beton_writer.run(readers.open_reader(folder), path, beton_writer.Options())
    return {"ffcv": path} | dict.fromkeys(("native", "torch", "dali", "dali-own"), folder)


def hot(data, backend, *, workers=2, batch_size=16, policy=None):
    """The recipe's loader; only the crop is smaller, and not square, and the training shorter.

    policy: in place of its RandAugment.
    """
    recipe = recipes.load("hot")
    ops = [
        replace(op, size=(112, 130)) if isinstance(op, RandomResizedCrop) else op
        for op in recipe.ops()
    ]
    if policy:
        ops = [policy if isinstance(op, RandAugment) else op for op in ops]
    schedule = recipe.training.progressive_resizing.schedule(EPOCHS)
    return fastload.DataLoader(
        fastload.open(data[backend], ops), batch_size, shuffle=True, seed=11, num_workers=workers,
        backend=backend, mix=recipe.mix(),
        size_schedule=schedule,
    )  # fmt: skip


def training(loader):
    """All batches of all epochs."""
    return [batch for _ in range(EPOCHS) for batch in loader]


def assert_shapes(found, want):
    kinds = [
        [
            (images.dtype, images.shape, images.stride(), labels.dtype, labels.shape)
            for images, labels in part
        ]
        for part in (found, want)
    ]
    assert kinds[0] == kinds[1]


def assert_same(found, want):
    assert_shapes(found, want)
    for (images, labels), (want_images, want_labels) in zip(found, want, strict=True):
        assert torch.equal(images, want_images)
        assert torch.equal(labels, want_labels)


@pytest.fixture(scope="module")
def native(data):
    return training(hot(data, "native"))


def test_the_recipe_does_all_that_it_says(native):
    assert [tuple(images.shape[2:]) for images, _ in native[::3]] == SIZES
    for images, labels in native:
        assert (images.dtype, images.is_contiguous(memory_format=torch.channels_last)) == (
            torch.float32,
            True,
        )
        assert labels.shape == (len(images), 3)
        np.testing.assert_allclose(labels.sum(1), 1, atol=1e-6)
        assert (labels > 0).all()  # smoothed
    largest = torch.cat([labels.max(1).values for _, labels in native])
    assert (largest < 0.87).any()  # mixed: that and 0.13 / 3 is one class alone


def test_torch_gives_natives_bits(data, native):
    assert_same(training(hot(data, "torch", workers=0)), native)


@needs_ffcv
def test_ffcv_gives_natives_bits(data, native):
    assert_same(training(hot(data, "ffcv")), native)


def levels(images):
    """What was normalised, back in levels of 255."""
    return images.double() * STD * 255


@needs_dali
def test_dali_gives_natives_labels_and_pixels_as_near_as_its_page_says(data, native):
    found = training(hot(data, "dali"))
    assert_shapes(found, native)
    apart = []
    for (images, labels), (want, want_labels) in zip(found, native, strict=True):
        assert torch.equal(labels, want_labels)
        apart.append((levels(images) - levels(want)).abs().flatten(1).mean(1))
    # What mixes and resizes the finished batch makes no difference larger in the mean.
    assert (
        0
        < torch.cat(apart).mean()
        <= STATED["resize, bilinear"][1] + STATED["RandAugment, Composer's"][1]
    )


@needs_dali
def test_dali_by_itself_makes_images_of_the_same_kind(data):
    policy = RandAugment(1)  # it has no other definition
    found, want = (
        training(hot(data, backend, policy=policy)) for backend in ("dali-own", "native")
    )
    assert [labels.argmax(1).tolist() for _, labels in found] == [
        labels.argmax(1).tolist() for _, labels in want
    ]
    assert_shapes(found, want)
    got, wanted = (
        np.concatenate([distribution.features(levels(images)) for images, _ in batches])
        for batches in (found, want)
    )
    assert distribution.chance(got, wanted) > distribution.UNLIKELY
    half = np.concatenate([distribution.features(levels(images) / 2) for images, _ in found])
    assert distribution.chance(half, wanted) < distribution.UNLIKELY


@needs_dali
def test_dali_by_itself_has_no_policy_of_composers(data):
    with pytest.raises(BackendError) as caught:
        hot(data, "dali-own")
    assert str(caught.value) == (
        "backend dali-own cannot run this plan: op 3 (RandAugment) has another library's "
        "definition; DALI has its own only; "
        "use backend='dali'\nbackend native can run it; pass backend='native'"
    )
