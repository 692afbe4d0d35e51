"""The own JPEG decoder: every region has libjpeg-turbo's pixels, to the bit, with and without an
index, scalar and tuned.
"""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import encoded, jpeg, noise, pillow, scene
from .jpeg_writer import Writer, segment

TARGETS = ("scalar", "best")
FACTORS = {
    "grey": [(1, 1)],
    "grey 2x2": [(2, 2)],
    "4:4:4": [(1, 1), (1, 1), (1, 1)],
    "4:2:2": [(2, 1), (1, 1), (1, 1)],
    "4:2:0": [(2, 2), (1, 1), (1, 1)],
    "4:4:0": [(1, 2), (1, 1), (1, 1)],
    "4:1:1": [(4, 1), (1, 1), (1, 1)],
    "4:1:0": [(4, 2), (1, 1), (1, 1)],
    "1x4": [(1, 4), (1, 1), (1, 1)],
    "chroma unlike": [(2, 2), (2, 1), (1, 2)],
    "2x1 of 2x2": [(2, 2), (1, 2), (1, 1)],
    "luma small": [(1, 1), (2, 2), (1, 1)],
    "all 2x1": [(2, 1), (2, 1), (2, 1)],
}
FEW_BYTES = 16 << 10  # kFewBytes of jpeg/huffman.h
ADOBE_RGB = segment(0xEE, b"Adobe\x00\x64\x00\x00\x00\x00\x00")
ADOBE_YCC = segment(0xEE, b"Adobe\x00\x64\x00\x00\x00\x00\x01")
JFIF = segment(0xE0, b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00")


def some_boxes(height, width, rng, count):
    boxes = [
        (0, 0, height, width),
        (height - 1, width - 1, 1, 1),
        (height // 2, 0, 1, width),
        (0, width // 2, height, 1),
    ]
    for _ in range(count):
        top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
        boxes.append(
            (
                top,
                left,
                int(rng.integers(1, height - top + 1)),
                int(rng.integers(1, width - left + 1)),
            )
        )
    return boxes


def check(data, rng, *, steps=(None, 0, 1, 3, 8), count=4, want=None):
    """Every box, by every way in; each box on one of the two targets.

    Once more with bytes behind the image: for larger files the decoder makes other tables, with
    symbols in pairs and long codes.
    """
    check_file(data, rng, steps, count, want)
    check_file(data + bytes(FEW_BYTES), rng, steps, count, want)


def check_file(data, rng, steps, count, want):
    whole = native.decode(data) if want is None else want
    height, width = whole.shape[:2]
    for step in steps:
        index = None if step is None else native.jpeg_index(data, step)
        for n, (top, left, h, w) in enumerate(some_boxes(height, width, rng, count)):
            for target in TARGETS if n == 0 else TARGETS[n % 2 :][:1]:
                pixels, reason = native.jpeg_region(data, (top, left, h, w), index, target)
                assert reason == ""
                expected = whole[top : top + h, left : left + w]
                np.testing.assert_array_equal(
                    pixels, expected, err_msg=f"{height}x{width} {step} {target} {top, left, h, w}"
                )


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_every_size_and_quality(sampling):
    rng = np.random.default_rng(1)
    for size in range(1, 71):
        height, width = size, int(rng.integers(1, 71))
        make = scene if size % 3 else noise
        options = {"restart_marker_blocks": int(rng.integers(1, 9))} if size % 4 == 0 else {}
        quality = int(rng.integers(1, 101))
        data = encoded(
            make(height, width), "JPEG", subsampling=sampling, quality=quality, **options
        )
        check(
            data,
            rng,
            steps=(None,) if options else (None, 0, int(rng.integers(1, 10))),
            want=pillow(data),
        )


@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling(name):
    rng = np.random.default_rng(2)
    for n in range(14):
        height, width = (int(v) for v in rng.integers(1, 71, 2))
        restart = int(rng.integers(1, 12)) if n % 3 == 0 else 0
        data = Writer(
            height, width, FACTORS[name], seed=n, restart=restart, long=n % 2 == 1
        ).encode()
        check(data, rng, steps=(None,) if restart else (None, 0, 2, 8), count=2)


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0"])
def test_images_of_several_strips(sampling):
    rng = np.random.default_rng(3)
    data = jpeg(scene(900, 700), sampling)
    check(data, rng, steps=(None, 0, 8), count=6)
    check(jpeg(scene(900, 700), sampling, restart_marker_rows=3), rng, steps=(None,), count=6)


def test_restart_intervals_of_any_length():
    rng = np.random.default_rng(4)
    for restart in (1, 2, 5, 7, 8, 9, 10, 49, 50, 1000, 65535):
        check(
            Writer(61, 77, FACTORS["4:2:0"], seed=restart, restart=restart).encode(),
            rng,
            steps=(None,),
            count=12,
        )


def test_long_codes_and_wide_quantisers():
    rng = np.random.default_rng(5)
    for n, quant in enumerate(([1] * 64, [255] * 64, [300] + [17] * 63, [16000] * 64)):
        data = Writer(
            40, 55, FACTORS["4:2:0"], seed=n, quant=quant, wide=max(quant) > 255, long=True
        ).encode()
        check(data, rng, count=3)
    check(Writer(40, 55, FACTORS["4:4:4"], long=True, density=0.9).encode(), rng, count=3)


def test_colour_follows_jfif_then_adobe_then_names():
    rng = np.random.default_rng(6)
    rgb = (ord("R"), ord("G"), ord("B"))
    cases = [
        {"head": ADOBE_RGB}, {"head": ADOBE_YCC}, {"head": JFIF + ADOBE_RGB},
        {"head": ADOBE_RGB + JFIF}, {"ids": rgb},
        {"ids": rgb, "head": JFIF}, {"ids": rgb, "head": ADOBE_YCC}, {"ids": (0, 1, 2)}, {"ids": (7,
        5, 9)}, {"sof": 0xC1},
        {"head": b"\xff\xff" + segment(0xFE, b"text" * 9)[1:]}, {"head": segment(0xEE,
        b"Adobe\x00\x64")},
    ]  # fmt: skip
    for case in cases:
        check(Writer(19, 23, FACTORS["4:4:4"], **case).encode(), rng, count=1)
    check(jpeg(scene(30, 41), "4:4:4", keep_rgb=True), rng, count=2)


def test_what_is_not_covered_says_so():
    whole = (0, 0, 16, 16)
    four = Writer(16, 16, [(1, 1)] * 4, ids=(1, 2, 3, 4)).encode()
    coding = "not covered: progressive, lossless, hierarchical or arithmetic coding"
    plain = Writer(16, 16, FACTORS["4:4:4"]).encode()
    cases = {
        four: "not covered: 4 components",
        Writer(16, 16, FACTORS["4:4:4"], sof=0xC9).encode(): coding,
        Writer(16, 16, [(3, 1), (2, 1), (1, 1)]).encode(): "not covered: fractional sampling",
        Writer(
            16, 16, FACTORS["4:4:4"], ids=(1, 1, 3)
        ).encode(): "not covered: components in another order",
        Writer(
            16, 16, FACTORS["4:4:4"], head=JFIF.replace(b"JFIF\x00\x01", b"JFIF\x00\x02")
        ).encode(): "not covered: JFIF version",
        Writer(0, 16, FACTORS["4:4:4"]).encode(): "not covered: size missing in the header",
        Writer(
            16, 16, [(4, 2), (2, 1), (1, 1)]
        ).encode(): "damaged at byte 75: too many blocks in an MCU",
        b"": "damaged at byte 0: no SOI marker",
        plain[:40]: "damaged at byte 4: segment longer than the file",
    }
    for data, reason in cases.items():
        for target in TARGETS:
            assert native.jpeg_region(data, whole, None, target) == (None, reason)
    for box in [(0, 0, 17, 16), (-1, 0, 5, 5), (0, 0, 0, 5), (3, 3, 2**31 - 1, 5)]:
        assert native.jpeg_region(plain, box, None, "best") == (
            None,
            "not covered: region outside the image",
        )


def test_index_is_small_and_always_the_same():
    data = jpeg(scene(375, 500), "4:4:4")
    rows, steps = native.jpeg_index(data, 0), native.jpeg_index(data, 8)
    assert steps == native.jpeg_index(data, 8)
    assert len(rows) < len(steps) < 0.03 * len(data)
    assert len(rows) < 68 + 48 * 9
    assert native.jpeg_index(data, 500) == native.jpeg_index(data, 63)


def test_index_is_refused_where_there_is_none_to_build():
    for data, reason in {
        jpeg(
            scene(16, 16), progressive=True
        ): "jpeg_index: not covered: progressive, lossless, hierarchical or arithmetic coding",
        jpeg(scene(16, 16), restart_marker_blocks=1): (
            "jpeg_index: not covered: restart markers, where decoding can begin without an index"
        ),
    }.items():
        with pytest.raises(ValueError) as error:
            native.jpeg_index(data, 8)
        assert str(error.value) == reason
    with pytest.raises(ValueError) as error:
        native.jpeg_index(b"", -1)
    assert str(error.value) == "jpeg_index: step (got -1, want 0..65535)"


def test_a_small_crop_of_a_hundred_megapixels():
    side = 10_000
    blocks = (side // 8) ** 2  # grey, each one "no change, no more": 4 + 8 zero bits
    head = Writer(8, 8, FACTORS["grey"]).encode()
    at = head.index(b"\xff\xc0") + 5
    data = (
        head[:at]
        + side.to_bytes(2, "big") * 2
        + head[at + 4 : head.index(b"\xff\xda") + 10]
        + bytes(blocks * 12 // 8 + 1)
        + b"\xff\xd9"
    )
    index = native.jpeg_index(data, 8)
    pixels, reason = native.jpeg_region(data, (side - 30, side - 50, 30, 50), index, "best")
    assert reason == ""
    assert (pixels == 128).all()
