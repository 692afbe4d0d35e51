"""Seek indexes that were made to lie and sealed again: refused where each place is reached from the
one before, safe everywhere.
"""

import struct
from pathlib import Path

import numpy as np
import pytest

from fastload import _native as native
from tests.kernels.helpers import files, jpeg, scene

HEIGHT, WIDTH = 53, 70  # px
HEADER, SEAL = 45, 8  # bytes; docs/formats.md, kernels/jpeg/seek.h
ROWS, COLUMNS = 7, 9  # MCUs of a 4:4:4 image
PLACE = {"bit": 36, "length": 37, "dc": 38, "least": 41}


def an_index(data: bytes, step: int) -> bytearray:
    return bytearray(native.jpeg_index(data, step))


def sealed(index: bytearray) -> bytes:
    return bytes(index[:-SEAL]) + struct.pack("<Q", native.xxh3(bytes(index[:-SEAL])))


def with_dc_shifted(data: bytes, by: int) -> bytes:
    """Every row but the first begins, and says that the one before ends, with another DC of luma:
    lies that agree with each other.
    """
    index = an_index(data, 0)
    widths = [index[PLACE["bit"]], *index[PLACE["dc"] : PLACE["dc"] + 3]]
    bits = int.from_bytes(index[HEADER:-SEAL], "little")
    record, mask = sum(widths), (1 << widths[1]) - 1
    for row in range(1, ROWS + 1):
        at = row * record + widths[0]
        dc = bits >> at & mask
        bits += (((dc + by) & mask) - dc) << at
    index[HEADER:-SEAL] = bits.to_bytes(len(index) - HEADER - SEAL, "little")
    return sealed(index)


def both(
    data: bytes, box: tuple[int, int, int, int], index: bytes
) -> tuple[np.ndarray | None, str]:
    pixels, reason = native.jpeg_region(data, box, index, "best")
    scalar, _ = native.jpeg_region(data, box, index, "scalar")
    assert (pixels is None) == (scalar is None) == bool(reason)
    if pixels is not None:
        np.testing.assert_array_equal(pixels, scalar)
    return pixels, reason


@pytest.fixture(scope="module")
def image() -> bytes:
    return jpeg(scene(HEIGHT, WIDTH), "4:4:4")


def test_lies_that_agree_are_refused_from_the_first_row_on(image: bytes) -> None:
    lie = with_dc_shifted(image, 1)
    for height in range(1, HEIGHT + 1):
        pixels, reason = both(image, (0, 0, height, WIDTH), lie)
        assert (pixels, reason) == (None, "index refused: a segment does not end at the next"), (
            height
        )


def test_lies_that_agree_shift_pixels_of_other_regions_and_nothing_else(image: bytes) -> None:
    """The limit that docs/formats.md states."""
    pixels, _ = both(image, (24, 0, 8, WIDTH), with_dc_shifted(image, 1))
    assert pixels is not None
    assert pixels.shape == (8, WIDTH, 3)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("bit", 41, "of a wrong size"),
        ("bit", 255, "of a wrong size"),
        ("length", 33, "of a wrong size"),
        ("dc", 17, "of a wrong size"),
        ("dc", 0, "of a wrong size"),
        ("bit", 0, "of a wrong size"),
    ],
)
def test_widths_that_do_not_fit(image: bytes, field: str, value: int, reason: str) -> None:
    index = an_index(image, 2)
    index[PLACE[field]] = value
    assert both(image, (0, 0, 5, 7), sealed(index)) == (None, f"index refused: {reason}")


@pytest.mark.parametrize("least", [1, 1 << 16, (1 << 32) - 1])
def test_lengths_beyond_the_row(image: bytes, least: int) -> None:
    index = an_index(image, 2)
    index[PLACE["least"] : PLACE["least"] + 4] = (
        int.from_bytes(index[PLACE["least"] : PLACE["least"] + 4], "little") + least
    ).to_bytes(5, "little")[:4]
    pixels, reason = both(image, (0, 0, HEIGHT, WIDTH), sealed(index))
    assert pixels is None
    assert reason.startswith("index refused: ")


def test_every_number_replaced_by_noise(image: bytes) -> None:
    """Sealed noise: the region's pixels from the first row on, or a refusal."""
    rng, want = np.random.default_rng(7), native.decode(image)
    for number in range(300):
        index = an_index(image, number % 4)
        first = int(rng.integers(HEADER, len(index) - SEAL))
        last = min(len(index) - SEAL, first + int(rng.integers(1, 20)))
        index[first:last] = rng.bytes(last - first)
        pixels, _ = both(image, (0, 0, 1 + number % HEIGHT, WIDTH), sealed(index))
        if pixels is not None:
            np.testing.assert_array_equal(pixels, want[: len(pixels)])
        both(image, (number % HEIGHT, number % WIDTH, 1, 1), sealed(index))


def test_an_index_has_no_say_in_the_verdict(image: bytes, tmp_path: Path) -> None:
    """Of a file that Pillow has to be asked for, an index that fits it, places and checksums and
    all, changes nothing.
    """
    stray = image[:-2] + b"\xff\xd8" + image[-2:]
    assert (
        native.jpeg_region(stray, (9, 0, 20, 30), native.jpeg_index(stray, 1), "best")[0]
        is not None
    )
    assert native.probe(stray)[0] == native.FOREIGN
    pool = native.Pool(0)
    index = native.jpeg_index(stray, 1)
    both, zero = files(tmp_path, [stray, index]), np.zeros(1, int)
    job = pool.fetch(
        both, zero, zero, np.full(1, -1), None, seek=(both, zero + 1, zero, zero + len(index))
    )
    job.wait_fetched()
    assert (job.status[0], job.message(0)) == (
        native.FOREIGN,
        "jpeg: a marker in its scan that does not belong there",
    )
