"""A job with seek indexes: the same pixels by every way of decoding, and a count of the ways
taken.
"""

import numpy as np
import pytest

from fastload import _native as native
from tests.ways import ways_taken

from .helpers import jpeg, picture, scene

SHAPES = ((61, 93), (200, 75), (48, 160), (33, 33))
COUNT = 12


@pytest.fixture
def samples(tmp_path):
    payloads = [
        jpeg(scene(*SHAPES[n % 4], n), ("4:4:4", "4:2:0", "4:2:2")[n % 3]) for n in range(COUNT)
    ]
    (tmp_path / "data").write_bytes(b"".join(payloads))
    return native.Files([str(tmp_path / "data")], True), payloads


def places(blobs):
    sizes = np.array([len(blob) for blob in blobs], np.int64)
    return np.zeros(len(blobs), np.int64), np.cumsum(sizes) - sizes, sizes


def decode(samples, seek, crop, checksum=None):
    """Pixels [N, 24, 20, 3] of a box that `crop` (top, left, height, width as shares) cuts, and the
    ways taken.
    """
    files, payloads = samples
    pool = native.Pool(2)
    job = pool.fetch(files, *places(payloads), checksum, seek=seek)
    job.wait_fetched()
    crops = np.zeros((COUNT, 9), np.int32)
    shares = np.tile(job.sizes, 2) * np.array(crop)
    crops[:, :4] = shares
    crops[:, 2:4] = np.maximum(crops[:, 2:4], 1)
    crops[:, 4:6] = 24, 20
    out = np.zeros((COUNT, 24, 20, 3), np.uint8)
    job.run([picture(crops, "bilinear", None, out, 24, 20, True)])
    job.wait_done()
    assert job.status.tolist() == [native.OK] * COUNT
    return out, pool.ways()


def sidecar(tmp_path, blobs):
    (tmp_path / "seek").write_bytes(b"".join(blobs))
    return native.Files([str(tmp_path / "seek")], True), *places(blobs)


@pytest.mark.parametrize("step", [0, 1, 8])
@pytest.mark.parametrize("crop", [(0, 0, 1, 1), (0.3, 0.4, 0.5, 0.45), (0.8, 0.7, 0.2, 0.3)])
def test_an_index_changes_no_pixel(samples, tmp_path, crop, step):
    whole, ways = decode(samples, None, crop)
    assert ways == ways_taken(whole=COUNT)
    indexed, ways = decode(
        samples, sidecar(tmp_path, [native.jpeg_index(data, step) for data in samples[1]]), crop
    )
    assert ways == ways_taken(indexed=COUNT)
    np.testing.assert_array_equal(indexed, whole)


def test_a_sample_without_an_index_decodes_whole(samples, tmp_path):
    blobs = [native.jpeg_index(data, 8) if n % 2 else b"" for n, data in enumerate(samples[1])]
    found, ways = decode(samples, sidecar(tmp_path, blobs), (0.3, 0.4, 0.5, 0.45))
    assert ways == ways_taken(indexed=6, whole=6)
    np.testing.assert_array_equal(found, decode(samples, None, (0.3, 0.4, 0.5, 0.45))[0])


def test_an_index_that_lies_costs_only_time(samples, tmp_path):
    crop = (0.3, 0.4, 0.5, 0.45)
    blobs = [native.jpeg_index(data, 8) for data in samples[1]]
    swapped = [
        *blobs[4:],
        *blobs[:4],
    ]  # of images with the same sizes, so that only their content differs
    rng = np.random.default_rng(3)
    flipped = []
    for blob in blobs:
        changed = bytearray(blob)
        changed[rng.integers(len(blob))] ^= 1 << rng.integers(8)
        flipped.append(bytes(changed))
    cut = [blob[: len(blob) // 2] for blob in blobs]
    want = decode(samples, None, crop)[0]
    for lies in (swapped, flipped, cut, [b"\xff" * 100] * COUNT):
        found, ways = decode(samples, sidecar(tmp_path, lies), crop)
        assert ways == ways_taken(whole=COUNT, refused=COUNT)
        np.testing.assert_array_equal(found, want)


def test_a_sidecar_that_is_gone_costs_only_time(samples, tmp_path):
    seek = sidecar(tmp_path, [native.jpeg_index(data, 8) for data in samples[1]])
    (tmp_path / "seek").unlink()
    found, ways = decode(samples, seek, (0.3, 0.4, 0.5, 0.45))
    assert ways == ways_taken(whole=COUNT)
    np.testing.assert_array_equal(found, decode(samples, None, (0.3, 0.4, 0.5, 0.45))[0])


def test_seek_arguments_are_checked(samples, tmp_path):
    files, payloads = samples
    seek = sidecar(tmp_path, [b"x"] * 3)
    with pytest.raises(ValueError, match=r"^Pool\.fetch: seek: samples \(got 3, want 12\)$"):
        native.Pool(0).fetch(files, *places(payloads), None, seek=seek)
    with pytest.raises(ValueError, match=r"^Pool\.fetch: seek: length \(got 2, want 4\)$"):
        native.Pool(0).fetch(files, *places(payloads), None, seek=seek[:2])
