"""The DALI backends and images that DALI refuses, that are no JPEGs, or that lie in memory."""

import numpy as np
import pytest
import torch

import fastload
from fastload.dataset import Dataset
from fastload.errors import SampleError
from fastload.plan.pipeline import Pipeline
from fastload.sources import ArraySource
from fastload.transforms import CenterCrop

from .dali_helpers import BOTH, equal, loader

pytest.importorskip("nvidia.dali", reason="NVIDIA DALI is not installed")


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("content", [b"", b"no image", "cut"])
def test_a_bad_sample_is_named_after_the_batches_before_it(
    backend, content, bad_folder, encode, make_image
):
    good = [encode(make_image(50, 60, number)) for number in range(12)]
    bad = good[9][:-300] if content == "cut" else content
    path = bad_folder(
        {f"{number:02d}.jpg": bad if number == 9 else data for number, data in enumerate(good)}
    )
    batches = iter(loader(path, backend=backend, batch_size=4, shuffle=False, num_workers=1))
    assert [len(next(batches)[0]) for _ in range(2)] == [4, 4]
    with pytest.raises(
        SampleError,
        match=r"/a/09\.jpg, sample 9: cannot be decoded \(.*\); mend or remove the file$",
    ):
        next(batches)
    assert [len(images) for images, _ in batches] == [1]  # the epoch goes on: 13 samples


def test_what_dali_itself_refuses_is_asked_of_pillow(bad_folder, encode, make_image, monkeypatch):
    monkeypatch.setattr(
        "fastload.backends.dali.inputs.certain", lambda *_: True
    )  # so that it reaches DALI
    good = encode(make_image(50, 60, 1))
    path = bad_folder({"1.jpg": good, "2.jpg": good[:-300], "3.jpg": good})
    batches = iter(loader(path, [CenterCrop((40, 50))], batch_size=1, shuffle=False, num_workers=1))
    assert len(list(zip(range(2), batches, strict=False))) == 2
    with pytest.raises(
        SampleError,
        match=r"2\.jpg, sample 2: cannot be decoded \(image file is truncated.*mend or remove the "
        r"file$",
    ):
        next(batches)
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    native = [
        images for images, _ in loader(path, [CenterCrop((40, 50))], "native", 3, shuffle=False)
    ]
    found = [
        images
        for images, _ in loader(
            path, [CenterCrop((40, 50))], "dali", 3, shuffle=False, num_workers=1
        )
    ]
    assert [torch.equal(a, b) for a, b in zip(native, found, strict=True)] == [True, True]


def test_png_and_grey_images_come_through_pillow(bad_folder, encode, make_image):
    pixels = make_image(50, 60, 3)
    path = bad_folder(
        {
            "1.jpg": encode(pixels, "PNG"),
            "2.jpg": encode(pixels[..., 0]),
            "3.png": encode(np.dstack([pixels, pixels[..., :1]]), "PNG"),
        }
    )
    native, found = (
        list(loader(path, [CenterCrop((40, 50))], name, shuffle=False))
        for name in ("native", "dali")
    )
    assert equal(native, found)


def test_pixels_in_memory():
    images = np.random.default_rng(0).integers(0, 256, (9, 20, 26, 3), np.uint8)
    source = ArraySource("memory", images, np.arange(9), ("a",) * 9)
    batches = fastload.DataLoader(
        Dataset(Pipeline(source, (CenterCrop((20, 26)),))), 9, backend="dali"
    )
    assert torch.equal(next(iter(batches))[0], torch.from_numpy(images).permute(0, 3, 1, 2))
