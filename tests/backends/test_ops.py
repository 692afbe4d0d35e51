"""Every op runs in a loader today, on the torch backend, and the native one says why it does not."""

import pytest
import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

import fastload
from fastload import transforms as T

CROP = [
    T.RandomCrop(40, 5, pad_if_needed=True),
    T.RandomVerticalFlip(),
    T.RandomRotation(20, "bilinear", expand=True),
    T.RandomPerspective(),
]
AUGMENT = [
    T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8), T.RandomGrayscale(0.2), T.RandomApply([T.GaussianBlur(5)]),
    T.RandomSolarize(128), T.AutoAugment(), T.AutoAugment.timm("v0"),
    T.RandAugment.timm("rand-m9-n1-mstd0.5-inc1"), T.AugMix(), T.AugMix.timm(), T.AugMix.composer(),
    T.RandomChoice([T.RandomInvert(), T.RandomPosterize(3)]), T.TrivialAugmentWide.official(), T.Grayscale(3),
]  # fmt: skip
STORE = [T.ToTensor(), T.Normalize((0.5,), (0.5,)), T.RandomErasing(0.9, value="random"), T.RandomErasing.timm(0.9, max_count=2)]


def batches(path, ops, **options):
    return [images for images, _ in fastload.DataLoader(fastload.open(path, ops), 9, seed=3, shuffle=True, **options)]


@pytest.mark.parametrize("ops", [[*CROP, T.CenterCrop(36), T.ToImage()], [T.Resize((24, 31)), *AUGMENT], [T.Resize((24, 31)), *STORE]])
def test_pixels_do_not_depend_on_workers_or_batches(folder, ops):
    alone = torch.cat(batches(folder, ops))
    assert len(alone) == 40
    assert torch.equal(torch.cat(batches(folder, ops, num_workers=2)), alone)


def test_grey_images_leave_with_one_channel(folder):
    ops = [T.RandomResizedCrop((24, 30)), T.Grayscale(), T.RandomEqualize(), T.ToTensor(), T.Normalize((0.5,), (0.5,))]
    assert {tuple(images.shape) for images in batches(folder, ops)} == {(9, 1, 24, 30), (4, 1, 24, 30)}


def test_the_native_engine_names_every_op_that_it_lacks(folder):
    ops = [T.RandomResizedCrop(24), T.RandomVerticalFlip(), T.AugMix(), T.ToTensor(), T.RandomErasing()]
    text = "\n".join(
        f"backend native cannot run this plan: op {number} ({name}) is not written natively"
        for number, name in ((2, "RandomVerticalFlip"), (3, "AugMix"), (5, "RandomErasing"))
    )
    with pytest.raises(fastload.BackendError) as caught:
        fastload.DataLoader(fastload.open(folder, ops), 4, backend="native")
    assert str(caught.value) == text


def test_a_small_image_without_padding_ends_the_epoch_with_its_size(folder):
    loader = fastload.DataLoader(fastload.open(folder, [T.RandomCrop(60)]), 40)
    with pytest.raises(fastload.PipelineError, match=r"^RandomCrop: size is 60x60, but an image of 37x53 px is smaller; set pad_if_needed"):
        next(iter(loader))


def test_torchvisions_own_transforms_still_run_as_in_torch(folder):
    chain = v1.Compose([v1.RandomResizedCrop(24), v1.ColorJitter(0.4), v1.ToTensor(), v1.RandomErasing()])
    loader = fastload.DataLoader(ImageFolder(folder, chain), 4)
    assert "op 4 (RandomErasing) is not written natively" in loader.explain()
    assert next(iter(loader))[0].shape == (4, 3, 24, 24)
