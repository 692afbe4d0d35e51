"""Indexes noted while samples are decoded: the bytes that jpeg_index gives, and the same pixels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload import _native as native
from tests.ways import ways_taken

from .collector_helpers import CROPS, MEMORY, blobs, decode, files_of, index_files, into, pictures
from .helpers import encoded, jpeg, scene
from .jpeg_writer import Writer


@pytest.mark.parametrize("crop", CROPS)
def test_the_index_on_the_way_is_the_index(tmp_path, crop):
    payloads = pictures()
    source, root = files_of(tmp_path, payloads)
    want, _ = decode(source, crop)
    collector = native.Collector(source, root, str(tmp_path / "cache"), MEMORY)
    found, ways = decode(source, crop, into(collector, 15))
    np.testing.assert_array_equal(found, want)
    assert ways == ways_taken(whole=15)
    assert blobs(collector, 15) == [native.jpeg_index(data, 8) for data in payloads]
    again, ways = decode(source, crop, into(collector, 15), index_files(collector, 15))
    np.testing.assert_array_equal(again, want)
    assert ways == ways_taken(indexed=15)
    assert (collector.count, collector.problem) == (15, "")


@settings(deadline=None, max_examples=40)
@given(
    height=st.integers(1, 80), width=st.integers(1, 200), seed=st.integers(0, 99),
    density=st.floats(0, 0.5),
    factors=st.sampled_from([[(1, 1)], [(1, 1)] * 3, [(2, 2), (1, 1), (1, 1)],
    [(2, 1), (1, 1), (1, 1)], [(1, 2), (1, 1), (1, 1)]]),
)  # fmt: skip
def test_any_geometry(tmp_path_factory, height, width, seed, density, factors):
    data = Writer(height, width, factors, seed, density=density).encode()
    source, root = files_of(tmp_path_factory.mktemp("any"), [data])
    crop = (0.2, 0.1, 0.5, 0.6)
    collector = native.Collector(source, root, "", MEMORY)
    found, ways = decode(source, crop, into(collector, 1))
    np.testing.assert_array_equal(found, decode(source, crop)[0])
    if ways["whole"]:
        assert blobs(collector, 1) == [native.jpeg_index(data, 8)]


def test_what_has_no_index_is_tried_once(tmp_path):
    picture = scene(40, 61)
    payloads = [
        encoded(picture, "JPEG", progressive=True),
        Writer(40, 61, [(1, 1)] * 3, restart=3).encode(),
        Writer(40, 61, [(1, 1)] * 3, restart=3, seed=2).encode(),
    ]
    source, root = files_of(tmp_path, payloads)
    collector = native.Collector(source, root, "", MEMORY)
    want = decode(source, CROPS[1])
    for _ in range(2):
        found = decode(source, CROPS[1], into(collector, 3))
        np.testing.assert_array_equal(found[0], want[0])
        assert found[1] == want[1] == ways_taken(whole=3)
        assert (blobs(collector, 3), collector.count) == ([b""] * 3, 3)
    assert collector.entries()[:, 4].tolist() == [len(data) for data in payloads]
    sizes = np.array([len(data) for data in payloads])
    fresh = native.Collector(source, root, "", MEMORY)
    decode(source, CROPS[1], (fresh, np.arange(3), sizes))  # known from another run
    assert fresh.count == 0
    decode(
        source, CROPS[1], (fresh, np.arange(3), sizes + np.array([0, 1, 0]))
    )  # of a file that was replaced since
    assert fresh.entries()[:, 0].tolist() == [1]


def test_damage_behind_the_region_changes_no_pixel(tmp_path):
    good = jpeg(scene(200, 75), "4:2:0")
    cut = good[: len(good) * 2 // 3] + b"\xff\xd9"
    flipped = bytearray(good)
    flipped[len(good) * 3 // 4 : len(good) * 3 // 4 + 40] = b"\xaa" * 40
    for data in (cut, bytes(flipped)):
        source, root = files_of(tmp_path, [data])
        collector = native.Collector(source, root, "", MEMORY)
        want, ways = decode(source, (0, 0.2, 0.3, 0.5))
        assert ways["whole"] == 1
        found, after = decode(source, (0, 0.2, 0.3, 0.5), into(collector, 1))
        np.testing.assert_array_equal(found, want)
        assert (after, blobs(collector, 1)) == (ways, [b""])


def test_damage_in_the_region_is_still_foreign(tmp_path):
    good = jpeg(scene(200, 75), "4:2:0")
    source, root = files_of(tmp_path, [good[: len(good) // 2] + b"\xff\xd9"])
    collector = native.Collector(source, root, "", MEMORY)
    _, ways = decode(source, CROPS[0], into(collector, 1), status=native.FOREIGN)
    assert (ways["library"], blobs(collector, 1)) == (1, [b""])


def test_a_refused_index_is_replaced(tmp_path):
    payloads = pictures()
    source, root = files_of(tmp_path, payloads)
    lies = [native.jpeg_index(data, 8) for data in payloads[::-1]]
    (tmp_path / "lies").write_bytes(b"".join(lies))
    sizes = np.array([len(lie) for lie in lies])
    lies[7] = b""  # the middle one is its own
    seek = (
        native.Files([str(tmp_path / "lies")], True),
        np.zeros(15, int),
        np.cumsum(sizes) - sizes,
        sizes,
    )
    collector = native.Collector(source, root, "", MEMORY)
    found, ways = decode(source, CROPS[1], into(collector, 15), seek)
    np.testing.assert_array_equal(found, decode(source, CROPS[1])[0])
    assert ways == ways_taken(indexed=1, whole=14, refused=14)
    assert blobs(collector, 15) == [
        None if n == 7 else native.jpeg_index(data, 8) for n, data in enumerate(payloads)
    ]


def test_only_rows_that_are_asked_for(tmp_path):
    source, root = files_of(tmp_path, pictures())
    collector = native.Collector(source, root, "", MEMORY)
    rows = np.where(np.arange(15) % 2, np.arange(15), -1)
    decode(source, CROPS[1], (collector, rows, np.zeros(15, int)))
    assert collector.entries()[:, 0].tolist() == [1, 3, 5, 7, 9, 11, 13]
