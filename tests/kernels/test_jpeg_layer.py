"""The coefficient layer: every region of every kind of JPEG has the pixels that the JPEG has, from
both decoders, at each scale.
"""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import encoded, jpeg, noise, scene
from .jpeg_writer import Writer
from .test_jpeg_engine import FACTORS, TARGETS, some_boxes


def check(data, rng, *, count=3, scale=1):
    layer = native.jpeg_layer(data)
    assert native.jpeg_layer(data, "scalar") == layer
    whole = native.decode(data, scale)
    for n, (top, left, height, width) in enumerate(some_boxes(*whole.shape[:2], rng, count)):
        for target in TARGETS if n < 2 else [TARGETS[n % 2]]:
            box = (top, left, height, width)
            pixels, reason = native.jpeg_region(data, box, layer, target, scale)
            assert reason == ""
            want = whole[top : top + height, left : left + width]
            np.testing.assert_array_equal(pixels, want, err_msg=f"{whole.shape} {box} {target}")
    return layer


@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling(name):
    rng = np.random.default_rng(1)
    for n in range(4):
        height, width = (int(v) for v in rng.integers(1, 71, 2))
        restart = int(rng.integers(1, 12)) if n % 3 == 0 else 0
        check(
            Writer(height, width, FACTORS[name], seed=n, restart=restart, long=n % 2 == 1).encode(),
            rng,
        )


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_scaled(scale):
    rng = np.random.default_rng(2)
    for name in ("4:2:0", "4:4:4", "grey", "luma small"):
        check(Writer(67, 150, FACTORS[name], seed=3).encode(), rng, scale=scale)


@pytest.mark.parametrize("quality", [1, 50, 90, 100])
def test_runs_of_many_blocks(quality):
    """Rows of more than 16 blocks; from blocks without a value to blocks full of wide ones."""
    rng = np.random.default_rng(3)
    for pixels in (noise(40, 293), scene(40, 293), np.zeros((40, 293, 3), np.uint8)):
        for subsampling in (0, 2):
            data = encoded(pixels, "JPEG", quality=quality, subsampling=subsampling)
            check(data, rng, count=6)


@pytest.mark.parametrize("quality", [10, 40, 75])
def test_blocks_of_every_length(quality):
    """Blocks whose last value lies anywhere: some steps know what is zero behind it."""
    rng = np.random.default_rng(5)
    smooth = np.repeat(np.repeat(noise(5, 37), 8, 0), 8, 1).astype(np.float64)
    for share in (0.02, 0.1, 0.5):
        pixels = np.clip(smooth + rng.normal(0, 128 * share, smooth.shape), 0, 255)
        check(encoded(pixels.astype(np.uint8), "JPEG", quality=quality, subsampling=2), rng)


@pytest.mark.long
def test_images_of_several_strips():
    check(jpeg(scene(1700, 1300), "4:2:0"), np.random.default_rng(4), count=4)


def test_tables_of_restarts_and_comments_are_left_out():
    plain = jpeg(scene(61, 93))
    marked = jpeg(scene(61, 93), restart_marker_blocks=3, comment=b"c" * 5000)
    one, other = native.jpeg_layer(plain), native.jpeg_layer(marked)
    assert len(one) == len(other)  # they differ in what they say of their files only


@pytest.mark.parametrize("target", TARGETS)
def test_what_has_no_layer(target):
    wide = encoded(noise(40, 40), "JPEG", quality=100)
    table = wide.index(b"\xff\xdb") + 5  # that of luma
    for data, why in (
        (b"", "damaged at byte 0: no SOI marker"),
        (jpeg(scene(30, 40), progressive=True), "not covered: progressive, lossless"),
        (jpeg(scene(30, 40))[:-2], "damaged: no end of the image"),
        (wide[: len(wide) // 2] + b"\xff\xd9", "damaged near byte"),
        (b"\xff\xd8\xff\xe0\x00\x06JFIF" + wide[2:], "not covered: jpeg: an unusual segment"),
        (wide[:table] + b"\xff" * 64 + wide[table + 64 :], "not covered: a coefficient beyond"),
    ):
        with pytest.raises(ValueError, match=rf"^jpeg_layer: {why}"):
            native.jpeg_layer(data, target)
