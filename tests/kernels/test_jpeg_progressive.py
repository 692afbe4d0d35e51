"""Progressive JPEGs by the own decoder: regions, scans and samplings of any kind against
libjpeg-turbo, always to the bit; what it does not take, and that damage never shows.
"""

from itertools import pairwise

import numpy as np
import pytest

from fastload import _native as native
from tests.ways import ways_taken

from .helpers import SAMPLINGS, fetch, files, jpeg, picture, pillow, scene
from .jpeg_writer import Writer
from .mutants import mutant
from .test_jpeg import sampled, some_boxes
from .transcode_helpers import random_script, script, tools

END = b"\xff\xd9"
FACTORS = [*SAMPLINGS.values(), (1, 4), (2, 4), (4, 2)]


def check(data, boxes, scale=1, whole=None):
    """Every box, scalar and tuned, has the pixels of the whole image by libjpeg-turbo."""
    whole = native.decode(data, scale) if whole is None else whole
    for top, left, height, width in boxes:
        for target in ("scalar", "best"):
            got, why = native.jpeg_region(data, (top, left, height, width), None, target, scale)
            assert why == "", (top, left, height, width)
            want = whole[top : top + height, left : left + width]
            np.testing.assert_array_equal(got, want, err_msg=f"{target} {top, left, height, width}")


def written(height, width, factors, seed=0, **options):
    """A progressive file of random coefficients in any sampling, by a random script of scans."""
    rng = np.random.default_rng([seed, height, width])
    plain = Writer(height, width, factors, seed=seed, quant=[3] * 64, **options).encode()
    restart = int(rng.integers(0, 3)) * int(rng.integers(1, 9))
    return tools.recode(plain, random_script(len(factors), rng), restart=restart)


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1"])
def test_pillows_files(sampling):
    for seed, (height, width) in enumerate([(1, 1), (3, 17), (16, 33), (61, 47), (47, 130)]):
        data = sampled(sampling, height, width, True)
        assert native.jpeg_coding(data) == "progressive"
        check(data, some_boxes(height, width, seed)[:14], whole=pillow(data))


@pytest.mark.parametrize("factors", FACTORS)
def test_any_script_in_any_sampling(factors):
    for seed, (height, width) in enumerate([(9, 70), (61, 41), (1, 1)]):
        data = written(height, width, [factors, (1, 1), (1, 1)], seed)
        check(data, some_boxes(height, width, seed)[:12], whole=pillow(data))


def test_grey():
    for seed, (height, width) in enumerate([(1, 1), (20, 90), (90, 20)]):
        data = written(height, width, [(2, 2)], seed)
        check(data, some_boxes(height, width, seed)[:14], whole=pillow(data))


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_scaled(scale):
    for seed, factors in enumerate([(1, 1), (2, 1), (2, 2), (4, 1)]):
        data = written(61, 83, [factors, (1, 1), (1, 1)], seed)
        height, width = native.decode(data, scale).shape[:2]
        check(data, some_boxes(height, width, seed)[:12], scale)


def test_restart_markers_end_every_kind_of_scan():
    plain = jpeg(scene(61, 93), "4:2:0")
    for restart in (1, 2, 7, 12, 1000):
        data = tools.recode(plain, script(3), restart=restart)
        check(data, some_boxes(61, 93, restart)[:12])


def test_ends_of_bands_run_over_rows():
    """Flat but for two corners: one code says for hundreds of blocks that there is nothing, and in
    refining scans corrections lie within such runs.
    """
    pixels = np.full((120, 150, 3), 90, np.uint8)
    pixels[:9, :9] = scene(9, 9)
    pixels[-9:, -20:] = scene(9, 20)
    plain = jpeg(pixels, "4:4:4")
    data = tools.recode(plain, script(3))
    assert len(data) < len(plain)  # which has an end in every block
    check(data, some_boxes(120, 150, 1)[:20])


def test_a_scan_of_each_coefficient_and_bit():
    plain = jpeg(scene(40, 56), "4:2:0")
    bands = [([c], k, k, 0, 0) for c in range(3) for k in range(1, 32)]
    data = tools.recode(
        plain, [([0, 1, 2], 0, 0, 0, 0), *bands, *(([c], 32, 63, 0, 0) for c in range(3))]
    )
    check(data, some_boxes(40, 56, 2)[:8])
    deep = [([0, 1, 2], 0, 0, 0, 5), *(([c], 1, 63, 0, 6) for c in range(3))]
    deep += [([c], 1, 63, low + 1, low) for low in range(5, -1, -1) for c in range(3)]
    deep += [([0, 1, 2], 0, 0, low + 1, low) for low in range(4, -1, -1)]
    check(tools.recode(plain, deep), some_boxes(40, 56, 3)[:8])


def refused(data, box=None):
    """Why, the same by both targets."""
    _, height, width, _, _ = native.probe(data)
    box = (0, 0, height, width) if box is None else box
    reasons = {native.jpeg_region(data, box, None, target)[1] for target in ("scalar", "best")}
    assert len(reasons) == 1
    return reasons.pop()


def scans(data):
    """Where each scan's segments begin, tables included, and the end marker."""
    at, begins, behind = 2, [], True
    while data[at + 1] != 0xD9:
        coded = data[at + 1] == 0xDA
        if behind and data[at + 1] in (0xC4, 0xDA):
            begins.append(at)
            behind = False
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        behind |= coded
        while coded and (data[at] != 0xFF or data[at + 1] == 0 or 0xD0 <= data[at + 1] < 0xD8):
            at += 1
    return [*begins, at]


def test_scripts_that_leave_something_open_or_come_in_another_order():
    data = jpeg(scene(61, 93), progressive=True)
    begins = scans(data)
    assert len(begins) == 11
    for n in range(1, 10):
        cut = data[: begins[n]] + END
        assert refused(cut) == "not covered: a progressive file without all its scans"
    parts = [data[a:b] for a, b in pairwise(begins)]
    head = data[: begins[0]]
    ordered = "not covered: scans in another order"
    assert refused(head + b"".join(parts[5:6] + parts) + END) == "not covered: AC before DC"
    assert refused(head + b"".join([*parts, parts[-1]]) + END) == ordered
    assert refused(head + b"".join([parts[0], parts[9], *parts[1:9]]) + END) == ordered
    comment = b"\xff\xfe\0\4hi"
    check(data[: begins[3]] + comment + data[begins[3] :], [(0, 0, 61, 93)])
    for marker in (0xDB, 0xC2, 0xE0, 0xEE, 0xDC):
        other = bytes([0xFF, marker]) + comment[2:]
        between = data[: begins[3]] + other + data[begins[3] :]
        assert refused(between) == "not covered: markers between its scans"


def test_too_many_scans_are_the_librarys():
    many = [([0], 0, 0, 0, 0)] + [([0], k, k, 0, 1) for k in range(1, 60)]
    many += [([0], k, k, 1, 0) for k in range(1, 60)] + [([0], 60, 63, 0, 0)]
    data = tools.recode(written(16, 16, [(1, 1)]), many)
    assert refused(data) == "not covered: more than 100 scans"
    np.testing.assert_array_equal(native.decode(data), pillow(data))


def test_what_libjpeg_warns_of_is_refused_where_it_is_seen():
    data = jpeg(scene(200, 93), "4:2:0", progressive=True)
    begins = scans(data)
    padded = data[: begins[9]] + b"\x12\x34" * 20 + data[begins[9] :]
    missing = data[: begins[10] - 60] + data[begins[10] :]
    for bad in (padded, missing):
        with pytest.raises(ValueError, match=r"^decode: Corrupt JPEG data: "):
            native.decode(bad)
        assert refused(bad).startswith("damaged near byte ")
        check(bad, [(0, 0, 40, 93), (10, 20, 1, 1)], whole=native.decode(data))


def test_a_large_header_takes_no_memory_before_the_scans_are_read():
    data = jpeg(scene(61, 93), progressive=True)
    at = data.index(b"\xff\xc2") + 5
    huge = data[:at] + (13000).to_bytes(2, "big") * 2 + data[at + 4 :]
    cut = huge[: scans(huge)[5]] + END
    assert refused(cut) == "not covered: a progressive file without all its scans"
    assert refused(huge, (0, 0, 20, 30)).startswith("damaged near byte ")


def test_jobs_decode_them_without_the_library(tmp_path):
    payloads = [jpeg(scene(61, 93, n), "4:2:0", progressive=True) for n in range(3)]
    payloads.append(payloads[0][: scans(payloads[0])[4]] + END)
    pool = native.Pool(0)
    job = fetch(pool, files(tmp_path, payloads))
    job.wait_fetched()
    crops = np.tile(np.array([9, 7, 20, 30, 20, 30, 0, 0, 0], np.int32), (4, 1))
    out = np.zeros((4, 20, 30, 3), np.uint8)
    job.run([picture(crops, "box", None, out, 20, 30, True)])
    job.wait_done()
    assert job.status.tolist() == [native.OK] * 3 + [native.FOREIGN]
    for pixels, data in zip(out[:3], payloads[:3], strict=True):
        np.testing.assert_array_equal(pixels, pillow(data)[9:29, 7:37])
    ways = ways_taken(whole=3, library=1)
    assert pool.ways() == ways


@pytest.mark.parametrize("part", range(3))
def test_mutants_have_the_librarys_verdict(part):
    taken = [mutant(number) for number in range(part, 600, 3)]
    assert taken.count("taken") > 10
    assert taken.count("damaged") > 50
