"""CROP: the scalar specification against Pillow, the vector code against the scalar one.

Always to the bit.
"""

import numpy as np
import PIL
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fastload import _native as native
from fastload.transforms.pil import pass_order

from .helpers import FILTERS, noise

ORDER = pass_order(PIL.__version__)
TARGETS = ["scalar", "best"]
sizes = st.one_of(st.integers(1, 8), st.integers(1, 90), st.sampled_from([127, 128, 129, 257]))

LEAVES = "crop_resize: the box leaves the image"


def crop_resize(image, crop, size, filter="bilinear", target="best", order=ORDER):
    out = np.full((*size, 3), 77, np.uint8)
    native.crop_resize(image, np.array(crop, np.int32), out, filter, target, order)
    return out


def resize(image, size, filter, target, order=ORDER):
    return crop_resize(image, [0, 0, *image.shape[:2], *size, 0, 0, 0], size, filter, target, order)


def pillow_resize(image, size, filter):
    return np.asarray(Image.fromarray(image).resize(size[::-1], FILTERS[filter]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("filter", FILTERS)
@settings(max_examples=80, deadline=None)
@given(height=sizes, width=sizes, out_height=sizes, out_width=sizes)
def test_resize_is_pillows(filter, target, height, width, out_height, out_width):
    image = noise(height, width)
    want = pillow_resize(image, (out_height, out_width), filter)
    np.testing.assert_array_equal(resize(image, (out_height, out_width), filter, target), want)


@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize(
    ("source", "target_size"),
    [
        ((1, 5000), (3, 7)),
        ((5000, 1), (7, 3)),
        ((1, 1), (40, 31)),
        ((5, 3000), (5, 1)),
        ((3000, 5), (1, 5)),
        ((2, 3), (1000, 900)),
    ],
)
def test_extreme_shapes_are_pillows(filter, source, target_size):
    image = noise(*source)
    want = pillow_resize(image, target_size, filter)
    for target in TARGETS:
        np.testing.assert_array_equal(resize(image, target_size, filter, target), want)


@pytest.mark.parametrize("target", TARGETS)
def test_order_pillow12_is_always_columns_first(target):
    image = noise(90, 31)
    columns = np.asarray(Image.fromarray(image).resize((23, 90), FILTERS["bicubic"]))
    want = np.asarray(Image.fromarray(columns).resize((23, 20), FILTERS["bicubic"]))
    np.testing.assert_array_equal(resize(image, (20, 23), "bicubic", target, "pillow12"), want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("height", "rows"), [(301, True), (300, False)])
def test_order_pillow12_2_makes_rows_first_of_what_is_over_100_times_as_tall_as_wide(
    target, height, rows
):
    image = noise(height, 3)
    passes = [(3, 7), (2, 7)] if rows else [(2, height), (2, 7)]
    want = Image.fromarray(image)
    for size in passes:
        made = want.transpose(Image.Transpose.TRANSPOSE)  # no version takes it for tall
        made = made.resize(size[::-1], FILTERS["bicubic"])
        want = made.transpose(Image.Transpose.TRANSPOSE)
    got = resize(image, (7, 2), "bicubic", target, "pillow12.2")
    np.testing.assert_array_equal(got, np.asarray(want))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("filter", FILTERS)
@settings(max_examples=40, deadline=None)
@given(
    height=st.integers(80, 420), width=st.integers(1, 5), out_height=st.integers(1, 30),
    out_width=st.integers(1, 6),
)  # fmt: skip
def test_resize_of_tall_images_is_pillows(filter, target, height, width, out_height, out_width):
    image = noise(height, width)
    want = pillow_resize(image, (out_height, out_width), filter)
    np.testing.assert_array_equal(resize(image, (out_height, out_width), filter, target), want)


@st.composite
def crops(draw):
    height, width = draw(sizes), draw(sizes)
    box_height, box_width = draw(st.integers(1, height)), draw(st.integers(1, width))
    top, left = draw(st.integers(0, height - box_height)), draw(st.integers(0, width - box_width))
    resized = draw(
        st.sampled_from(
            [(box_height, box_width), (draw(sizes), draw(sizes)), (draw(sizes), box_width)]
        )
    )
    window = draw(st.integers(-20, resized[0] + 20)), draw(st.integers(-20, resized[1] + 20))
    out = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    return (
        (height, width),
        [top, left, box_height, box_width, *resized, *window, draw(st.integers(0, 1))],
        out,
    )


def reference(image, crop, out, filter):
    top, left, height, width, resized_height, resized_width, window_top, window_left, flip = crop
    box = np.ascontiguousarray(image[top : top + height, left : left + width])
    resized = Image.fromarray(pillow_resize(box, (resized_height, resized_width), filter))
    # Pillow's crop fills what lies outside with zeros, as the window does.
    shown = np.asarray(
        resized.crop((window_left, window_top, window_left + out[1], window_top + out[0]))
    )
    return shown[:, ::-1] if flip else shown


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("filter", FILTERS)
@settings(max_examples=120, deadline=None)
@given(case=crops())
def test_box_window_and_flip_are_pillows_crop_resize_crop(filter, target, case):
    shape, crop, out = case
    image = noise(*shape)
    np.testing.assert_array_equal(
        crop_resize(image, crop, out, filter, target), reference(image, crop, out, filter)
    )


def test_window_far_outside_is_black():
    for window in [
        (1 << 30, 0),
        (-(1 << 30), 0),
        (0, 1 << 30),
        (0, -(1 << 30)),
        (2**31 - 1, -(2**31)),
    ]:
        assert not crop_resize(noise(9, 7), [0, 0, 9, 7, 5, 6, *window, 0], (4, 3)).any()


@pytest.mark.parametrize(
    ("crop", "text"),
    [
        ([3, 0, 9, 7, 5, 5, 0, 0, 0], (f"{LEAVES} (got top 3, left 0, size 9x7, want a box inside "
                                      "9x7)")),
        ([0, -1, 9, 7, 5, 5, 0, 0, 0], (f"{LEAVES} (got top 0, left -1, size 9x7, want a box "
                                       "inside 9x7)")),
        ([0, 0, 0, 7, 5, 5, 0, 0, 0], (f"{LEAVES} (got top 0, left 0, size 0x7, want a box inside "
                                      "9x7)")),
        ([1, 1, 2**31 - 1, 2**31 - 1, 5, 5, 0, 0, 0], (f"{LEAVES} (got top 1, left 1, size "
                                                      "2147483647x2147483647, want a box inside "
                                                      "9x7)")),
        ([0, 0, 9, 7, 0, 5, 0, 0, 0], "crop_resize: resized size (got 0x5, want 1..67108864 px)"),
        ([0, 0, 9, 7, 5, 1 << 27, 0, 0, 0], ("crop_resize: resized size (got 5x134217728, want "
                                            "1..67108864 px)")),
        ([0, 0, 9, 7, 5, 5, 0, 0, 2], "crop_resize: flip (got 2, want 0 or 1)"),
    ],
)  # fmt: skip
def test_bad_crops_are_refused(crop, text):
    with pytest.raises(ValueError) as error:
        crop_resize(noise(9, 7), crop, (5, 5))
    assert str(error.value) == text


def test_bad_arguments_are_refused():
    image, crop, out = (
        noise(9, 7),
        np.array([0, 0, 9, 7, 5, 5, 0, 0, 0], np.int32),
        np.zeros((5, 5, 3), np.uint8),
    )
    cases = [
        ((image, crop, out, "cubic", "best"),
        'filter: unknown (got "cubic", want nearest, box, bilinear, hamming, bicubic or lanczos)'),
        ((image, crop, out, "box", "fast"), 'target: unknown (got "fast", want scalar or best)'),
        ((image, crop, out, "box", "best", "pillow"),
        'order: unknown (got "pillow", want pillow12, pillow12.2 or pillow13)'),
        ((image[:, ::2], crop, out, "box", "best"),
        "crop_resize: image: memory layout (got strided, want C-contiguous)"),
        ((image, crop[:8].copy(), out, "box", "best"),
        "crop_resize: crop: shape (got [8], want [9])"),
        ((image.astype(np.float32), crop, out, "box", "best"),
        "crop_resize: image: dtype (got float32, want uint8)"),
    ]  # fmt: skip
    for arguments, text in cases:
        with pytest.raises(ValueError) as error:
            native.crop_resize(*arguments)
        assert str(error.value) == text
