"""fastload.image.decode: its pixels, and every error."""

import io
import threading

import numpy as np
import pytest
import torch
from PIL import Image, UnidentifiedImageError

from fastload.errors import SampleError, UsageError
from fastload.image import decode
from tests.image.helpers import jpeg

INSIDE = "want left, top, right and bottom inside 203x131 px, width x height"
NAMES = "one of nearest, box, bilinear, hamming, bicubic, lanczos"
KINDS = [
    jpeg(),
    jpeg(mode="L"),
    jpeg(mode="CMYK"),
    jpeg(progressive=True),
    jpeg(format="PNG"),
    jpeg(mode="L", format="PNG"),
]


@pytest.mark.parametrize("data", KINDS, ids=["RGB", "L", "CMYK", "progressive", "PNG", "grey PNG"])
@pytest.mark.parametrize("region", [None, (20, 10, 121, 93)])
@pytest.mark.parametrize("size", [None, (48, 65)])
def test_pixels_are_pillows(data, region, size):
    want = Image.open(io.BytesIO(data)).convert("RGB").crop(region)
    if size is not None:
        want = want.resize(size[::-1], Image.Resampling.BILINEAR)
    got = decode(data, region=region, size=size)
    assert (got.dtype, got.shape) == (np.uint8, (want.height, want.width, 3))
    assert np.array_equal(got, np.asarray(want))
    assert np.array_equal(decode(memoryview(bytearray(data)), region=region, size=size), got)


@pytest.mark.parametrize("name", ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"])
def test_interpolations_are_pillows(name):
    want = Image.open(io.BytesIO(jpeg())).resize((70, 50), Image.Resampling[name.upper()])
    assert np.array_equal(decode(jpeg(), size=(50, 70), interpolation=name), np.asarray(want))


@pytest.mark.parametrize("data", KINDS[::4])
def test_out_is_filled(data):
    want = decode(data, size=(40, 50))
    for out in (np.empty((40, 50, 3), np.uint8), torch.empty((40, 50, 3), dtype=torch.uint8)):
        assert decode(data, size=(40, 50), out=out) is out
        assert np.array_equal(np.asarray(out), want)


def test_threads_share_nothing():
    want, wrong = decode(jpeg(), size=(40, 50)), []

    def run():
        for _ in range(20):
            if not np.array_equal(decode(jpeg(), size=(40, 50)), want):
                wrong.append(1)  # noqa: PERF401

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"region": (0, 0, 300, 9)},
            f"image.decode: region (got (0, 0, 300, 9), {INSIDE})",
        ),
        (
            {"region": (5, 5, 5, 9)},
            f"image.decode: region (got (5, 5, 5, 9), {INSIDE})",
        ),
        ({"region": 5}, f"image.decode: region (got 5, {INSIDE})"),
        ({"region": (0, 0, "9", 9)}, f"image.decode: region (got (0, 0, '9', 9), {INSIDE})"),
        (
            {"size": (0, 5)},
            "image.decode: size (got (0, 5), want height and width, 1 px or more)",
        ),
        ({"size": 5}, "image.decode: size (got 5, want height and width, 1 px or more)"),
        (
            {"size": (2.5, 5)},
            "image.decode: size (got (2.5, 5), want height and width, 1 px or more)",
        ),
        (
            {"interpolation": "area"},
            f"image.decode: interpolation (got 'area', want {NAMES})",
        ),
        (
            {"out": np.empty((131, 203), np.uint8)},
            "image.decode: out (got uint8 [131, 203], want uint8 [131, 203, 3])",
        ),
        (
            {"out": np.empty((131, 406, 3), np.uint8)[:, ::2]},
            "image.decode: out (got a view or a constant, want contiguous memory)",
        ),
    ],
)
@pytest.mark.parametrize("data", KINDS[::4], ids=["JPEG", "PNG"])
def test_arguments_that_make_no_sense(data, options, text):
    with pytest.raises(UsageError) as raised:
        decode(data, **options)
    assert str(raised.value) == text


def test_fractions_of_px_are_rounded_as_pillow_rounds_them():
    data, box = jpeg(), (1.7, 0.5, 40.4, 30.6)
    with Image.open(io.BytesIO(data)) as image:
        np.testing.assert_array_equal(decode(data, region=box), np.asarray(image.crop(box)))


def test_a_path_is_no_data():
    with pytest.raises(UsageError) as raised:
        decode("a.jpg")
    assert str(raised.value) == (
        "image.decode: data (got str, want encoded bytes); read the file first"
    )


def test_damaged_images_raise_pillows_class():
    with pytest.raises(SampleError) as raised:
        decode(b"no image")
    assert isinstance(raised.value, UnidentifiedImageError)
    assert str(raised.value) == (
        "image.decode: cannot be decoded (cannot identify image file); mend or remove the file"
    )
    with pytest.raises(SampleError, match="image file is truncated") as raised:
        decode(jpeg()[:-300])
    assert isinstance(raised.value, OSError)


@pytest.mark.parametrize("data", KINDS[::4], ids=["JPEG", "PNG"])
def test_pixel_limit_is_pillows(data, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 20_000)
    with pytest.warns(Image.DecompressionBombWarning):
        decode(data)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    with pytest.raises(SampleError) as raised:
        decode(data)
    assert isinstance(raised.value, Image.DecompressionBombError)
