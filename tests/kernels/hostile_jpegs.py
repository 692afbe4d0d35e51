"""JPEGs and indexes made to hurt, and what both decoders say of them."""

import struct
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFile

from fastload import _native as native

from .helpers import fetch, files, jpeg, picture, scene
from .jpeg_writer import Writer
from .test_jpeg_engine import FACTORS

SIZE = 37, 53
SEAL = 8


def by_library(tmp_path, payloads, boxes):
    """What libjpeg-turbo makes of each region: pixels, or None where it errs or warns."""
    pool = native.Pool(2)
    job = fetch(pool, files(tmp_path, payloads))
    job.wait_fetched()
    crops = np.zeros((len(payloads), 9), np.int32)
    crops[:, :4] = boxes
    crops[:, 4:6] = crops[:, 2:4]
    fits = (job.sizes[:, 0] >= crops[:, 0] + crops[:, 2]) & (
        job.sizes[:, 1] >= crops[:, 1] + crops[:, 3]
    )
    crops[~fits, :6] = [0, 0, 1, 1, 1, 1]
    out = np.zeros((len(payloads), *SIZE, 3), np.uint8)
    job.run([picture(crops, "box", None, out, *SIZE, True)])
    job.wait_done()
    good = fits & (job.status == native.OK)
    return [out[n, : box[2], : box[3]] if good[n] else None for n, box in enumerate(boxes)]


def by_engine(data, box, index=None):
    """Pixels or None, the same from both targets."""
    pixels, reason = native.jpeg_region(data, box, index, "scalar")
    tuned, tuned_reason = native.jpeg_region(data, box, index, "best")
    assert (pixels is None) == (tuned is None), (reason, tuned_reason)
    assert (pixels is None) == bool(reason)
    if pixels is not None:
        np.testing.assert_array_equal(pixels, tuned)
    return pixels


def a_box(rng):
    top, left = int(rng.integers(0, SIZE[0])), int(rng.integers(0, SIZE[1]))
    return (
        top,
        left,
        int(rng.integers(1, SIZE[0] - top + 1)),
        int(rng.integers(1, SIZE[1] - left + 1)),
    )


def seeds():
    writers = [
        Writer(*SIZE, FACTORS[name], seed=5, long=name == "4:2:0")
        for name in ("4:4:4", "4:2:0", "4:1:1", "grey")
    ]
    images = [
        jpeg(scene(*SIZE), sampling, **options)
        for sampling in ("4:4:4", "4:2:2", "4:2:0")
        for options in ({}, {"optimize": True})
    ]
    return images + [writer.encode() for writer in writers]


def scan_of(data):
    return data.index(b"\xff\xda") + 2


def despite_damage(data):
    """libjpeg-turbo's pixels without regard to its warnings; those before the damage are right."""
    with Image.open(BytesIO(data)) as image, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
        return np.asarray(image.convert("RGB"))


def check_rebuilt_index(data, box, plain):
    """With the index of the damaged file itself: the same pixels, or a refusal."""
    index = built_index(data, 2)
    if isinstance(index, str):
        return
    got = by_engine(data, box, index)
    if got is not None and plain is not None:
        np.testing.assert_array_equal(got, plain)


def built_index(data, step):
    """The index or why there is none, the same from both targets."""
    found = []
    for target in ("scalar", "best"):
        try:
            found.append(native.jpeg_index(data, step, target))
        except ValueError as error:
            found.append(str(error))
    assert found[0] == found[1]
    return found[0]


def seal(index):
    return index[:-SEAL] + struct.pack("<Q", native.xxh3(index[:-SEAL]))
