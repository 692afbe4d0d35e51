"""Scaled decoding of bytes made to hurt: libjpeg-turbo's pixels, or a refusal; the same from both
targets.
"""

import numpy as np
import pytest

from fastload import _native as native
from tests.ways import ways_taken

from .helpers import fetch, files, jpeg, picture, scene
from .hostile_jpegs import SIZE, scan_of, seeds
from .jpeg_writer import Writer
from .test_hostile import mutated, small
from .test_jpeg_engine import FACTORS, some_boxes

SCALES = (2, 4, 8)


def by_library(data, scale):
    """The whole image, or None where libjpeg-turbo errs or warns."""
    try:
        return native.decode(data, scale)
    except ValueError:
        return None


def by_engine(data, box, index, scale):
    """Pixels or None, the same from both targets."""
    pixels, reason = native.jpeg_region(data, box, index, "scalar", scale)
    tuned, tuned_reason = native.jpeg_region(data, box, index, "best", scale)
    assert reason == tuned_reason
    assert (pixels is None) == bool(reason)
    if pixels is not None:
        np.testing.assert_array_equal(pixels, tuned)
    return pixels


def payloads(rng, count):
    """Half of them bytes changed anywhere, half flips in the scan, most of which libjpeg takes
    without a warning.
    """
    sources = [*seeds(), Writer(*SIZE, FACTORS["4:2:0"], restart=3).encode()]
    for n in range(count):
        data = bytearray(sources[n % len(sources)])
        data[int(rng.integers(scan_of(data) + 12, len(data) - 2))] ^= 1 << int(rng.integers(0, 8))
        changed = bytes(data) if n % 2 else mutated(bytes(data), rng)
        if small(changed):
            yield changed


@pytest.mark.parametrize("scale", SCALES)
def test_mutants(scale):
    rng = np.random.default_rng(scale)
    same = 0
    for data in payloads(rng, 400):
        status, height, width, *_ = native.probe(data)
        if status != native.OK:
            continue
        whole = (0, 0, -(-height // scale), -(-width // scale))
        want, got = by_library(data, scale), by_engine(data, whole, None, scale)
        if got is not None:
            np.testing.assert_array_equal(got, want)
            same += 1
        for box in some_boxes(*whole[2:], rng, 1):
            part = by_engine(data, box, None, scale)
            if part is not None and want is not None:
                top, left, h, w = box
                np.testing.assert_array_equal(part, want[top : top + h, left : left + w])
    assert same > 80


@pytest.mark.parametrize("scale", SCALES)
def test_boxes_outside_the_scaled_image_are_refused(scale):
    data = Writer(33, 49, FACTORS["4:2:0"]).encode()
    height, width = -(-33 // scale), -(-49 // scale)
    for box in [
        (0, 0, height + 1, width),
        (0, 0, height, width + 1),
        (height, 0, 1, 1),
        (-1, 0, 1, 1),
        (0, 0, 33, 49),
    ]:
        assert native.jpeg_region(data, box, None, "best", scale) == (
            None,
            "not covered: region outside the image",
        )


@pytest.mark.parametrize("quant", [[255] * 64, [300] + [17] * 63, [4000] * 64, [16000] * 64])
@pytest.mark.parametrize("scale", SCALES)
def test_coarse_quantisers_give_the_librarys_pixels_or_a_refusal(scale, quant):
    for seed in range(8):
        data = Writer(
            40, 55, FACTORS["4:2:0"], seed=seed, quant=quant, wide=True, long=True
        ).encode()
        whole = (0, 0, 40 // scale, -(-55 // scale))
        got = by_engine(data, whole, None, scale)
        if got is not None:
            np.testing.assert_array_equal(got, native.decode(data, scale))


@pytest.mark.parametrize("scale", [0, 3, 16, -2, 2**31 - 1])
def test_other_scales_are_refused(scale, tmp_path):
    data = Writer(16, 24, FACTORS["4:2:0"]).encode()
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, [data]))
    job.wait_fetched()
    crops, image, out = (
        np.array([[0, 0, 5, 6, 3, 3, 0, 0, 0, scale]], np.int32),
        np.zeros((9, 7, 3), np.uint8),
        np.zeros((1, 3, 3, 3), np.uint8),
    )
    calls = {
        "decode": lambda: native.decode(data, scale),
        "jpeg_region": lambda: native.jpeg_region(data, (0, 0, 1, 1), None, "best", scale),
        "crop_resize": lambda: native.crop_resize(image, crops[0], out[0], "box", "best"),
        "Job.run: crops[0]": lambda: job.run([picture(crops, "box", None, out, 3, 3, True)]),
    }
    for where, call in calls.items():
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == f"{where}: scale (got {scale}, want 1, 2, 4 or 8)"


@pytest.mark.parametrize("progressive", [False, True])
def test_a_job_counts_scaled_images_and_their_ways(tmp_path, progressive):
    pool = native.Pool(0)
    source = files(tmp_path, [jpeg(scene(50, 70), "4:2:0", progressive=progressive)] * 3)
    found = fetch(pool, source)
    found.wait_fetched()
    crops = np.repeat(np.array([[3, 5, 40, 60, 7, 9, 0, 0, 0, 1]], np.int32), 3, axis=0)
    crops[:, 9] = 1, 2, 4
    out = np.zeros((3, 7, 9, 3), np.uint8)
    found.run([picture(crops, "bilinear", None, out, 7, 9, True)])
    found.wait_done()
    ways = ways_taken(whole=3, scaled=2)
    assert pool.ways() == ways
