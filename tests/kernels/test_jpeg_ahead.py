"""MCUs that are found from several places of a scan at once (kernels/jpeg/entropy_ahead.h): the
same indexes, pixels and words as by decoding in order.
"""

import numpy as np
import pytest

from fastload import _native as native

from .coefficient_writer import write_jpeg
from .helpers import encoded, jpeg, noise, scene
from .hostile_jpegs import built_index, scan_of
from .test_jpeg_engine import some_boxes

# Bytes of coded MCUs from which on more than one place is tried, in any window of a scan
SEVERAL = 4 << 10


def check(data):
    assert len(data) > SEVERAL
    for step in (0, 1, 8):
        assert isinstance(built_index(data, step), bytes)
    rng = np.random.default_rng(len(data))
    height, width = native.decode(data).shape[:2]
    for box in some_boxes(height, width, rng, 3):
        want, got = (native.jpeg_region(data, box, None, each) for each in ("scalar", "best"))
        assert want[0] is not None
        np.testing.assert_array_equal(got[0], want[0])


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_photographs(sampling):
    check(jpeg(scene(330, 470), sampling))
    check(jpeg(scene(150, 900), sampling, optimize=True))


def test_grey_and_noise():
    check(encoded(scene(300, 500)[..., 0], "JPEG", quality=90))
    check(encoded(noise(200, 280), "JPEG", quality=100))  # the longest codes
    check(encoded(noise(200, 280), "JPEG", quality=5))


def test_more_than_a_window():
    data = encoded(noise(400, 700), "JPEG", quality=97, subsampling=0)
    assert len(data) > 300 << 10
    check(data)


def test_mcus_of_a_few_bits():
    """So many that a lane has no room for all of them."""
    flat = np.full((2400, 3000, 3), 90, np.uint8)
    flat[1100:1140, ::7] = 250
    check(encoded(flat, "JPEG", quality=50, subsampling=0))


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_bytes_that_are_not_spread_evenly(sampling):
    """Lanes get ahead of each other, and the region is not where its share of the bytes says."""
    image = scene(640, 520)
    image[:300] = 90
    image[500:, :260] = noise(140, 260)
    check(jpeg(image, sampling))
    check(jpeg(image[::-1], sampling))


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0"])
def test_damage(sampling):
    """What is said, and which pixels there are above it."""
    rng = np.random.default_rng(3)
    data = jpeg(scene(260, 400), sampling)
    first, good, pixels = scan_of(data) + 12, 0, 0
    for _ in range(40):
        bad = bytearray(data)
        for at in rng.integers(first, len(data) - 2, int(rng.integers(1, 4))):
            bad[at] ^= 1 << int(rng.integers(8))
        good += isinstance(built_index(bytes(bad), 8), bytes)
        for box in some_boxes(260, 400, rng, 1):
            one, other = (native.jpeg_region(bytes(bad), box, None, t) for t in ("scalar", "best"))
            assert one[1] == other[1]
            assert (one[0] is None) == (other[0] is None)
            if one[0] is not None:
                np.testing.assert_array_equal(other[0], one[0])
                pixels += 1
    assert 5 < good < 35
    assert 40 < pixels < 190


def test_every_length():
    """The scan ends anywhere; of what is missing nothing is made up."""
    data = jpeg(scene(120, 330), "4:2:0")
    for end in range(len(data) - 700, len(data) - 2, 13):
        built_index(data[:end] + b"\xff\xd9", 8)


def test_files_that_are_cut_off_near_the_end_of_a_window():
    """Without a marker the last bytes do not count, so MCUs of the window before may lie behind
    where the file ends.
    """
    data = encoded(noise(48, 20000)[..., 0], "JPEG", quality=30)  # rows longer than a piece
    first = scan_of(data) + 12
    stuffed = np.flatnonzero(np.frombuffer(data[first:], np.uint8) == 0xFF)
    window = first + (96 << 10) + int(np.searchsorted(stuffed - np.arange(len(stuffed)), 96 << 10))
    assert window + 40 < len(data)
    for end in range(window - 20, window + 40):
        said = built_index(data[:end], 0)
        assert isinstance(said, str)
        assert said.startswith("jpeg_index: damaged near byte ")


@pytest.mark.parametrize("factor", [(2, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("most", [32767, 32768])
def test_dc_that_leaves_16_bits_within_an_mcu(factor, most):
    """It rises and falls again; what lies between two MCUs has 16 bits."""
    across, down = factor
    rows, columns = 6, 70  # MCUs
    dc = np.zeros(rows * columns * across * down, np.int64)
    peak = (3 * columns + 40) * across * down + across  # of the second row, if there is one
    rise = np.minimum(32000, 2000 * np.arange(40))
    dc[peak - len(rise) + 1 : peak + 1], dc[peak : peak + len(rise)] = rise, rise[::-1]
    dc[peak] = most
    blocks = [np.zeros((rows * v, columns * h, 64), np.int64) for h, v in (factor, (1, 1), (1, 1))]
    placed = dc.reshape(rows, columns, down, across).transpose(0, 2, 1, 3)
    blocks[0][..., 0] = placed.reshape(rows * down, columns * across)
    blocks[0][..., 1:9] = np.random.default_rng(0).integers(-90, 90, (*blocks[0].shape[:2], 8))
    size = rows * down * 8, columns * across * 8
    data = write_jpeg(*size, [factor, (1, 1), (1, 1)], blocks, [[1] * 64] * 3)
    assert len(data) > SEVERAL
    said = built_index(data, 8)
    assert isinstance(said, bytes if most == 32767 else str)
    for box in ((0, 0, *size), (9, 30, size[0] - 9, 300)):
        one, other = (native.jpeg_region(data, box, None, t) for t in ("scalar", "best"))
        assert one[1] == other[1]
        assert (one[0] is None) == (other[0] is None)
        if one[0] is not None:
            np.testing.assert_array_equal(other[0], one[0])
