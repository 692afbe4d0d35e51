"""Lent jobs: samples that other loaders' compiled loops make, by the addresses of
`_native.CALLS`.
"""

import ctypes
import os

import numpy as np
import pytest

from fastload import _native

from .helpers import picture

MAKE_SAMPLE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)(
    _native.CALLS["make_sample"]
)
GIVE_PIXELS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
    _native.CALLS["give_pixels"]
)
HEIGHT, WIDTH = 12, 17  # of the crops, px


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


class Lent:
    """A file with these payloads, and the job of them; raw ones are arrays."""

    def __init__(self, path, payloads, sizes, places=None):
        self.pool = _native.Pool(0)
        data = [each if isinstance(each, bytes) else each.tobytes() for each in payloads]
        path.write_bytes(b"some header" + b"".join(data))
        size = np.array([len(each) for each in data], np.int64)
        offset = 11 + np.cumsum(size) - size
        offset, size = (
            (offset, size)
            if places is None
            else (np.array(column, np.int64) for column in zip(*places, strict=True))
        )
        raw = np.array(
            [(0, 0) if isinstance(each, bytes) else each.shape[:2] for each in payloads], np.int32
        )
        self.sizes = np.array(sizes, np.int32)
        self.job = self.pool.lend(
            self.sizes,
            (_native.Files([str(path)], keep_open=True), np.zeros_like(size), offset, size),
            None,
            raw,
        )
        self.out = np.zeros((len(data), HEIGHT, WIDTH, 3), np.uint8)
        self.address = np.array([self.job.address], np.int64)

    def run(self):
        run(self.job, self.sizes, self.out)

    def make(self, n):
        return MAKE_SAMPLE(self.address.ctypes.data, n)


def run(job, sizes, out):
    """The whole image to HEIGHT x WIDTH px."""
    crops = np.zeros((len(sizes), 10), np.int32)
    crops[:, 2:4], crops[:, 4:6], crops[:, 9] = sizes, (HEIGHT, WIDTH), 1
    job.run([picture(crops, "bilinear", None, out, HEIGHT, WIDTH, channels_last=True)])


def resized(pixels):
    out = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    crop = np.array([0, 0, *pixels.shape[:2], HEIGHT, WIDTH, 0, 0, 0, 1], np.int32)
    _native.crop_resize(np.ascontiguousarray(pixels), crop, out, "bilinear", "best")
    return out


def test_jpegs_and_raw_pixels_of_a_file(path, make_image, encode):
    raw, jpeg = make_image(40, 31, 0), encode(make_image(33, 52, 1))
    lent = Lent(path, [raw, jpeg], [(40, 31), (33, 52)])
    lent.run()
    assert not lent.out.any()  # the first run is others'
    assert [lent.make(1), lent.make(0)] == [_native.OK, _native.OK]
    lent.job.wait_done()
    np.testing.assert_array_equal(lent.out[0], resized(raw))
    np.testing.assert_array_equal(lent.out[1], resized(_native.decode(jpeg)))
    assert lent.pool.ways()["whole"] == 1
    assert lent.pool.stats()["store"][0] == 2


def test_what_is_foreign_is_redone_by_the_job(path, make_image, encode):
    pixels = make_image(40, 31, 0)
    bmp = encode(pixels, "BMP")
    lent = Lent(path, [bmp], [(40, 31)])
    lent.run()
    assert lent.make(0) == _native.FOREIGN
    lent.job.wait_done()
    assert lent.job.payload(0) == bmp
    assert lent.job.sizes.tolist() == [[40, 31]]
    lent.job.set_pixels(0, pixels)
    lent.run()
    lent.job.wait_done()
    np.testing.assert_array_equal(lent.out[0], resized(pixels))


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ((10**6, 5), "ends at byte 1000000 (want bytes 1000000..1000005)"),
        ((11, 10**6), "ends at byte {end} (want bytes 11..1000011)"),
        ((11, 2**62), f"a sample of {2**62} bytes (want at most 2 GiB)"),
        ((2**62, 2**62), f"a sample of {2**62} bytes (want at most 2 GiB)"),
    ],
)
def test_bytes_outside_of_the_file_are_refused(place, reason, path, encode, make_image):
    lent = Lent(path, [encode(make_image(33, 52, 1))], [(33, 52)], [place])
    lent.run()
    assert lent.make(0) == _native.FAILED
    lent.job.wait_done()
    assert lent.job.message(0) == f"cannot be read ({reason.format(end=path.stat().st_size)})"
    assert not lent.out.any()


def test_raw_pixels_that_are_cut_off(path, make_image):
    lent = Lent(path, [make_image(40, 31, 0)], [(40, 31)])
    lent.run()
    os.truncate(path, 1000)
    assert lent.make(0) == _native.FAILED
    assert lent.job.message(0) == "cannot be read (ends at byte 1000 (want bytes 11..3731))"


@pytest.mark.parametrize(
    ("offset", "size", "reason"),
    [
        (-1, 5, r"Pool.lend: locations: offset\[0\]: negative (got -1, want 0 or more)"),
        (0, -2, r"Pool.lend: locations: size\[0\]: negative (got -2, want -1 or more)"),
    ],
)
def test_places_are_checked(offset, size, reason, path):
    sizes, (zero, offset, size) = (
        np.array([[5, 5]], np.int32),
        (np.array([each]) for each in (0, offset, size)),
    )
    with pytest.raises(ValueError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        _native.Pool(0).lend(
            sizes, (_native.Files([str(path)], keep_open=True), zero, offset, size)
        )


def test_another_size_than_was_said(path, encode, make_image):
    lent = Lent(path, [encode(make_image(33, 52, 1))], [(52, 33)])
    lent.run()
    assert lent.make(0) == _native.FAILED
    assert lent.job.message(0) == "is 33x52 px, and its row says 52x33"


def test_nobody_waits_or_no_such_sample(path, encode, make_image):
    lent = Lent(path, [encode(make_image(33, 52, 1))], [(33, 52)])
    lent.run()
    assert [lent.make(-1), lent.make(1), lent.make(2**40)] == [_native.FAILED] * 3
    lent.address[0] = 0
    assert lent.make(0) == _native.FAILED
    assert GIVE_PIXELS(0, 0, 0) == _native.FAILED
    assert not lent.out.any()


def test_pixels(make_image):
    pixels = make_image(40, 31, 0)
    pool = _native.Pool(2)
    sizes, out = np.array([[40, 31]], np.int32), np.zeros((1, HEIGHT, WIDTH, 3), np.uint8)
    job = pool.lend(sizes)
    run(job, sizes, out)
    assert MAKE_SAMPLE(np.array([job.address]).ctypes.data, 0) == _native.FAILED  # it has no place
    assert GIVE_PIXELS(job.address, 0, pixels.ctypes.data) == _native.OK
    job.wait_done()
    np.testing.assert_array_equal(out[0], resized(pixels))


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (-1, 5), (20000, 20000)])
def test_sizes_are_checked(sizes):
    with pytest.raises(
        ValueError,
        match=rf"Pool.lend: sizes\[0\]: size \(got {sizes[0]}x{sizes[1]}, want 1..178956970 px\)",
    ):
        _native.Pool(0).lend(np.array([sizes], np.int32))
