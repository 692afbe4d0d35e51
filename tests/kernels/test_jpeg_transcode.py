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
from .test_jpeg_engine import ADOBE_RGB, ADOBE_YCC, FACTORS, JFIF
from .transcode_helpers import SIZE, codings, rewritten, script, segments, tools


def with_markers(data, head):
    """The file with these segments instead of its own."""
    for found in segments(data):
        data = data.replace(found, b"", 1)
    return data[:2] + head + data[2:]


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
