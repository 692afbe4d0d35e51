"""Which sizes buckets have, and which bucket an image goes to."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fastload.order.shapes import assigned, cut_shares, merged, shapes

# Podell et al. 2023 (SDXL), appendix I: the heights and widths from 512x2048 to 2048x512
SDXL = """512x2048 512x1984 512x1920 512x1856 576x1792 576x1728 576x1664 640x1600 640x1536 704x1472
704x1408 704x1344 768x1344 768x1280 832x1216 832x1152 896x1152 896x1088 960x1088 960x1024 1024x1024
1024x960 1088x960 1088x896 1152x896 1152x832 1216x832 1280x768 1344x768 1408x704 1472x704 1536x640
1600x640 1664x576 1728x576 1792x576 1856x512 1920x512 1984x512 2048x512"""


def test_they_are_sdxls():
    found = {f"{height}x{width}" for height, width in shapes(1024 * 1024, 64, 4.0, 0.1)}
    assert set(SDXL.split()) <= found
    assert found - set(SDXL.split()) == {"1344x704"}  # which its table leaves out


@settings(max_examples=30)
@given(
    pixels=st.integers(1000, 400_000),
    step=st.sampled_from([8, 16, 32, 64]),
    aspect=st.floats(1, 4),
    slack=st.floats(0, 0.4),
)
def test_their_limits_hold(pixels, step, aspect, slack):
    for height, width in shapes(pixels, step, aspect, slack):
        assert height % step == width % step == 0
        assert (1 - slack) * pixels <= height * width <= pixels
        assert max(height, width) <= aspect * min(height, width)
    found = shapes(pixels, step, aspect, slack)
    assert {(width, height) for height, width in found} == set(found)
    assert len({width / height for height, width in found}) == len(found)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 5000)), min_size=1, max_size=50))
def test_an_image_goes_where_least_is_cut(sizes):
    buckets = shapes(512 * 512, 64, 3.0, 0.1)
    array = np.array(sizes, np.int32)
    bucket = assigned(array, buckets)
    cut = cut_shares(array, bucket, buckets)
    for number in range(len(buckets)):
        other = cut_shares(array, np.full(len(array), number), buckets)
        assert (cut <= other + 1e-9).all()
    assert ((cut >= 0) & (cut < 1)).all()


def test_of_equal_aspects_the_largest_that_does_not_enlarge():
    buckets = [(512, 512), (1024, 1024), (256, 256), (512, 1024)]
    sizes = np.array([(200, 200), (300, 300), (1000, 1010), (2000, 2000), (300, 600), (0, 0)])
    found = assigned(sizes.astype(np.int32), buckets)
    assert [buckets[number] for number in found] == [
        (256, 256), (256, 256), (512, 512), (1024, 1024), (512, 1024), (256, 256),
    ]  # fmt: skip


def test_small_buckets_give_theirs_to_the_nearest():
    buckets = [(64, 32), (64, 48), (64, 64), (32, 64)]
    bucket = np.array([0, 1, 1, 1, 2, 2, 2, 3], np.int16)
    assert merged(bucket, np.full(4, 3), buckets).tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert merged(bucket, np.full(4, 9), buckets).tolist() == [1] * 8  # the largest is left
