"""Every op that the native engine runs, in whole pipelines: the torch backend's pixels, bit by
bit.
"""

import io

import numpy as np
import pytest
import torch
from PIL import Image

import fastload
from fastload import transforms as T
from tests import pillow

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FLOAT = [T.ToTensor(), T.Normalize(MEAN, STD)]
CROP = [T.RandomResizedCrop((40, 53)), T.RandomHorizontalFlip()]
SMALL = [T.Resize((24, 31))]
JITTER = T.ColorJitter(0.8, 0.8, 0.8, 0.2)
AFFINE = T.RandomAffine(30, (0.2, 0.1), (0.7, 1.4), (-10, 10, -5, 20), "bilinear", (9, 200, 3))
PIPELINES = {
    "SimCLR": [*CROP, T.RandomApply([JITTER], 0.8), T.RandomGrayscale(0.2),
    T.RandomApply([T.GaussianBlur((5, 9))]), *FLOAT],
    "ColorJitter": [*SMALL, JITTER, T.ColorJitter(hue=0.5), T.ColorJitter(contrast=(0, 1e9),
    saturation=(2, 1e7)), T.ToImage()],
    "lookups": [
        *SMALL, T.RandomSolarize(100.5), T.RandomPosterize(3), T.RandomPosterize(1, 0.1),
        T.RandomEqualize(), T.RandomAutocontrast(),
        T.RandomInvert(), *FLOAT,
    ],
    "sharpness and grey": [*CROP, T.RandomAdjustSharpness(2), T.RandomAdjustSharpness(0.3),
    T.RandomGrayscale(), T.ToImage()],
    "Grayscale(3)": [*CROP, T.Grayscale(3), T.RandomEqualize(), *FLOAT],
    "blur": [*CROP, T.GaussianBlur(23, (0.1, 5)), T.GaussianBlur((1, 3), 0.4), T.ToImage()],
    "other outputs": [*SMALL, T.GaussianBlur(3), T.PILToTensor(), T.ConvertImageDtype("float16"),
    T.Normalize(MEAN, STD)],
    "warps at times": [*SMALL, T.RandomRotation(30, "bilinear", p=0.5), T.RandomAffine(9, (0.1,
    0.2), p=0.4), *FLOAT],
    "orders": [*SMALL, T.RandomOrder([JITTER, T.RandomApply([T.GaussianBlur(3), T.RandomInvert()]),
    T.RandAugment(1)]), *FLOAT],
    "choices": [*SMALL, T.RandomChoice([T.RandomApply([JITTER, T.RandomInvert()]), T.RandAugment(),
    T.GaussianBlur(3)], [3, 2, 1]), *FLOAT],
    "AutoAugment": [*CROP, T.AutoAugment(fill=(3, 99, 200)), T.AutoAugment("cifar10"),
    T.AutoAugment("svhn", "bilinear"), T.ToImage()],
    "timm's AutoAugment": [*CROP, *(T.AutoAugment.timm(name) for name in ("v0", "v0r",
    "original-mstd0.5", "3a")), *FLOAT],
    "timm's RandAugment": [*CROP, T.RandAugment.timm("rand-m9-mstd0.5-inc1"),
    T.RandAugment.timm("rand-m9-n3-p0.7-t3a"), *FLOAT],
    "TrivialAugment": [*CROP, T.TrivialAugmentWide.official(), T.TrivialAugmentWide(fill=77,
    interpolation="bicubic"), T.ToImage()],
    "AugMix": [*CROP, T.AugMix(), *FLOAT],
    "AugMix, twice": [*SMALL, T.RandomInvert(), T.AugMix(10, 1, 4, 0.3), T.RandomSolarize(99),
    T.AugMix(2, 4, fill=200), T.RandomInvert()],
    "timm's AugMix": [*CROP, T.AugMix.timm(), T.AugMix.timm("augmix-m5-w4-d2"), T.ToImage()],
    "Composer's AugMix": [*CROP, T.RandomChoice([T.AugMix.composer(), T.AugMix.composer(9, 2)]),
    *FLOAT],
    "warps": [*CROP, AFFINE, T.RandomRotation(90, "bicubic", fill=30), T.RandomPerspective(0.6, 0.7,
    fill=77), JITTER, *FLOAT],
    "nearest warps": [
        *CROP, T.RandomAffine(9), T.RandomRotation((90, 90)), T.RandomRotation(4, center=(3, 50)),
        T.RandomPerspective(1, 1, "nearest"),
    ],
    "flips after AUGMENT": [*CROP, T.RandAugment(), T.RandomHorizontalFlip(), JITTER,
    T.RandomVerticalFlip(), *FLOAT],
    "flips behind lookups": [*SMALL, T.RandomVerticalFlip(), T.RandomEqualize(),
    T.RandomHorizontalFlip(0.6), T.RandomVerticalFlip()],
    "warps and flips": [*CROP, T.RandomVerticalFlip(), AFFINE, T.RandomHorizontalFlip(),
    T.RandomVerticalFlip(), T.RandomRotation(9)],
    "windows and flips": [
        T.RandomHorizontalFlip(0), T.Resize((60, 50)), T.RandomVerticalFlip(), T.RandomCrop((50,
        41), padding=(3, 7, 11, 0)),
        T.RandomHorizontalFlip(), T.RandomVerticalFlip(), T.CenterCrop((40, 37)),
        T.RandomVerticalFlip(), T.RandomCrop((29, 34)),
    ],
    "RandomCrop as for CIFAR": [T.Resize((32, 28)), T.RandomCrop((32, 28), padding=4),
    T.RandomHorizontalFlip(), T.RandAugment(), *FLOAT],
    "Pad": [T.Resize((20, 31)), T.RandomVerticalFlip(), T.Pad((5, 0, 2, 9)),
    T.RandomHorizontalFlip(), T.RandomEqualize(), T.ToImage()],
    "whole images, padded": [T.RandomCrop((60, 70), pad_if_needed=True), T.RandomVerticalFlip(),
    T.RandomSolarize(3)],
    "a warp of a padded centre": [T.Resize(30), T.CenterCrop((33, 45)), T.RandomAffine(20,
    fill=255), *FLOAT],
    "erasing": [*CROP, *FLOAT, T.RandomErasing(0.8), T.RandomErasing(0.5, value=(1.5, -2, 0.25))],
    "erasing before Normalize": [*CROP, T.ToTensor(), T.RandomErasing(0.8, value=(0.25, 0.5, 1)),
    T.Normalize(MEAN, STD)],
    "erasing uint8": [*CROP, T.RandAugment(), T.ToImage(), T.RandomErasing(0.8, value=(3, 200,
    77))],
    "erasing uint8, channels last": [*CROP, T.ToImage(channels_last=True), T.RandomErasing(0.8,
    value=9), T.ToDtype("float16", True)],
    "erasing with noise": [*CROP, *FLOAT, T.RandomErasing(0.8, value="random"),
    T.RandomErasing.timm(0.7, mode="rand", max_count=3)],
    "noise before other steps": [
        *CROP, T.ToImage(channels_last=True), T.ToDtype("float32", True), T.RandomErasing.timm(0.8,
        mode="pixel", min_count=2),
        T.RandomErasing(0.5, value=(1.5, -2, 0.25)), T.RandomErasing(0.6, value="random_colour"),
        T.Normalize(MEAN, STD),
    ],
    "noise in bfloat16": [*CROP, T.RandAugment(), T.ToImage(), T.ToDtype("bfloat16", True),
    T.RandomErasing(0.9, value="random")],
    "noise in float16": [*CROP, T.ToTensor(), T.RandomErasing(0.9, value="random"),
    T.ConvertImageDtype("float16"), T.Normalize(MEAN, STD)],
    "erasing many boxes": [
        *CROP, T.ToImage(channels_last=True), T.ColOut(0.2, 0.1), T.ToDtype("bfloat16", True),
        T.Normalize(MEAN, STD),
        T.RandomErasing.timm(0.9, max_count=5),
    ],
}  # fmt: skip

CHAINS = ("AutoAugment", "timm's AutoAugment", "AugMix", "AugMix, twice")


def batches(path, ops, backend, **options):
    return list(
        fastload.DataLoader(
            fastload.open(path, ops), 7, shuffle=True, seed=5, backend=backend, **options
        )
    )


def grey(height: int, width: int, mode: str, kind: str) -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng([height, width]).integers(0, 256, (height, width), np.uint8)
    Image.fromarray(pixels).convert(mode).save(out, kind)
    return out.getvalue()


@pytest.fixture(scope="module")
def odd_folder(tmp_path_factory):
    """Tiny images, long ones, grey ones, CMYK, and PNGs in disguise."""
    root = tmp_path_factory.mktemp("odd") / "a"
    root.mkdir()
    sizes = [(1, 1), (1, 9), (7, 1), (2, 3), (5, 200), (37, 53), (64, 21)]
    for number, (height, width) in enumerate(sizes):
        for mode, kind in (("L", "JPEG"), ("RGB", "PNG"), ("CMYK", "JPEG")):
            (root / f"{number}{mode}.jpg").write_bytes(grey(height, width, mode, kind))
    return str(root.parent)


def check(got, want):
    for (images, labels), (wanted, wanted_labels) in zip(got, want, strict=True):
        assert images.dtype == wanted.dtype
        assert images.stride() == wanted.stride()
        torch.testing.assert_close(images, wanted, rtol=0, atol=0)
        assert torch.equal(labels, wanted_labels)


@pytest.mark.parametrize("name", pillow.where_chains(PIPELINES, CHAINS))
def test_native_gives_the_references_pixels(name, folder):
    native = batches(folder, PIPELINES[name], "native")
    check(native, batches(folder, PIPELINES[name], "torch"))
    check(batches(folder, PIPELINES[name], "native", num_workers=2), native)
    assert len({images.double().sum().item() for images, _ in native}) == len(native)


@pytest.mark.parametrize("name", pillow.where_chains(PIPELINES, CHAINS))
def test_odd_images_too(name, odd_folder):
    check(
        batches(odd_folder, PIPELINES[name], "native"),
        batches(odd_folder, PIPELINES[name], "torch"),
    )


def test_every_op_is_here():
    used = [op for ops in PIPELINES.values() for op in ops]
    kinds = {type(part).__name__ for op in used for part in (op, *getattr(op, "transforms", ()))}
    assert kinds == {
        name
        for name in T.__all__
        if isinstance(getattr(T, name), type) and issubclass(getattr(T, name), T.Op)
    } - {"Op"}
