"""Layers that are damaged or lie: refused, or both decoders give the same pixels."""

import struct

import numpy as np
import pytest

from fastload import _native as native

from .helpers import jpeg, noise, scene
from .hostile_jpegs import SIZE, a_box, by_engine, seeds
from .layer_helpers import SEAL, head_size, seal
from .test_seek_job import COUNT, decode, places, samples, sidecar  # noqa: F401  (a fixture)


def test_damage_is_refused_or_lies_outside_of_the_region():
    rng = np.random.default_rng(1)
    refused = 0
    for data in seeds():
        layer, whole = native.jpeg_layer(data), native.decode(data)
        for _ in range(40):
            bad = bytearray(layer)
            bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
            top, left, height, width = box = a_box(rng)
            got = by_engine(data, box, bytes(bad))
            refused += got is None
            if got is not None:
                np.testing.assert_array_equal(got, whole[top : top + height, left : left + width])
        whole_box = (0, 0, *whole.shape[:2])
        assert by_engine(data, whole_box, bytes(bad)) is None
    assert refused > 150


def test_a_layer_that_is_cut_off():
    data = jpeg(scene(*SIZE), "4:2:0")
    layer = native.jpeg_layer(data)
    for end in range(4, len(layer)):
        assert by_engine(data, (0, 0, 1, 1), layer[:end]) is None


def test_lies_with_fitting_checksums():
    """Any bits of the rows and of their table: nothing is read elsewhere, and no decoder takes what
    the other refuses.
    """
    rng = np.random.default_rng(2)
    taken = refused = 0
    for data in seeds():
        layer = native.jpeg_layer(data)
        for _ in range(80):
            bad = bytearray(layer)
            first = 4 if rng.integers(8) == 0 else head_size(layer) + SEAL
            for _ in range(int(rng.integers(1, 4))):
                bad[int(rng.integers(first, len(bad)))] ^= 1 << int(rng.integers(8))
            if head_size(bad) + SEAL > len(bad):
                continue
            got = by_engine(data, a_box(rng), seal(bytes(bad)))
            taken, refused = taken + (got is not None), refused + (got is None)
    assert min(taken, refused) > 50


def test_a_row_of_anything():
    """Lengths of runs that fit, and bytes at random in them."""
    rng = np.random.default_rng(3)
    data = jpeg(noise(8, 128), "4:4:4")
    layer = native.jpeg_layer(data)
    start = head_size(layer) + SEAL
    for _ in range(150):
        bad = bytearray(layer)
        size = len(bad) - start - 6
        bad[start + 6 :] = rng.integers(0, 1 + int(rng.integers(256)), size, np.uint8).tobytes()
        by_engine(data, (0, 0, 8, 128), seal(bytes(bad)))


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (4, 2, "not a layer of this version"),
        (6, 0xFFFF, "layer too short"),
        (24, 0xFF, "layer damaged"),
        (30, 0, "layer damaged"),
    ],
)
def test_what_is_said(at, value, why):
    data = jpeg(scene(*SIZE))
    bad = bytearray(native.jpeg_layer(data))
    struct.pack_into("<H", bad, at, value)
    assert native.jpeg_region(data, (0, 0, 5, 5), bytes(bad), "best")[1] == f"index refused: {why}"


def test_the_layer_of_another_file():
    one, other = jpeg(scene(*SIZE, 1)), jpeg(scene(*SIZE, 2))
    said = native.jpeg_region(other, (0, 0, 5, 5), native.jpeg_layer(one), "best")[1]
    assert said == "index refused: of another file"


def test_whether_a_layer_is_intact():
    rng = np.random.default_rng(4)
    layer = native.jpeg_layer(jpeg(scene(*SIZE)))
    assert native.jpeg_layer_intact(layer)
    for _ in range(60):
        bad = bytearray(layer)
        bad[int(rng.integers(6, len(bad)))] ^= 1 << int(rng.integers(8))
        assert not native.jpeg_layer_intact(bytes(bad))
    assert not any(native.jpeg_layer_intact(layer[:end]) for end in (0, 4, 5, 40, len(layer) - 1))
    assert native.jpeg_layer_intact(layer[:4] + b"\xff" + layer[5:])  # nobody reads this version


def test_a_jpeg_that_its_layer_proves_is_not_read(samples, tmp_path):  # noqa: F811
    """The files' bytes are others; what is said of them beforehand is the layers'."""
    files, payloads = samples
    crop = (0.3, 0.4, 0.5, 0.45)
    want = decode(samples, None, crop)[0]
    layers = [native.jpeg_layer(data) for data in payloads]
    sums = np.array([native.xxh3(data) for data in payloads], np.uint64)
    path = files.path(0)
    with open(path, "wb") as file:
        file.write(bytes(sum(map(len, payloads))))
    found, ways = decode(samples, sidecar(tmp_path, layers), crop, checksum=sums)
    assert (ways["indexed"], ways["refused"]) == (COUNT, 0)
    np.testing.assert_array_equal(found, want)
    pool = native.Pool(1)
    where = places(payloads)
    job = pool.fetch(files, *where, sums + np.uint64(1), seek=sidecar(tmp_path, layers))
    job.wait_fetched()
    assert job.status.tolist() == [native.FAILED] * COUNT  # so it was read
    assert job.message(0).startswith("checksum mismatch (got ")


def test_a_job_takes_layers_and_falls_back(samples, tmp_path):  # noqa: F811
    crop = (0.3, 0.4, 0.5, 0.45)
    want = decode(samples, None, crop)[0]
    layers = [native.jpeg_layer(data) for data in samples[1]]
    found, ways = decode(samples, sidecar(tmp_path, layers), crop)
    assert (ways["indexed"], ways["refused"]) == (COUNT, 0)
    np.testing.assert_array_equal(found, want)
    stale = [*layers[4:], *layers[:4]]
    found, ways = decode(samples, sidecar(tmp_path, stale), crop)
    assert (ways["indexed"], ways["refused"], ways["whole"]) == (0, COUNT, COUNT)
    np.testing.assert_array_equal(found, want)
