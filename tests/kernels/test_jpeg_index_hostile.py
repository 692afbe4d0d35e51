"""Seek indexes that lie: refused, or the pixels of the whole decode."""

import numpy as np

from fastload import _native as native

from .helpers import jpeg, scene
from .hostile_jpegs import SEAL, SIZE, a_box, by_engine, seal, seeds
from .test_hostile import mutated


def test_mutants_with_the_index_of_the_file_before():
    rng = np.random.default_rng(2)
    for n, data in enumerate(seeds() * 20):
        index = native.jpeg_index(data, 1 + n % 5)
        other = mutated(data, rng)
        if other != data:
            assert by_engine(other, a_box(rng), index) is None


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
