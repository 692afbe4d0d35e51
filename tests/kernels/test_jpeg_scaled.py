"""JPEGs decoded at 1/2, 1/4 and 1/8: libjpeg-turbo's pixels to the bit, whole and in regions, by
every way in.
"""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fastload import _native as native

from .helpers import encoded, jpeg, noise, pillow, scene
from .jpeg_writer import Writer
from .test_jpeg_engine import FACTORS, TARGETS, some_boxes

SCALES = (2, 4, 8)


def drafted(data, scale):
    """What Pillow's own libjpeg-turbo makes of it; the image has at least `scale` px in each
    direction.
    """
    with Image.open(BytesIO(data)) as image:
        image.draft("RGB", (image.width // scale, image.height // scale))
        return np.asarray(image.convert("RGB"))


def shrunk(size, scale):
    return -(-size // scale)


def check(data, scale, rng, *, steps=(None, 0, 3, 8), count=3):
    """Every box, by every way in; the whole image on both targets, each other box on one of
    them.
    """
    want = native.decode(data, scale)
    height, width = want.shape[:2]
    for step in steps:
        index = None if step is None else native.jpeg_index(data, step)
        for n, (top, left, h, w) in enumerate(some_boxes(height, width, rng, count)):
            for target in TARGETS if n == 0 else TARGETS[n % 2 :][:1]:
                pixels, reason = native.jpeg_region(data, (top, left, h, w), index, target, scale)
                assert reason == ""
                expected = want[top : top + h, left : left + w]
                np.testing.assert_array_equal(
                    pixels,
                    expected,
                    err_msg=f"{height}x{width} 1/{scale} {step} {target} {top, left, h, w}",
                )
    return want


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "grey"])
def test_every_size_and_quality_is_pillows_draft(sampling, scale):
    rng = np.random.default_rng([1, scale])
    for size in range(1, 71):
        height, width = size, int(rng.integers(1, 71))
        pixels = (scene if size % 3 else noise)(height, width)
        options = {} if sampling == "grey" else {"subsampling": sampling}
        data = encoded(
            pixels[..., 0] if sampling == "grey" else pixels,
            "JPEG",
            quality=int(rng.integers(1, 101)),
            **options,
        )
        want = check(data, scale, rng, steps=(None, int(rng.integers(0, 10))), count=2)
        assert want.shape == (shrunk(height, scale), shrunk(width, scale), 3)
        if min(height, width) >= scale:
            np.testing.assert_array_equal(want, drafted(data, scale))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FACTORS)
def test_every_sampling(name, scale):
    rng = np.random.default_rng([2, scale])
    for n in range(10):
        height, width = (int(v) for v in rng.integers(1, 71, 2))
        restart = int(rng.integers(1, 12)) if n % 3 == 0 else 0
        data = Writer(
            height, width, FACTORS[name], seed=n, restart=restart, long=n % 2 == 1
        ).encode()
        want = check(data, scale, rng, steps=(None,) if restart else (None, 0, 2, 8), count=2)
        if min(height, width) >= scale:
            np.testing.assert_array_equal(want, drafted(data, scale))


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0"])
def test_images_of_several_strips(sampling, scale):
    rng = np.random.default_rng(3)
    check(jpeg(scene(1700, 1300), sampling), scale, rng, count=6)
    check(
        jpeg(scene(1700, 1300), sampling, restart_marker_rows=3), scale, rng, steps=(None,), count=6
    )


@pytest.mark.parametrize("scale", SCALES)
def test_progressive_images_are_the_librarys(scale):
    data = jpeg(scene(61, 150), "4:2:0", progressive=True)
    np.testing.assert_array_equal(native.decode(data, scale), drafted(data, scale))


def test_scale_1_is_the_image():
    data = jpeg(scene(41, 55), "4:2:0")
    np.testing.assert_array_equal(native.decode(data, 1), pillow(data))
    np.testing.assert_array_equal(
        native.jpeg_region(data, (0, 0, 41, 55), None, "best", 1)[0], pillow(data)
    )
