"""CROP on an image at 1/scale: Pillow's resize of a fractional box, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from .helpers import FILTERS, noise
from .test_resize import TARGETS, crop_resize

sides = st.one_of(st.integers(1, 9), st.integers(1, 70))


@st.composite
def crops(draw):
    """Size of the scaled image, crop in px of the whole one, size of the window."""
    scale, height, width = draw(st.sampled_from([2, 4, 8])), draw(sides), draw(sides)
    tall, wide = (
        height * scale - draw(st.integers(0, scale - 1)),
        width * scale - draw(st.integers(0, scale - 1)),
    )
    box_height, box_width = draw(st.integers(1, tall)), draw(st.integers(1, wide))
    top, left = draw(st.integers(0, tall - box_height)), draw(st.integers(0, wide - box_width))
    natural = max(1, box_height // scale), max(1, box_width // scale)
    resized = draw(
        st.sampled_from(
            [
                natural,
                (draw(sides), draw(sides)),
                (natural[0], draw(sides)),
                (draw(sides), natural[1]),
            ]
        )
    )
    window = draw(st.integers(-9, resized[0] + 9)), draw(st.integers(-9, resized[1] + 9))
    flip = draw(st.integers(0, 1))
    return (
        (height, width),
        [top, left, box_height, box_width, *resized, *window, flip, scale],
        (draw(sides), draw(sides)),
    )


def reference(image, crop, out, filter):
    (
        top,
        left,
        height,
        width,
        resized_height,
        resized_width,
        window_top,
        window_left,
        flip,
        scale,
    ) = crop
    x, y, right, bottom = (
        left // scale,
        top // scale,
        -(-(left + width) // scale),
        -(-(top + height) // scale),
    )
    touched = Image.fromarray(image).crop((x, y, right, bottom))
    box = left / scale - x, top / scale - y, (left + width) / scale - x, (top + height) / scale - y
    resized = touched.resize((resized_width, resized_height), FILTERS[filter], box)
    shown = np.asarray(
        resized.crop((window_left, window_top, window_left + out[1], window_top + out[0]))
    )
    return shown[:, ::-1] if flip else shown


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("filter", FILTERS)
@settings(max_examples=100, deadline=None)
@given(case=crops())
def test_a_fractional_box_is_resized_as_pillow_does(filter, target, case):
    shape, crop, out = case
    image = noise(*shape)
    np.testing.assert_array_equal(
        crop_resize(image, crop, out, filter, target), reference(image, crop, out, filter)
    )


@pytest.mark.parametrize("scale", [2, 4, 8])
def test_the_geometry_is_that_of_the_whole_image(scale):
    """A ramp keeps its values wherever the box lies: a box that were rounded to whole px would
    shift them.
    """
    y, x = np.mgrid[: 240 // scale, : 320 // scale]
    ramp = (
        np.stack([(x + 0.5) * scale * 0.7, (y + 0.5) * scale, 0 * x], -1).round().astype(np.uint8)
    )
    for top, left, height, width in [(41, 53, 120, 163), (7, 90, 131, 96), (66, 31, 97, 201)]:
        got = crop_resize(ramp, [top, left, height, width, 9, 11, 0, 0, 0, scale], (9, 11)).astype(
            float
        )
        inner = slice(1, -1)  # at the box's ends the filter is cut
        want_y = top + (np.arange(9) + 0.5) * height / 9
        want_x = (left + (np.arange(11) + 0.5) * width / 11) * 0.7
        assert np.abs(got[inner, inner, 1] - want_y[inner, None]).max() < 1.5
        assert np.abs(got[inner, inner, 0] - want_x[None, inner]).max() < 1.5


def test_a_box_may_end_where_the_scaled_image_does():
    image = noise(5, 7)
    crop_resize(image, [0, 0, 20, 28, 3, 3, 0, 0, 0, 4], (3, 3))
    with pytest.raises(ValueError) as error:
        crop_resize(image, [0, 0, 20, 29, 3, 3, 0, 0, 0, 4], (3, 3))
    assert (
        str(error.value)
        == "crop_resize: the box leaves the image (got top 0, left 0, size 20x29, want a box "
        "inside 20x28)"
    )
