"""The own JPEG decoder on bytes made to hurt: libjpeg-turbo's pixels, or a refusal; never a crash,
never other pixels.
"""

import struct
import time

import numpy as np
import pytest

from fastload import _native as native

from .helpers import jpeg, noise, scene
from .hostile_jpegs import (
    SIZE,
    a_box,
    built_index,
    by_engine,
    by_library,
    check_rebuilt_index,
    despite_damage,
    scan_of,
    seeds,
)
from .jpeg_writer import Writer, dht, dqt, segment
from .test_hostile import mutated, small
from .test_jpeg_engine import FACTORS


def test_two_thousand_mutants(tmp_path):
    rng = np.random.default_rng(1)
    sources = seeds()
    payloads = [mutated(sources[n % len(sources)], rng) for n in range(1000)]
    for n in range(1000):  # flips in the scan alone: most of what libjpeg takes without a warning
        data = bytearray(sources[n % len(sources)])
        data[int(rng.integers(scan_of(data) + 12, len(data) - 2))] ^= 1 << int(rng.integers(0, 8))
        payloads.append(bytes(data))
    payloads = [data for data in payloads if small(data)]
    boxes = [(0, 0, *SIZE) if n % 2 else a_box(rng) for n in range(len(payloads))]
    taken = both = 0
    for data, box, want in zip(payloads, boxes, by_library(tmp_path, payloads, boxes), strict=True):
        got = by_engine(data, box)
        taken += got is not None
        both += want is not None
        if (
            got is not None and want is None
        ):  # libjpeg decodes more: the rest of the last row of tiles
            assert box != (0, 0, *SIZE)
            want = despite_damage(data)[box[0] : box[0] + box[2], box[1] : box[1] + box[3]]
        if got is not None:
            np.testing.assert_array_equal(got, want)
        check_rebuilt_index(data, box, got)
    assert both * 0.7 < taken < both * 1.02


WINDOW = 96 << 10  # bytes of a scan that the decoder holds at a time
LONG = (
    640,
    2584,
    # Px, 80 rows of 323 blocks: the 24 that are decoded together then begin with the last four of a
    # window of empty ones
)


def with_long_codes(coded):
    """A grey file whose codes all have 16 bits; zeros are the longest blocks that there can be, 0 0
    0 1 is an empty one.
    """
    tables = dqt(0, [1] * 64, wide=False) + dht(0x00, [(16, 0)]) + dht(0x10, [(16, 10), (16, 0)])
    frame = segment(
        0xC0,
        bytes([8])
        + LONG[0].to_bytes(2, "big")
        + LONG[1].to_bytes(2, "big")
        + bytes([1, 1, 0x11, 0]),
    )
    return b"\xff\xd8" + tables + frame + segment(0xDA, bytes([1, 1, 0, 0, 63, 0])) + coded


@pytest.mark.parametrize("past", [0, 1, -16, WINDOW])
@pytest.mark.parametrize("block", [bytes(4), b"\0\0\0\1"], ids=["long", "empty"])
def test_a_file_that_ends_where_the_window_does(block, past):
    """What is read behind the coded bytes is the decoder's own memory (sanitizers would tell), and
    no block.
    """
    data = with_long_codes((block * WINDOW)[: WINDOW + past])
    complete = block != bytes(4) and past > 0 and (WINDOW + past) // 4 - 4 >= 80 * 323
    assert (by_engine(data, (0, 0, *LONG)) is not None) == complete
    assert isinstance(built_index(data, 8), bytes) == complete


def test_mutants_with_restart_markers(tmp_path):
    rng = np.random.default_rng(3)
    sources = [
        Writer(*SIZE, FACTORS["4:2:0"], seed=n, restart=restart).encode()
        for n, restart in enumerate((1, 3, 4, 9))
    ]
    payloads = [data for n in range(600) if small(data := mutated(sources[n % len(sources)], rng))]
    boxes = [a_box(rng) for _ in payloads]
    same = 0
    for data, box, want in zip(payloads, boxes, by_library(tmp_path, payloads, boxes), strict=True):
        got = by_engine(data, box)
        if got is not None and want is not None:
            np.testing.assert_array_equal(got, want)
            same += 1
    assert same > 20


def test_cut_off_at_every_byte(tmp_path):
    for data in (
        jpeg(scene(19, 22), "4:2:0"),
        Writer(19, 22, FACTORS["4:4:4"], restart=2).encode(),
    ):
        payloads = [data[:end] for end in range(len(data))]
        wants = by_library(tmp_path, payloads, [(0, 0, 19, 22)] * len(payloads))
        for payload, want in zip(payloads, wants, strict=True):
            got = by_engine(payload, (0, 0, 19, 22))
            assert got is None or np.array_equal(got, want)
        assert by_engine(data, (0, 0, 19, 22)) is not None


def test_fill_bytes_are_no_marker(tmp_path):
    """libjpeg reads on behind them, to the end of the file."""
    data = jpeg(scene(19, 22), "4:2:0")
    payloads = [
        data[: len(data) - cut] + b"\xff" * count for cut in range(2, 12) for count in (1, 2, 3, 40)
    ]
    wants = by_library(tmp_path, payloads, [(0, 0, 19, 22)] * len(payloads))
    assert None in wants
    for payload, want in zip(payloads, wants, strict=True):
        got = by_engine(payload, (0, 0, 19, 22))
        assert got is None or np.array_equal(got, want)
    np.testing.assert_array_equal(
        by_engine(data[:-2] + b"\xff" * 40 + data[-2:], (0, 0, 19, 22)), native.decode(data)
    )


def test_garbage_behind_the_image_changes_nothing():
    data = jpeg(scene(*SIZE), "4:2:0")
    for tail in (b"\x00" * 100, data, b"\xff" * 50, b"\xff\xd0\xff\xd9"):
        np.testing.assert_array_equal(by_engine(data + tail, (0, 0, *SIZE)), native.decode(data))
        index = native.jpeg_index(data + tail, 2)
        np.testing.assert_array_equal(
            by_engine(data + tail, (0, 0, *SIZE), index), native.decode(data)
        )


def test_random_bytes():
    rng = np.random.default_rng(4)
    for _ in range(300):
        assert (
            by_engine(b"\xff\xd8\xff" + rng.bytes(int(rng.integers(0, 3000))), (0, 0, 1, 1)) is None
        )


def with_size(data, height, width):
    at = data.index(b"\xff\xc0")
    return data[: at + 5] + struct.pack(">HH", height, width) + data[at + 9 :]


def test_sizes_that_lie():
    data, start = jpeg(noise(32, 32), "4:2:0"), time.process_time()
    for size in [(65500, 65500), (65535, 1), (1, 65535), (30000, 5000), (1, 1), (33, 32)]:
        lie = with_size(data, *size)
        for box in [(0, 0, 1, 1), (size[0] - 1, size[1] - 1, 1, 1)]:
            by_engine(lie, box, None)
        with_index = native.jpeg_region(lie, (0, 0, 1, 1), native.jpeg_index(data, 8), "best")
        assert with_index[0] is None
    assert time.process_time() - start < 5
    assert (
        native.jpeg_region(with_size(data, 65500, 65500), (0, 0, 1, 1), None, "best")[1]
        == "not covered: too many pixels"
    )


@pytest.mark.parametrize("counts", [[3], [2, 1], [0, 4], [1, 2], [0] * 15 + [255], [0, 0, 8]])
def test_tables_with_too_many_codes(counts):
    data = Writer(16, 16, FACTORS["4:4:4"]).encode()
    at = data.index(b"\xff\xc4")
    length = int.from_bytes(data[at + 2 : at + 4], "big")
    counts = counts + [0] * (16 - len(counts))
    body = bytes([0, *counts, *(n % 12 for n in range(sum(counts)))])
    bad = (
        data[:at]
        + b"\xff\xc4"
        + (len(body) + 2).to_bytes(2, "big")
        + body
        + data[at + 2 + length :]
    )
    pixels, reason = native.jpeg_region(bad, (0, 0, 16, 16), None, "best")
    assert pixels is None
    too_many = counts[15] != 255
    assert ("Huffman table has too many codes" in reason) == too_many
    with pytest.raises(ValueError):
        native.decode(bad)
