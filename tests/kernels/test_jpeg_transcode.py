"""JPEGs rewritten as one baseline scan: the same coefficients, markers and pixels, and the own
decoder takes the result.
"""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fastload import _native as native

from .helpers import encoded, jpeg, noise, pillow, scene
from .jpeg_writer import Writer, segment
from .test_hostile import mutated, small
from .test_jpeg_engine import ADOBE_RGB, ADOBE_YCC, FACTORS, JFIF

tools = pytest.importorskip(
    "fastload._test_recode", reason="built with FASTLOAD_TEST_MODULES=ON only"
)

SIZE = 37, 53
STAYS = "not a JPEG that can be rewritten"


def script(count, *, smooth=True):
    """A progressive script:

    DC, then the AC coefficients of each component in two bands and two steps; smooth=False: one
    step.
    """
    first = [(list(range(count)), 0, 0, 0, 1)] + [
        ([c], low, high, 0, 1) for c in range(count) for low, high in ((1, 5), (6, 63))
    ]
    last = [(list(range(count)), 0, 0, 1, 0)] + [([c], 1, 63, 1, 0) for c in range(count)]
    return first + (last if smooth else [])


def alone(count):
    return [([c], 0, 63, 0, 0) for c in range(count)]


def codings(count):
    """Name of the coding, and how to recode a baseline file of `count` components so."""
    yield "progressive", {"scans": script(count)}
    yield "progressive", {"scans": script(count), "restart": 3}
    yield "arithmetic", {"scans": [], "arithmetic": True}
    yield "arithmetic", {"scans": [], "arithmetic": True, "restart": 2}
    yield "arithmetic", {"scans": script(count), "arithmetic": True}
    yield "restart-marked", {"scans": [], "restart": 1}
    yield "restart-marked", {"scans": [], "restart": 5}
    if count > 1:
        yield "multi-scan", {"scans": alone(count)}
        yield "multi-scan", {"scans": alone(count), "restart": 4}
        yield "multi-scan", {"scans": [([0], 0, 63, 0, 0), ([1, 2], 0, 63, 0, 0)]}
        yield "arithmetic", {"scans": alone(count), "arithmetic": True}


def segments(data):
    """APPn and COM segments before the first scan, in their order."""
    at, out = 2, []
    while data[at + 1] != 0xDA:
        length = 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if data[at + 1] >= 0xE0:
            out.append(data[at : at + length])
        at += length
    return out


def with_markers(data, head):
    """The file with these segments instead of its own."""
    for found in segments(data):
        data = data.replace(found, b"", 1)
    return data[:2] + head + data[2:]


def scan_starts(data):
    return [at for at in range(len(data) - 1) if data[at : at + 2] == b"\xff\xda"]


def rewritten(data, coding):
    """The result, after everything that can be asked of it without knowing the pixels."""
    assert native.jpeg_coding(data) == coding
    out, reason = native.jpeg_transcode(data)
    assert reason == ""
    assert segments(out) == segments(data)
    for before, after in zip(tools.coefficients(data), tools.coefficients(out), strict=True):
        np.testing.assert_array_equal(before, after)
    assert native.jpeg_coding(out) == "baseline"
    assert native.jpeg_transcode(out) == (None, "baseline already")
    return out


def check(data, coding, want, rng):
    out = rewritten(data, coding)
    np.testing.assert_array_equal(native.decode(out), want)
    height, width = want.shape[:2]
    top, left = int(rng.integers(0, height)), int(rng.integers(0, width))
    box = top, left, height - top, width - left
    for index in (None, native.jpeg_index(out, 0), native.jpeg_index(out, 3)):
        pixels, reason = native.jpeg_region(out, box, index, "best")
        assert reason == ""
        np.testing.assert_array_equal(pixels, want[top:, left:])
    return out


@pytest.mark.parametrize("mode", ["4:4:4", "4:2:2", "4:2:0", "grey"])
def test_pillow_gives_the_same_file_as_baseline(mode):
    """Known answers: an optimised baseline file of the same pixels, to the byte."""
    rng = np.random.default_rng(1)
    for size in range(1, 71):
        height, width = (
            (size, int(rng.integers(1, 71))) if size % 2 else (int(rng.integers(1, 71)), size)
        )
        pixels = (scene if size % 3 else noise)(height, width)
        how = {"quality": int(rng.integers(1, 101))} | (
            {} if mode == "grey" else {"subsampling": mode}
        )
        pixels = pixels[..., 0] if mode == "grey" else pixels
        want = encoded(pixels, "JPEG", optimize=True, **how)
        assert rewritten(encoded(pixels, "JPEG", progressive=True, **how), "progressive") == want
        blocks = int(rng.integers(1, 20))
        assert (
            rewritten(
                encoded(pixels, "JPEG", restart_marker_blocks=blocks, **how), "restart-marked"
            )
            == want
        )
        assert (
            rewritten(encoded(pixels, "JPEG", restart_marker_rows=1, **how), "restart-marked")
            == want
        )


@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling_in_every_coding(name):
    rng = np.random.default_rng(2)
    for n in range(3):
        height, width = (int(v) for v in rng.integers(1, 71, 2))
        plain = Writer(height, width, FACTORS[name], seed=n, long=n % 2 == 1, wide=n == 2).encode()
        want = native.decode(plain)
        results = {
            check(tools.recode(plain, **how), coding, want, rng)
            for coding, how in codings(len(FACTORS[name]))
        }
        assert len(results) == 1


EXIF = segment(0xE1, b"Exif\x00\x00II*\x00\x08" + bytes(9))
PROFILE = segment(0xE2, b"ICC_PROFILE\x00\x01\x02" + bytes(range(256)) * 250) + segment(
    0xE2, b"ICC_PROFILE\x00\x02\x02end"
)
COMMENT = segment(0xFE, b"two" * 20000)
MARKERS = {
    "none": (b"", (1, 2, 3)),
    "none, ids from 0": (b"", (0, 1, 2)),
    "none, ids RGB": (b"", (82, 71, 66)),
    "JFIF": (JFIF, (1, 2, 3)),
    "JFIF, density": (segment(0xE0, b"JFIF\x00\x01\x02\x01\x01\x2c\x00\x48\x00\x00"), (1, 2, 3)),
    "JFIF, ids RGB": (JFIF, (82, 71, 66)),
    "Adobe RGB": (ADOBE_RGB, (1, 2, 3)),
    "Adobe YCC, ids RGB": (ADOBE_YCC, (82, 71, 66)),
    "Adobe RGB after JFIF": (JFIF + ADOBE_RGB, (1, 2, 3)),
    "EXIF, ICC, COM": (
        segment(0xFE, b"one") + EXIF + PROFILE + JFIF + segment(0xEF, b"") + COMMENT,
        (1, 2, 3),
    ),
}


@pytest.mark.parametrize("name", MARKERS)
def test_markers_and_colours_stay(name):
    rng = np.random.default_rng(3)
    head, ids = MARKERS[name]
    plain = Writer(*SIZE, FACTORS["4:2:0"], seed=3, head=head, ids=ids).encode()
    want = native.decode(plain)
    for coding, how in codings(3):
        out = check(with_markers(tools.recode(plain, **how), head), coding, want, rng)
        assert out.startswith(b"\xff\xd8" + head + b"\xff\xdb")
        np.testing.assert_array_equal(pillow(out), want)


def test_two_ways_to_read_colours_are_tested():
    pixels = {
        native.decode(
            Writer(*SIZE, FACTORS["4:2:0"], seed=3, head=head, ids=ids).encode()
        ).tobytes()
        for head, ids in MARKERS.values()
    }
    assert len(pixels) == 2


def test_what_follows_the_end_marker_stays():
    plain = jpeg(scene(*SIZE))
    for tail in (b"\x00", b"\xff\xd8\xff\xe1 another image \xff\xd9", bytes(5000)):
        assert rewritten(tools.recode(plain, script(3)) + tail, "progressive").endswith(
            b"\xff\xd9" + tail
        )
        assert rewritten(tools.recode(plain, [], restart=2) + tail, "restart-marked").endswith(
            b"\xff\xd9" + tail
        )


def test_pillow_reads_the_same_metadata():
    image = Image.fromarray(scene(*SIZE))
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation
    out = BytesIO()
    image.save(
        out,
        "JPEG",
        progressive=True,
        exif=exif,
        icc_profile=bytes(70000),
        comment=b"said",
        dpi=(300, 72),
    )
    before, after = (
        Image.open(BytesIO(data))
        for data in (out.getvalue(), rewritten(out.getvalue(), "progressive"))
    )
    assert before.info.pop("progressive") == before.info.pop("progression") == 1
    assert after.info == before.info
    assert after.info["dpi"] == (300, 72)
    assert after.getexif()[0x0112] == 6


def stays(data):
    out, reason = native.jpeg_transcode(data)
    assert out is None
    return reason


@pytest.mark.parametrize("marker", [segment(0xFE, b"late"), ADOBE_RGB])
def test_markers_between_scans_stay(marker):
    data = tools.recode(jpeg(scene(*SIZE)), script(3))
    at = scan_starts(data)[2]
    before = data.rfind(b"\xff\xc4", 0, at)  # in front of the scan's tables
    assert stays(data[:before] + marker + data[before:]) == "markers between its scans"


def test_a_progressive_file_without_its_last_scans_stays():
    """libjpeg shows such a file smoothed, which no baseline file can ask for."""
    data = tools.recode(jpeg(scene(*SIZE)), script(3, smooth=False))
    assert native.jpeg_coding(data) == "progressive"
    assert stays(data) == "a progressive file without all its scans"


def test_scans_are_limited():
    plain = encoded(scene(*SIZE)[..., 0], "JPEG")
    many = [
        ([0], 0, 0, 0, 0),
        *(([0], n, n, 0, 1) for n in range(1, 64)),
        *(([0], n, n, 1, 0) for n in range(1, 64)),
    ]
    rewritten(tools.recode(plain, [*many[:99], ([0], 36, 63, 1, 0)]), "progressive")
    assert (
        stays(tools.recode(plain, many[:101]))
        == stays(tools.recode(plain, many))
        == "more than 100 scans"
    )


def test_two_tables_under_one_number_stay():
    data = tools.recode(Writer(*SIZE, FACTORS["4:4:4"], seed=1).encode(), alone(3))
    table = data.index(b"\xff\xdb")
    other = data[table : table + 5] + bytes([77] * 64)
    second = data.rfind(b"\xff\xc4", 0, scan_starts(data)[1])
    assert (
        stays(data[:second] + other + data[second:])
        == "Cannot transcode due to multiple use of quantization table 0"
    )


def test_more_blocks_than_an_mcu_may_have_stay():
    """Scans of one component each have MCUs of one block, whatever the factors."""
    each = [([c], 0, 0, 0, 0) for c in range(3)] + [([c], 1, 63, 0, 0) for c in range(3)]
    data = tools.recode(Writer(*SIZE, FACTORS["4:4:4"], seed=1).encode(), each)
    rewritten(data, "progressive")
    data = data.replace(b"\x11\x00", b"\x22\x00", 3)
    assert stays(data) == "Sampling factors too large for interleaved scan"


def test_what_the_own_decoder_would_not_take_stays():
    coarse = Writer(*SIZE, FACTORS["4:2:0"], quant=[20000] * 64, wide=True).encode()
    assert stays(tools.recode(coarse, script(3))) == "result not covered: coarse quantisation"


def sized(data, height, width, sof):
    at = data.index(bytes([0xFF, sof])) + 5
    return data[:at] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + data[at + 4 :]


def test_sizes_that_lie():
    progressive, plain = (jpeg(scene(*SIZE), "4:4:4", progressive=p) for p in (True, False))
    arithmetic = tools.recode(plain, [], arithmetic=True)
    for sof, data in ((0xC2, progressive), (0xC9, arithmetic)):
        assert stays(sized(data, 65535, 65535, sof)) == STAYS
        assert (
            stays(sized(data, 0, 53, sof))
            == stays(sized(data, 37, 0, sof))
            == "Empty JPEG image (DNL not supported)"
        )
        assert stays(sized(data, 13000, 13700, sof)) == "coefficients take over 512 MiB"
    assert (
        stays(sized(progressive, 9000, 9000, 0xC2))
        == "Corrupt JPEG data: premature end of data segment"
    )
    assert stays(sized(progressive, 1, 1, 0xC2)).startswith("Corrupt JPEG data: ")


def test_what_is_not_covered_stays():
    cmyk, out = Image.fromarray(scene(*SIZE)).convert("CMYK"), BytesIO()
    cmyk.save(out, "JPEG", progressive=True)
    twelve = bytearray(jpeg(scene(*SIZE), progressive=True))
    twelve[twelve.index(b"\xff\xc2") + 4] = 12
    lossless = jpeg(scene(*SIZE)).replace(b"\xff\xc0", b"\xff\xc3")
    for data in (
        out.getvalue(),
        bytes(twelve),
        lossless,
        b"",
        b"\xff\xd8",
        b"\xff\xd8\xff\xd9",
        encoded(scene(*SIZE), "PNG"),
        bytes(1000),
    ):
        assert native.jpeg_coding(data) == "other"
        assert stays(data) == STAYS


def seeds():
    for n, sampling in enumerate(("4:4:4", "4:2:2", "4:2:0")):
        plain = jpeg(scene(*SIZE, n), sampling)
        yield from (tools.recode(plain, **how) for _, how in codings(3))


def test_cut_off_anywhere_stays():
    for data in seeds():
        for end in range(2, len(data), 37):
            assert stays(data[:end])


def test_two_thousand_mutants():
    rng = np.random.default_rng(4)
    sources, kept = list(seeds()), 0
    for n in range(2000):
        data = mutated(sources[n % len(sources)], rng)
        if not small(data):
            continue
        out, reason = native.jpeg_transcode(data)
        assert (out is None) == bool(reason)
        if out is None:
            continue
        kept += 1
        for before, after in zip(tools.coefficients(data), tools.coefficients(out), strict=True):
            np.testing.assert_array_equal(before, after)
        np.testing.assert_array_equal(native.decode(out), pillow(data))
        assert native.jpeg_coding(out) == "baseline"
    assert kept > 100
