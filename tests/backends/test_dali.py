"""The DALI backend's pixels against native's: docs/dali.md states the differences, and they are
held here.
"""

import numpy as np
import pytest
import torch

import fastload
from fastload.transforms import (
    AutoAugment,
    CenterCrop,
    ColorJitter,
    ColOut,
    GaussianBlur,
    Normalize,
    Pad,
    RandAugment,
    RandomAdjustSharpness,
    RandomAffine,
    RandomAutocontrast,
    RandomCrop,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomPosterize,
    RandomResizedCrop,
    RandomRotation,
    RandomSolarize,
    RandomVerticalFlip,
    Resize,
    ToDtype,
    ToImage,
    ToTensor,
    TrivialAugmentWide,
)  # fmt: skip

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")
from fastload.backends.dali import graph as dali_graph
from fastload.backends.dali import inputs as dali_inputs
from fastload.plan.plan import plan
from tests.backends.dali_page import STATED
from tests.conftest import encoded, textured

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CUT = CenterCrop((32, 30))
LARGE = Resize((112, 130))
BOX = RandomResizedCrop((31, 40))
HALF = ToDtype("float16", scale=True)

# By the names of the table in docs/dali.md.
PIPELINES = {
    "decode, crop, flip": [RandomHorizontalFlip(), CUT, RandomVerticalFlip()],
    "pad": [CenterCrop((50, 60)), RandomCrop((40, 50))],
    "Pad": [Resize((30, 41)), Pad((3, 5))],
    "resize, nearest": [RandomResizedCrop((31, 40), interpolation="nearest")],
    "resize, bilinear": [BOX, RandomHorizontalFlip()],
    "resize, bicubic": [RandomResizedCrop((31, 40), interpolation="bicubic")],
    "resize, lanczos": [RandomResizedCrop((31, 40), interpolation="lanczos")],
    "resize, a filter for each image": [RandomResizedCrop((31, 40), interpolation="random"),
    RandomHorizontalFlip()],
    "Resize, CenterCrop": [Resize(30), CenterCrop((26, 25))],
    "rotate, shift, shear, nearest": [CUT, RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10)],
    "rotate, shift, shear, bilinear": [CUT, RandomAffine(20, (0.1, 0.2), (0.8, 1.2), 10,
    interpolation="bilinear")],
    "RandomRotation": [CUT, RandomRotation(30, fill=77)],
    "Brightness": [CUT, ColorJitter((0.3, 1.7))],
    "Contrast": [CUT, ColorJitter(0, (0.3, 1.7))],
    "Color": [CUT, ColorJitter(0, 0, (0.3, 1.7))],
    "Hue": [CUT, ColorJitter(0, 0, 0, 0.1)],
    "Sharpness": [CUT, RandomAdjustSharpness(2, 1.0)],
    "Posterize": [CUT, RandomPosterize(3, 1.0)],
    "Solarize": [CUT, RandomSolarize(100.5, 1.0)],
    "Invert": [CUT, RandomInvert(0.5)],
    "AutoContrast": [CUT, RandomAutocontrast(1.0)],
    "Equalize": [CUT, RandomEqualize(1.0)],
    "Grayscale": [CUT, RandomGrayscale(1.0)],
    "GaussianBlur": [CUT, GaussianBlur((9, 5), (0.3, 2.0))],
    "RandAugment": [LARGE, RandomHorizontalFlip(), RandAugment(2, 9)],
    "RandAugment, Composer's": [LARGE, RandAugment.composer(9, 1), RandomHorizontalFlip()],
    "TrivialAugmentWide": [LARGE, TrivialAugmentWide()],
    "AutoAugment": [LARGE, AutoAugment()],
    "float32": [CUT, ToTensor(), Normalize(MEAN, STD)],
    "float16": [CUT, ToImage(channels_last=True), HALF, Normalize(MEAN, STD)],
    "bfloat16": [CUT, ToImage(), ToDtype("bfloat16", scale=True)],
    "ColOut": [CUT, ToImage(), ColOut(), ToDtype("float32", scale=False)],
    "ColOut, each image its own": [CUT, ToImage(channels_last=True), ColOut(0.3, 0.1), ColOut(0.2,
    0, batch=False)],
    "RandomErasing": [CUT, ToImage(), HALF, RandomErasing(0.7, value=(0.1, 0.5, 1.0)),
    RandomErasing(value=1, min_count=1, max_count=3)],
}  # fmt: skip


# Of images that are several times larger than the crop: DALI's edges differ the more, the more
# pixels make one.
OF_LARGE = {
    "resize, bilinear, of large images": [BOX, RandomHorizontalFlip()],
    "resize, bicubic, of large images": [RandomResizedCrop((31, 40), interpolation="bicubic")],
}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """16 JPEGs of some 300 px."""
    root = tmp_path_factory.mktemp("large")
    for number in range(16):
        path = root / f"class{number % 2}" / f"{number:02d}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(
            encoded(textured(250 + 13 * number, 420 - 11 * number, number), subsampling=number % 3)
        )
    return str(root)


def loader(path, ops, backend="dali", batch_size=6, **options):
    return fastload.DataLoader(
        fastload.open(path, ops),
        batch_size,
        **{"shuffle": True, "seed": 5, "backend": backend, **options},
    )


def difference(path, ops, **options):
    """The largest and the mean difference to native over an epoch, of 255; labels, types and layout
    are equal.
    """
    native, dali = (list(loader(path, ops, backend, **options)) for backend in ("native", "dali"))
    scale = 255 if native[0][0].is_floating_point() and native[0][0].max() < 10 else 1
    found = []
    for (want, want_labels), (images, labels) in zip(native, dali, strict=True):
        assert (images.dtype, images.shape, images.stride()) == (
            want.dtype,
            want.shape,
            want.stride(),
        )
        assert labels.dtype == torch.int64
        assert torch.equal(labels, want_labels)
        found.append(scale * np.abs(images.double().numpy() - want.double().numpy()).ravel())
    every = np.concatenate(found)
    return float(every.max()), float(every.mean())


@pytest.mark.parametrize("name", PIPELINES)
def test_pixels_are_as_near_to_native_as_the_table_says(name, folder):
    most, mean = difference(folder, PIPELINES[name])
    assert (most <= STATED[name][0], mean <= STATED[name][1]) == (True, True), (
        f"{name}: {most:.4f}, {mean:.5f}"
    )


@pytest.mark.parametrize("name", OF_LARGE)
def test_large_images_are_as_near_as_the_table_says(name, large):
    most, mean = difference(large, OF_LARGE[name])
    assert (most <= STATED[name][0], mean <= STATED[name][1]) == (True, True), (
        f"{name}: {most:.4f}, {mean:.5f}"
    )
    assert most > STATED["resize, bilinear"][0]


def test_what_differs_most_is_the_edge(large):
    native, dali = (
        torch.cat([images for images, _ in loader(large, [BOX], name)]).int()
        for name in ("native", "dali")
    )
    apart = (native - dali).abs()
    assert apart[..., 1:-1, 1:-1].max() == 1
    assert apart.max() > 3


def test_the_table_names_what_is_tested():
    assert set(STATED) == {*PIPELINES, *OF_LARGE}


@pytest.mark.parametrize("name", ["resize, bilinear", "decode, crop, flip"])
def test_whole_images_cut_are_the_same_pixels(name, folder, monkeypatch):
    """What replaces decoding of parts where that is broken, here on the CPU."""
    parts = [images for images, _ in loader(folder, PIPELINES[name])]
    monkeypatch.setattr("fastload.backends.dali.graph.whole_decode", lambda _: True)
    whole = [images for images, _ in loader(folder, PIPELINES[name])]
    assert all(torch.equal(a, b) for a, b in zip(parts, whole, strict=True))


def test_equalize_of_spiky_histograms(bad_folder, encode):
    """One value, two, a few, most pixels at an end, and less than one of Pillow's steps: where a
    rule for shares of pixels shows.
    """
    pixels = np.zeros((6, 40, 50, 3), np.uint8)
    pixels[0] = 77
    pixels[1, :10], pixels[1, 10:] = 30, 190
    pixels[2] = (np.arange(50) // 10 * 60)[None, :, None]
    pixels[3, ::9, ::7] = 255
    pixels[4] = 255
    pixels[4, :3, :4] = np.arange(12).reshape(3, 4, 1)
    pixels[5] = 255 - pixels[3]
    path = bad_folder(
        {f"{number}.png": encode(image, "PNG") for number, image in enumerate(pixels)}
    )
    native, dali = (
        torch.cat(
            [
                images
                for images, _ in loader(
                    path, [CenterCrop((40, 50)), RandomEqualize(1.0)], name, shuffle=False
                )
            ]
        ).int()
        for name in ("native", "dali")
    )
    assert len(native) == 7
    assert (native - dali).abs().max() <= 1


@pytest.mark.parametrize("whole", [False, True])
def test_the_gpus_graph_is_drawn_without_a_gpu(whole, folder, monkeypatch):
    monkeypatch.setattr("fastload.backends.dali.graph.whole_decode", lambda _: whole)
    decoders, asked = dali_graph.fn.decoders, []
    for name in ("image", "image_slice"):
        real = getattr(decoders, name)
        monkeypatch.setattr(
            decoders,
            name,
            lambda *nodes, real=real, **how: (
                asked.append((real.__name__, how)) or real(*nodes, **how)
            ),
        )
    for ops in PIPELINES.values():
        pictures = dali_inputs.pictures_of(plan(fastload.open(folder, ops).pipeline), own=False)
        drawn = dali_graph.pipeline(
            lambda: (),
            pictures,
            "cuda",
            batch_size=4,
            num_threads=1,
            device_id=0,
            prefetch_queue_depth=1,
        )
        assert drawn.device_id == 0
    assert {name for name, _ in asked} == ({"image"} if whole else {"image", "image_slice"})
    assert all(
        how["device"] == "mixed" and how["jpeg_fancy_upsampling"] for _, how in asked
    )  # or colours are not the CPU's
