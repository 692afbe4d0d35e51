"""Arrays in memory that stand for a file of raw pixels: what is read of them, and made."""

import gc
import weakref

import numpy as np
import pytest

from fastload import _native as native

from .helpers import HEIGHT, WIDTH, picture, table, whole

SHAPES = [(3, 5, 7), (1, 4, 6), (2, 1, 9), (2, 9, 1), (1, 1, 1), (4, 33, 70)]


def made(shape, layout):
    """uint8 [N, H, W, 3] of this shape: equal values, whatever the strides are."""
    values = np.random.default_rng(sum(shape)).integers(0, 256, (*shape, 3), np.uint8)
    if layout == "rows":
        return values
    if layout == "planes":
        return np.ascontiguousarray(values.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    if layout == "planes of all":
        return np.ascontiguousarray(values.transpose(3, 0, 1, 2)).transpose(1, 2, 3, 0)
    if layout == "grey":
        return np.broadcast_to(values[..., :1].copy(), values.shape)
    if layout == "columns first":
        return np.asfortranarray(values)
    if layout == "turned round":
        return np.ascontiguousarray(values[:, ::-1, ::-1, ::-1])[:, ::-1, ::-1, ::-1]
    if layout == "four channels":
        return np.pad(values, ((0, 0), (0, 0), (0, 0), (0, 1)))[..., :3]
    assert layout == "every other"
    count, height, width = shape
    wide = np.zeros((2 * count, 3 * height, 2 * width, 3), np.uint8)
    wide[::2, ::3, ::2] = values
    return wide[::2, ::3, ::2]


def in_memory(array, where="memory"):
    return native.Files([where], True, arrays=[(0, native.PixelArray(array))])


LAYOUTS = [
    "rows", "planes", "planes of all", "grey", "columns first", "turned round", "four channels",
    "every other",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_any_range_reads_as_a_file_of_its_bytes(shape, layout):
    array = made(shape, layout)
    want, source = array.tobytes(), in_memory(array)
    assert len(source) == 1
    assert source.read(0, 0, -1) == want
    assert source.xxh3(0, len(want)) == native.xxh3(want)
    draw = np.random.default_rng(7)
    for _ in range(40):
        first, last = sorted(draw.integers(0, len(want) + 1, 2).tolist())
        assert source.read(0, first, last - first) == want[first:last]
    assert source.read(0, len(want), -1) == source.read(0, len(want) + 5, -1) == b""


def test_what_is_changed_in_place_is_seen():
    array = made((2, 3, 4), "planes")
    source = in_memory(array)
    array[1, 2, 3] = 1, 2, 3
    assert source.read(0, 2 * 3 * 4 * 3 - 3, 3) == b"\1\2\3"


def test_the_array_is_kept_as_long_as_something_may_read_it():
    array = made((60, 20, 30), "planes")
    want, kept = array.tobytes(), weakref.ref(array)
    source = in_memory(array)
    pool = native.Pool(1)
    job, out = fetched(pool, source, array.shape), np.zeros((60, HEIGHT, WIDTH, 3), np.uint8)
    del array
    gc.collect()
    assert source.read(0, 0, -1) == want
    del source
    gc.collect()
    assert kept() is not None
    job.run([picture(whole(job.sizes, HEIGHT, WIDTH), "bilinear", None, out, HEIGHT, WIDTH, True)])
    job.wait_done()
    del job, pool
    gc.collect()
    assert kept() is None


def test_empty_and_wrong_arrays():
    nothing = in_memory(np.zeros((0, 4, 5, 3), np.uint8))
    assert nothing.read(0, 0, -1) == b""
    for array, text in [
        (np.zeros((2, 4, 5, 3), np.int8), "dtype (got int8, want uint8)"),
        (np.zeros((2, 4, 5, 3), np.float32), "dtype (got float32, want uint8)"),
        (np.zeros((2, 4, 5, 4), np.uint8), "shape (got [2, 4, 5, 4], want [any, any, any, 3])"),
        (np.zeros((4, 5, 3), np.uint8), "shape (got [4, 5, 3], want [any, any, any, 3])"),
        (np.zeros((2, 0, 5, 3), np.uint8), "size (got 0x5, want 1..715827882 px)"),
        (
            np.broadcast_to(np.zeros(1, np.uint8), (1, 1 << 20, 1 << 20, 3)),
            "size (got 1048576x1048576, want 1..715827882 px)",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            native.PixelArray(array)
        assert str(error.value) == f"PixelArray: pixels: {text}"
    with pytest.raises(ValueError) as number:
        native.Files(["memory"], True, arrays=[(1, native.PixelArray(made((2, 3, 4), "rows")))])
    assert str(number.value) == "Files: arrays[0]: no such file (got 1, want 0..0)"
    source = in_memory(made((2, 3, 4), "rows"), "CIFAR10")
    with pytest.raises(OSError) as short:
        source.read(0, 70, 10)
    assert str(short.value) == "CIFAR10: ends at byte 72 (want bytes 70..80)"
    with pytest.raises(OSError) as large:
        source.read(0, 0, (1 << 31) + 1)
    assert str(large.value) == "CIFAR10: a sample of 2147483649 bytes (want at most 2 GiB)"


def fetched(pool, source, shape):
    """A job of all images of an array of this shape."""
    images, height, width, _ = shape
    numbers, size = np.arange(images), height * width * 3
    raw = np.full((images, 2), (height, width), np.int32)
    return pool.fetch(
        source, np.zeros_like(numbers), numbers * size, np.full(images, size), None, raw=raw
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("size", [(20, 30), (120, 150)])  # made 16 at a time, and one by one
def test_jobs_make_of_them_what_they_make_of_a_file(tmp_path, layout, threads, size):
    array = made((50, *size), layout)
    (tmp_path / "raw").write_bytes(array.tobytes())
    file = native.Files([str(tmp_path / "raw")], True)
    draw = np.random.default_rng(1)
    crops = np.zeros((50, 9), np.int32)
    crops[:, 2] = draw.integers(1, size[0] + 1, 50)
    crops[:, 3] = draw.integers(1, size[1] + 1, 50)
    crops[:, 0] = draw.integers(0, size[0] - crops[:, 2] + 1)
    crops[:, 1] = draw.integers(0, size[1] - crops[:, 3] + 1)
    crops[:, 4:6], crops[:, 8] = (HEIGHT, WIDTH), draw.integers(0, 2, 50)
    pool, outs = native.Pool(threads), []
    for source in (file, in_memory(array)):
        job = fetched(pool, source, array.shape)
        out = np.full((50, 3, HEIGHT, WIDTH), np.nan, np.float32)
        job.run([picture(crops, "bilinear", table(), out, HEIGHT, WIDTH, False)])
        job.wait_done()
        assert job.status.tolist() == [native.OK] * 50
        outs.append(out)
    assert not np.isnan(outs[0]).any()
    np.testing.assert_array_equal(*outs)
