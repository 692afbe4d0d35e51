"""The own JPEG decoder on bytes made to hurt: libjpeg-turbo's pixels, or a refusal; never a crash,
never other pixels.
"""

import struct
import time
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFile

from fastload import _native as native

from .helpers import fetch, files, jpeg, noise, picture, scene
from .jpeg_writer import Writer, dht, dqt, segment
from .test_hostile import mutated, small
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


def test_mutants_with_the_index_of_the_file_before():
    rng = np.random.default_rng(2)
    for n, data in enumerate(seeds() * 20):
        index = native.jpeg_index(data, 1 + n % 5)
        other = mutated(data, rng)
        if other != data:
            assert by_engine(other, a_box(rng), index) is None


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


def seal(index):
    return index[:-SEAL] + struct.pack("<Q", native.xxh3(index[:-SEAL]))


def test_damaged_indexes_are_refused():
    rng = np.random.default_rng(5)
    data = jpeg(scene(*SIZE), "4:2:0")
    index = native.jpeg_index(data, 1)
    for _ in range(1000):
        bad = mutated(index, rng)
        if bad != index:
            assert by_engine(data, a_box(rng), bad) is None
    for end in range(len(index)):
        assert by_engine(data, (0, 0, 1, 1), index[:end]) is None


def test_indexes_that_lie():
    """Well-formed, and still wrong: each number fits what is decoded before it or behind it, or its
    segment is refused.
    """
    rng = np.random.default_rng(6)
    taken = refused = 0
    for data in seeds():
        whole = native.decode(data)
        index = native.jpeg_index(data, int(rng.integers(0, 4)))
        for _ in range(300):
            bad = bytearray(index)
            for _ in range(int(rng.integers(1, 4))):
                bad[int(rng.integers(36, len(bad) - SEAL))] ^= 1 << int(rng.integers(0, 8))
            top, left, height, width = box = a_box(rng)
            got = by_engine(data, box, seal(bytes(bad)))
            taken, refused = taken + (got is not None), refused + (got is None)
            if got is not None:
                np.testing.assert_array_equal(got, whole[top : top + height, left : left + width])
    assert taken > 100
    assert refused > 1000


def test_index_of_another_file():
    one, other = jpeg(scene(*SIZE, 1), "4:4:4"), jpeg(scene(*SIZE, 2), "4:4:4")
    index = native.jpeg_index(one, 2)
    assert (
        native.jpeg_region(other, (0, 0, 5, 5), index, "best")[1]
        == "index refused: of a file of another size"
    )
    flipped = bytearray(one)
    flipped[-30] ^= 1
    assert (
        native.jpeg_region(bytes(flipped), (0, 0, 5, 5), index, "best")[1]
        == "index refused: of another file"
    )
    assert (
        native.jpeg_region(one, (0, 0, 5, 5), b"FLSI\x01" + index[5:], "best")[1]
        == "index refused: not an index of this version"
    )
