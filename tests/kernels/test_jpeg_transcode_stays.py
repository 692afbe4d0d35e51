"""JPEGs that are not rewritten, since they would not be the same: damaged, limited, not covered."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fastload import _native as native

from .helpers import encoded, jpeg, pillow, scene
from .jpeg_writer import Writer, segment
from .test_hostile import mutated, small
from .test_jpeg_engine import ADOBE_RGB, FACTORS
from .transcode_helpers import SIZE, alone, codings, rewritten, script, tools

STAYS = "not a JPEG that can be rewritten"


def scan_starts(data):
    return [at for at in range(len(data) - 1) if data[at : at + 2] == b"\xff\xda"]


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
